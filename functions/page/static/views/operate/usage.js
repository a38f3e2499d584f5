/** What the language model was used for: by day and by space, against the budget, with a price of the reader's own. */
import { at } from '../../core/api.js';
import { moment, short } from '../../core/format.js';
import { useLive } from '../../core/live.js';
import { changeQuery, href } from '../../core/router.js';
import { longStorage } from '../../core/storage.js';
import { number, t } from '../../core/texts.js';
import { Answer, Badge, Choice, Panel } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { Columns } from '../../parts/plot.js';
import { html, useState } from '../../vendor/preact.js';

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

function Spaces({ spaces }) {
  const most = Math.max(1, ...spaces.map((space) => space.tokens));
  return html`<${Panel} title=${t('usage.spaces')}><div class="scroll"><table class="data"><thead><tr><th>${t('nav.choose')}</th><th class="right">${t('usage.tokens')}</th><th class="right">${t('usage.notes')}</th><th class="right">${t('usage.runs')}</th><th class="right">${t('usage.failed')}</th></tr></thead>
    <tbody>${spaces.map((space) => html`<tr key=${space.space_id}><td><a href=${href('operatePart', { part: 'usage' }, { space: space.space_id })}>${space.space_id}</a><meter class="meter thin" min="0" max=${most} value=${space.tokens} aria-hidden="true"></meter></td><td class="right">${number(space.tokens)}</td><td class="right">${number(space.notes)}</td><td class="right">${number(space.runs)}</td><td class="right">${number(space.failed_runs)}</td></tr>`)}</tbody></table></div></${Panel}>`;
}

export function Usage({ query }) {
  const days = Number(query.days) || 7;
  const [price, setKept] = useState(() => longStorage.get(PRICE) ?? { input: 0, output: 0, currency: 'EUR' });
  const setPrice = (next) => {
    longStorage.set(PRICE, next);
    setKept(next);
  };
  const live = useLive(query.space ? at('spaces', query.space, 'usage') : '/v1/usage', { query: { days }, every: 30_000 });
  return html`<div class="actions spaced">
      <${Choice} label=${t('usage.days')} value=${days} onChange=${(value) => changeQuery({ days: value })} options=${[7, 14, 30].map((n) => ({ value: n, label: t('days', { n }) }))} />
      ${query.space && html`<span>${query.space}</span><button class="plain" onClick=${() => changeQuery({ space: undefined })}>${t('usage.all')}</button>`}</div>
    <${Answer} live=${live} lines=${6}>${(usage) => {
      const columns = [...usage.items].sort((one, two) => one.date.localeCompare(two.date)).map((used) => ({ key: used.date, label: dayName(used.date), parts: [used.prompt_tokens, used.completion_tokens] }));
      return html`<${Panel} title=${t('usage.by.day')}><${Totals} total=${usage.total} budget=${usage.budget} price=${price} />
        <${Columns} title=${t('usage.by.day')} columns=${columns} names=${[t('usage.input'), t('usage.output')]} show=${(value) => short(value)} limit=${usage.budget.tokens_per_day} />
        <${Prices} price=${price} setPrice=${setPrice} /></${Panel}>
        ${usage.spaces?.length > 0 && html`<${Spaces} spaces=${usage.spaces} />`}`;
    }}</${Answer}>`;
}
