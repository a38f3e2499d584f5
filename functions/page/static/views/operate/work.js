/** Health, jobs, usage, and what this page itself cost; whether the guarantees of a space hold. */
import { at, post } from '../../core/api.js';
import { byView, calls } from '../../core/costs.js';
import { between, bytes, clock, duration, moment, short } from '../../core/format.js';
import { useLive } from '../../core/live.js';
import { usePages } from '../../core/pages.js';
import { changeQuery, href } from '../../core/router.js';
import { may } from '../../core/session.js';
import { longStorage } from '../../core/storage.js';
import { useStore } from '../../core/store.js';
import { has, number, t } from '../../core/texts.js';
import { Answer, Badge, Choice, Empty, Panel, Time, Words } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { PagedList } from '../../parts/list.js';
import { Columns } from '../../parts/plot.js';
import { Checks, HealthBadge, SpaceProblems } from '../../parts/service.js';
import { toast } from '../../parts/toast.js';
import { html, useState } from '../../vendor/preact.js';

const HEALTH_EVERY = 20_000;

export function Health() {
  const live = useLive('/v1/health', { every: HEALTH_EVERY });
  return html`<${Answer} live=${live} lines=${6}>${(health) => html`<div class="columns half">
    <${Panel} title=${t('ops.health')} side=${html`<${HealthBadge} status=${health.status} /> ${health.version}`}><${Checks} health=${health} /></${Panel}>
    <${Panel} title=${t('health.named')}>${health.spaces?.length ? html`<${SpaceProblems} problems=${health.spaces} />` : html`<p class="quiet">${t('health.none')}</p>`}</${Panel}>
  </div>`}</${Answer}>`;
}

const KINDS = ['consolidation', 'summaries', 'digest', 'question', 'backup', 'export', 'restore', 'fork', 'import', 'erasure'];
const TONES = { done: 'good', failed: 'bad', running: 'accent', queued: 'accent', cancelled: '' };
/** What starts the same work again, by the kind of its job. A kind that is not here goes on by itself, or is ordered in its own view. */
const AGAIN = {
  consolidation: (job) => post(at('spaces', job.space_id, 'consolidations')),
  digest: (job) => post(at('spaces', job.space_id, 'digests')),
  backup: (job) => post(at('spaces', job.space_id, 'backups')),
};

function linkOf(job) {
  const id = job.job.split('.').slice(2).join('.');
  if (job.kind === 'consolidation') return href('run', { space: job.space_id, run: id });
  if (job.kind === 'digest') return href('digest', { space: job.space_id, slot: job.subject ?? id });
  if (job.kind === 'erasure') return href('erasure', { space: job.space_id, erasure: id });
  if (job.kind === 'backup') return href('operatePart', { part: 'backups' }, { space: job.space_id });
  if (job.kind === 'summaries' && job.subject) return href('conversation', { space: job.space_id, conversation: job.subject });
  return undefined;
}

async function again(job, refresh) {
  try {
    await AGAIN[job.kind](job);
    toast({ text: t('jobs.again.done'), tone: 'good' });
    refresh();
  } catch (problem) {
    toast({ text: problem.detail || problem.message, tone: 'bad' });
  }
}

function Job({ job, refresh }) {
  const link = linkOf(job);
  const name = has(`jobkind.${job.kind}`) ? t(`jobkind.${job.kind}`) : job.kind;
  const tokens = job.usage.prompt_tokens + job.usage.completion_tokens;
  return html`<div class="row">
      ${link ? html`<a class="grow" href=${link}>${name}</a>` : html`<span class="grow">${name}</span>`}
      <a class="quiet" href=${href('space', { space: job.space_id })}>${job.space_id}</a>
      ${job.progress && job.status === 'running' && html`<span class="quiet">${job.progress.total ? `${number(job.progress.done)} / ${number(job.progress.total)}` : number(job.progress.done)}</span>`}
      ${tokens > 0 && html`<span class="quiet">${t('run.tokens', { n: tokens })}</span>`}
      <span class="quiet">${between(job.started_at, job.ended_at)}</span>
      <span class="quiet"><${Time} at=${job.created_at} /></span>
      <${Badge} tone=${TONES[job.status]}>${t(`job.${job.status}`)}</${Badge}>
      ${job.status === 'failed' && AGAIN[job.kind] && may('write') && html`<button class="plain" onClick=${() => again(job, refresh)}>${t('try.again')}</button>`}
    </div>
    ${job.error && html`<p class="quiet">${has(`run.error.${job.error.code}`) ? t(`run.error.${job.error.code}`) : job.error.code} <${Words} text=${job.error.detail} /></p>`}`;
}

export function Jobs({ query }) {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  const space = query.space ?? ids[0];
  const list = usePages(space && at('spaces', space, 'jobs'), { query: { kind: query.kind }, every: 4000, idOf: (job) => job.job, limit: 30 });
  const shown = query.status ? { ...list, pages: list.pages.map((page) => page.filter((job) => job.status === query.status)) } : list;
  return html`<div class="filters">
      <${Field} label=${t('nav.choose')} value=${space ?? ''} onChange=${(id) => changeQuery({ space: id })} options=${ids.map((id) => [id, id])} />
      <${Field} label=${t('jobs.kind')} value=${query.kind ?? ''} onChange=${(kind) => changeQuery({ kind })} options=${[['', t('filter.any')], ...KINDS.filter((kind) => kind !== 'summaries').map((kind) => [kind, t(`jobkind.${kind}`)])]} />
      <${Field} label=${t('jobs.status')} value=${query.status ?? ''} onChange=${(status) => changeQuery({ status })} options=${[['', t('filter.any')], ...Object.keys(TONES).map((status) => [status, t(`job.${status}`)])]} />
    </div>
    <${Panel}><${PagedList} list=${shown} idOf=${(job) => job.job} row=${(job) => html`<${Job} job=${job} refresh=${list.refresh} />`} empty=${html`<${Empty} title=${t('jobs.none')} />`} /></${Panel}>`;
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
  const path = space ? at('spaces', space, 'usage') : may('admin') ? '/v1/usage' : undefined;
  const live = useLive(path, { query: { days }, every: 30_000 });
  return html`<div class="filters">
      <${Field} label=${t('nav.choose')} value=${space ?? ''} onChange=${(id) => changeQuery({ space: id })} options=${[...(may('admin') ? [['', t('usage.all')]] : []), ...ids.map((id) => [id, id])]} />
      <${Choice} label=${t('usage.days')} value=${days} onChange=${(value) => changeQuery({ days: value })} options=${[7, 14, 30].map((n) => ({ value: n, label: t('days', { n }) }))} /></div>
    <${Answer} live=${live} lines=${6}>${(usage) => {
      const columns = [...usage.items].sort((one, two) => one.date.localeCompare(two.date)).map((used) => ({ key: used.date, label: dayName(used.date), parts: [used.prompt_tokens, used.completion_tokens] }));
      return html`<${Panel} title=${t('usage.by.day')}><${Totals} total=${usage.total} budget=${usage.budget} price=${price} />
        <${Columns} title=${t('usage.by.day')} columns=${columns} names=${[t('usage.input'), t('usage.output')]} show=${(value) => short(value)} limit=${usage.budget.tokens_per_day} />
        <${Prices} price=${price} setPrice=${setPrice} /></${Panel}>
        ${usage.spaces?.length > 0 && html`<${SpacesUsed} spaces=${usage.spaces} />`}`;
    }}</${Answer}>`;
}

const storeText = (counted) => Object.entries(counted).map(([kind, count]) => `${number(count)} ${kind}`).join(', ');
const viewName = (name) => (has(`view.${name}`) ? t(`view.${name}`) : name);

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
  const views = byView(list);
  return html`<${Invariants} />
    <${Panel} title=${t('costs.title')} side=${t('costs.since')}><p class="spaced">${t('costs.what')}</p>
      ${views.length === 0 ? html`<${Empty} title=${t('empty')} />` : html`<div class="scroll" tabindex="0" role="group"><table class="data"><thead><tr><th>${t('costs.view')}</th><th class="right">${t('costs.calls')}</th><th class="right">${t('costs.unchanged')}</th><th class="right">${t('costs.failed')}</th><th>${t('costs.store')}</th><th class="right">${t('costs.bytes')}</th><th class="right">${t('costs.time')}</th></tr></thead>
        <tbody>${views.map((view) => html`<tr key=${view.view}><td>${viewName(view.view)}</td><td class="right">${number(view.calls)}</td><td class="right">${number(view.unchanged)}</td><td class="right">${number(view.failed)}</td><td>${storeText(view.store) || (view.known ? '0' : t('costs.unknown'))}</td><td class="right">${bytes(view.bytes)}</td><td class="right">${duration(view.ms / 1000)}</td></tr>`)}</tbody></table></div>`}</${Panel}>
    <${Panel} title=${t('costs.last')}><div class="scroll" tabindex="0" role="group"><table class="data calls"><tbody>${list.slice(0, 60).map((call, index) => html`<tr key=${index}><td class="quiet">${clock(call.at)}</td><td>${call.method}</td><td><code>${call.path}</code></td><td><${Badge} tone=${call.status >= 400 || !call.status ? 'bad' : call.status === 304 ? '' : 'good'}>${call.status || '—'}</${Badge}></td><td class="right">${duration(call.ms / 1000)}</td><td>${call.store ? storeText(call.store) : ''}</td></tr>`)}</tbody></table></div></${Panel}>`;
}
