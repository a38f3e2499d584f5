/** Health, usage, and what this page itself cost; whether the guarantees of a space hold. */
import { at } from '../../core/api.js';
import { byView, calls } from '../../core/costs.js';
import { bytes, clock, duration, moment, short } from '../../core/format.js';
import { useLive } from '../../core/live.js';
import { changeQuery, href } from '../../core/router.js';
import { may } from '../../core/session.js';
import { longStorage } from '../../core/storage.js';
import { useStore } from '../../core/store.js';
import { has, number, t } from '../../core/texts.js';
import { Answer, Badge, Choice, Empty, Panel } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { Columns } from '../../parts/plot.js';
import { Checks, HealthBadge, NoModel, SpaceProblems } from '../../parts/service.js';
import { html, useState } from '../../vendor/preact.js';
import { more, spaceLinks } from '../../views.js';

const HEALTH_EVERY = 20_000;

export function Health() {
  const live = useLive('/v1/health', { every: HEALTH_EVERY });
  return html`<${Answer} live=${live} lines=${6}>${(health) => html`<${NoModel} health=${health} /><div class="columns half">
    <${Panel} title=${t('ops.health')} side=${html`<${HealthBadge} status=${health.status} /> ${health.version}`}><${Checks} health=${health} /></${Panel}>
    <${Panel} title=${t('health.named')}>${health.spaces?.length ? html`<${SpaceProblems} problems=${health.spaces} />` : html`<p class="quiet">${t('health.none')}</p>`}</${Panel}>
  </div>`}</${Answer}>`;
}

const PRICE = 'livemem.price';
const dayName = (date) => moment(`${date}T12:00:00Z`, { day: 'numeric', month: 'short' });

/** What tokens cost by prices for a million of them. */
export const costOf = (used, price) => (used.prompt_tokens * price.input + used.completion_tokens * price.output) / 1e6;

function Prices({ price, setPrice }) {
  const field = (name) => html`<${Field} label=${t(`usage.price.${name}`)} type="number" min="0" step="any" value=${String(price[name] || '')} onChange=${(text) => setPrice({ ...price, [name]: Number(text) || 0 })} />`;
  return html`<details class="connect-more"><summary>${t('usage.price')}</summary><p class="hint">${t('usage.price.what')}</p><div class="filters">${field('input')}${field('output')}<${Field} label=${t('usage.price.currency')} value=${price.currency} onChange=${(currency) => setPrice({ ...price, currency })} /></div></details>`;
}

function money(amount, currency) {
  try {
    return number(amount, { style: 'currency', currency, maximumFractionDigits: amount < 1 ? 4 : 2 });
  } catch {
    return `${number(amount, { maximumFractionDigits: 4 })} ${currency}`;
  }
}

function Totals({ total, budget, price }) {
  const cost = costOf(total, price);
  const numbers = [['tokens', short(total.tokens)], ['calls', number(total.calls)], ['notes', number(total.notes)], ['runs', number(total.runs)], ['failed', number(total.failed_runs)], ['cost', cost > 0 && money(cost, price.currency)]];
  return html`<ul class="totals">${numbers.filter(([, value]) => value).map(([name, value]) => html`<li key=${name} class=${name === 'failed' && total.failed_runs ? 'bad-number' : ''}><b>${value}</b><span>${t(`usage.${name}`)}</span></li>`)}</ul>
    ${budget.tokens_per_day ? html`<p class="budget">${t('usage.budget', { used: number(budget.used_today), budget: number(budget.tokens_per_day) })} ${budget.exhausted && html`<${Badge} tone="bad">${t('usage.exhausted')}</${Badge}>`}</p>` : html`<p class="quiet budget">${t('usage.no.budget', { used: number(budget.used_today) })}</p>`}`;
}

function SpacesUsed({ spaces }) {
  const most = Math.max(1, ...spaces.map((space) => space.tokens));
  return html`<${Panel} title=${t('usage.spaces')}><div class="scroll" tabindex="0" role="group"><table class="data"><thead><tr><th>${t('nav.choose')}</th><th class="right">${t('usage.tokens')}</th><th class="right">${t('usage.notes')}</th><th class="right">${t('usage.runs')}</th><th class="right">${t('usage.failed')}</th></tr></thead>
    <tbody>${spaces.map((space) => html`<tr key=${space.space_id}><td><a href=${href('operatePart', { part: 'usage' }, { space: space.space_id })}>${space.space_id}</a><meter class="meter thin" min="0" max=${most} value=${space.tokens} aria-hidden="true"></meter></td><td class="right">${number(space.tokens)}</td><td class="right">${number(space.notes)}</td><td class="right">${number(space.runs)}</td><td class="right">${number(space.failed_runs)}</td></tr>`)}</tbody></table></div></${Panel}>`;
}

export function Usage({ query }) {
  const days = Number(query.days) || 7;
  const [price, setKept] = useState(() => longStorage.get(PRICE) ?? { input: 0, output: 0, currency: 'EUR' });
  const setPrice = (next) => {
    longStorage.set(PRICE, next);
    setKept(next);
  };
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  // The sum over all spaces is for admins. Anybody else sees one space.
  const space = query.space ?? (may('admin') ? undefined : ids[0]);
  const live = useLive(space || may('admin') ? '/v1/usage' : undefined, { query: { days, space_id: space }, every: 30_000 });
  return html`<div class="filters">
      <${Field} label=${t('nav.choose')} value=${space ?? ''} onChange=${(id) => changeQuery({ space: id })} options=${[...(may('admin') ? [['', t('usage.all')]] : []), ...ids.map((id) => [id, id])]} />
      <${Choice} label=${t('usage.days')} value=${days} onChange=${(value) => changeQuery({ days: value })} options=${[7, 14, 30].map((n) => ({ value: n, label: t('days', { n }) }))} /></div>
    <${Answer} live=${live} lines=${6}>${(usage) => {
      const columns = [...usage.items].sort((one, two) => one.date.localeCompare(two.date)).map((used) => ({ key: used.date, label: dayName(used.date), parts: [used.prompt_tokens, used.completion_tokens] }));
      return html`<${Panel} title=${t('usage.by.day')}><${Totals} total=${usage.total} budget=${usage.budget} price=${price} />
        <${Columns} title=${t('usage.by.day')} columns=${columns} names=${[t('usage.input'), t('usage.output')]} show=${(value) => short(value)} limit=${usage.budget.tokens_per_day} />
        <${Prices} price=${price} setPrice=${setPrice} /></${Panel}>
        ${usage.spaces.length > 1 && html`<${SpacesUsed} spaces=${usage.spaces} />`}`;
    }}</${Answer}>`;
}

const storeText = (counted) => Object.entries(counted).map(([kind, count]) => `${number(count)} ${kind}`).join(', ');
/** The link under which a view stands: what a reader knows it by. */
const linkOf = (view) => [...spaceLinks, ...more].find(({ views }) => views.includes(view))?.name ?? view.replace('Part', '');

const SIGNS = { true: ['good', 'invariants.holds'], false: ['bad', 'invariants.broken'] };
const EVERY = 10_000;

function Invariant({ one }) {
  const [tone, words] = SIGNS[one.holds] ?? ['warn', 'invariants.unknown'];
  return html`<tr><td>${has(`invariant.${one.name}`) ? t(`invariant.${one.name}`) : one.name}
      ${one.detail && html`<p class="quiet">${one.detail}</p>`}${one.evidence.map((piece) => html`<p key=${piece}><code>${piece}</code></p>`)}</td>
    <td class="right">${number(one.looked_at)}</td><td class="right"><${Badge} tone=${tone}>${t(words)}</${Badge}></td></tr>`;
}

/** The guarantees of one space, asked again as long as somebody looks; of older changes page by page. */
function Invariants() {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  const [chosen, setChosen] = useState('');
  const [cursors, setCursors] = useState([]);
  const id = chosen || ids[0];
  const live = useLive(id && at('spaces', id, 'invariants'), { query: { cursor: cursors.at(-1) }, every: EVERY });
  const choose = (space) => {
    setChosen(space);
    setCursors([]);
  };
  return html`<${Panel} title=${t('invariants.title')}><p class="spaced">${t('invariants.what')}</p>
    <div class="inline-form"><${Field} label=${t('nav.choose')} value=${id ?? ''} onChange=${choose} options=${ids.map((one) => [one, one])} /></div>
    <${Answer} live=${live} lines=${8}>${(page) => html`<table class="data"><tbody>${page.items.map((one) => html`<${Invariant} key=${one.name} one=${one} />`)}</tbody></table>
      <p class="actions spaced"><span class="quiet">${t('invariants.changes', { first: page.first, last: page.last })}</span>
        ${cursors.length > 0 && html`<button class="plain" onClick=${() => setCursors([])}>${t('invariants.newest')}</button>`}
        ${page.next_cursor && html`<button class="plain" onClick=${() => setCursors([...cursors, page.next_cursor])}>${t('invariants.older')}</button>`}</p>`}</${Answer}>
  </${Panel}>`;
}

export function Costs() {
  const list = useStore(calls);
  const views = byView(list.map((call) => ({ ...call, view: linkOf(call.view) })));
  return html`<${Invariants} />
    <${Panel} title=${t('costs.title')} side=${t('costs.since')}><p class="spaced">${t('costs.what')}</p>
      ${views.length === 0 ? html`<${Empty} title=${t('empty')} />` : html`<div class="scroll" tabindex="0" role="group"><table class="data"><thead><tr><th>${t('costs.view')}</th><th class="right">${t('costs.calls')}</th><th class="right">${t('costs.unchanged')}</th><th class="right">${t('costs.failed')}</th><th>${t('costs.store')}</th><th class="right">${t('costs.bytes')}</th><th class="right">${t('costs.time')}</th></tr></thead>
        <tbody>${views.map((view) => html`<tr key=${view.view}><td>${has(`nav.${view.view}`) ? t(`nav.${view.view}`) : view.view}</td><td class="right">${number(view.calls)}</td><td class="right">${number(view.unchanged)}</td><td class="right">${number(view.failed)}</td><td>${storeText(view.store) || (view.known ? '0' : t('costs.unknown'))}</td><td class="right">${bytes(view.bytes)}</td><td class="right">${duration(view.ms / 1000)}</td></tr>`)}</tbody></table></div>`}</${Panel}>
    <${Panel} title=${t('costs.last')}><div class="scroll" tabindex="0" role="group"><table class="data calls"><tbody>${list.slice(0, 60).map((call, index) => html`<tr key=${index}><td class="quiet">${clock(call.at)}</td><td>${call.method}</td><td><code>${call.path}</code></td><td><${Badge} tone=${call.status >= 400 || !call.status ? 'bad' : call.status === 304 ? '' : 'good'}>${call.status || '—'}</${Badge}></td><td class="right">${duration(call.ms / 1000)}</td><td>${call.store ? storeText(call.store) : ''}</td></tr>`)}</tbody></table></div></${Panel}>`;
}
