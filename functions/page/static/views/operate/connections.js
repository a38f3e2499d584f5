/** Connections: programs that somebody signed in, with their last use, and their end. */
import { at, remove } from '../../core/api.js';
import { usePages } from '../../core/pages.js';
import { t } from '../../core/texts.js';
import { Badge, Empty, Panel, Time, Words } from '../../parts/basic.js';
import { confirm } from '../../parts/dialog.js';
import { PagedList } from '../../parts/list.js';
import { html } from '../../vendor/preact.js';

const idOf = (one) => one.connection_id ?? one.grant_id ?? one.id;

async function end(connection, refresh) {
  const name = connection.client_name ?? connection.name;
  const done = await confirm({ title: t('connections.end.title', { name }), body: html`<p>${t('connections.end.what')}</p>`, yes: t('connections.end'), grave: true, act: () => remove(at('connections', idOf(connection))) });
  if (done) refresh();
}

export function Connections() {
  const list = usePages('/v1/connections', { idOf, every: 15_000 });
  if (list.problem?.status === 404) return html`<${Panel}><${Empty} title=${t('connections.off')}><p>${t('connections.off.what')}</p></${Empty}></${Panel}>`;
  return html`<${Panel} title=${t('ops.connections')}><${PagedList} list=${list} idOf=${idOf} empty=${html`<${Empty} title=${t('connections.none')}><p>${t('connections.none.what')}</p></${Empty}>`}
    row=${(one) => html`<div class="row"><b class="grow"><${Words} text=${one.client_name ?? one.name ?? ''} /></b><span>${(one.permissions ?? []).map((name) => html`<${Badge} key=${name}>${name}</${Badge}> `)}</span><button class="plain grave-text" onClick=${() => end(one, list.refresh)}>${t('connections.end')}</button></div>
      <div class="meta"><span>${one.token_name ?? one.user ?? ''}</span><span>${(one.space_ids ?? []).join(', ') || t('tokens.all.spaces')}</span>${one.last_used_at ? html`<span>${t('tokens.used')} <${Time} at=${one.last_used_at} /></span>` : html`<span>${t('tokens.unused')}</span>`}${one.expires_at && html`<span>${t('tokens.until')} <${Time} at=${one.expires_at} exact=${true} /></span>`}</div>`} /></${Panel}>`;
}
