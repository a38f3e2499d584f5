/** What each view of this page cost in requests, and whether the guarantees of a space hold right now. */
import { at, get } from '../../core/api.js';
import { byView, calls } from '../../core/costs.js';
import { bytes, clock, duration } from '../../core/format.js';
import { useAction, useLive } from '../../core/live.js';
import { useStore } from '../../core/store.js';
import { has, number, t } from '../../core/texts.js';
import { Badge, Empty, Panel, ProblemNote } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { html, useState } from '../../vendor/preact.js';

const storeText = (counted) => Object.entries(counted).map(([kind, count]) => `${number(count)} ${kind}`).join(', ');
const viewName = (name) => (has(`view.${name}`) ? t(`view.${name}`) : name);

function Invariants() {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  const [chosen, setChosen] = useState('');
  const [found, setFound] = useState(undefined);
  const id = chosen || ids[0];
  const [check, checking] = useAction(async () => setFound({ id, ...(await get(at('spaces', id, 'invariants'))) }));
  return html`<${Panel} title=${t('invariants.title')}><p class="spaced">${t('invariants.what')}</p>
    <div class="inline-form"><${Field} label=${t('nav.choose')} value=${id ?? ''} onChange=${setChosen} options=${ids.map((one) => [one, one])} /><button onClick=${check} disabled=${checking.busy || !id}>${checking.busy ? t('working') : t('invariants.check')}</button></div>
    <${ProblemNote} problem=${checking.problem} />
    ${found && html`<table class="data"><tbody>${(found.items ?? []).map((one) => html`<tr key=${one.name}><td>${has(`invariant.${one.name}`) ? t(`invariant.${one.name}`) : one.name}${one.detail && html`<p class="quiet">${one.detail}</p>`}</td><td class="right">${one.looked_at !== undefined && number(one.looked_at)}</td><td><${Badge} tone=${one.holds === true ? 'good' : one.holds === false ? 'bad' : 'warn'}>${t(one.holds === true ? 'invariants.holds' : one.holds === false ? 'invariants.broken' : 'invariants.unknown')}</${Badge}></td></tr>`)}</tbody></table>`}</${Panel}>`;
}

export function Costs() {
  const list = useStore(calls);
  const views = byView(list);
  return html`<${Invariants} />
    <${Panel} title=${t('costs.title')} side=${t('costs.since')}><p class="spaced">${t('costs.what')}</p>
      ${views.length === 0 ? html`<${Empty} title=${t('empty')} />` : html`<div class="scroll"><table class="data"><thead><tr><th>${t('costs.view')}</th><th class="right">${t('costs.calls')}</th><th class="right">${t('costs.unchanged')}</th><th class="right">${t('costs.failed')}</th><th>${t('costs.store')}</th><th class="right">${t('costs.bytes')}</th><th class="right">${t('costs.time')}</th></tr></thead>
        <tbody>${views.map((view) => html`<tr key=${view.view}><td>${viewName(view.view)}</td><td class="right">${number(view.calls)}</td><td class="right">${number(view.unchanged)}</td><td class="right">${number(view.failed)}</td><td>${storeText(view.store) || t('costs.unknown')}</td><td class="right">${bytes(view.bytes)}</td><td class="right">${duration(view.ms / 1000)}</td></tr>`)}</tbody></table></div>`}</${Panel}>
    <${Panel} title=${t('costs.last')}><div class="scroll"><table class="data calls"><tbody>${list.slice(0, 60).map((call, index) => html`<tr key=${index}><td class="quiet">${clock(call.at)}</td><td>${call.method}</td><td><code>${call.path}</code></td><td><${Badge} tone=${call.status >= 400 || !call.status ? 'bad' : call.status === 304 ? '' : 'good'}>${call.status || '—'}</${Badge}></td><td class="right">${duration(call.ms / 1000)}</td><td>${call.store ? storeText(call.store) : ''}</td></tr>`)}</tbody></table></div></${Panel}>`;
}
