/** Who gets in: tokens with their last use, a new one shown once; and connections of programs. */
import { at, post, remove } from '../../core/api.js';
import { useAction, useLive } from '../../core/live.js';
import { usePages } from '../../core/pages.js';
import { t } from '../../core/texts.js';
import { Badge, Copy, Empty, Panel, ProblemNote, Time, Words } from '../../parts/basic.js';
import { confirm } from '../../parts/dialog.js';
import { Field, Tick, useDraft } from '../../parts/field.js';
import { PagedList } from '../../parts/list.js';
import { toast } from '../../parts/toast.js';
import { html, useState } from '../../vendor/preact.js';

const PERMISSIONS = ['read', 'write', 'admin'];
const over = (token) => token.expires_at && new Date(token.expires_at) < new Date();

async function revoke(token, refresh) {
  const answer = await confirm({
    title: t('tokens.revoke.title', { name: token.name }),
    body: html`<p>${t('tokens.revoke.what')}</p>`,
    yes: t('tokens.revoke.yes'),
    grave: true,
    act: () => remove(at('tokens', token.hash)),
  });
  if (!answer) return;
  toast({ text: t('tokens.revoked', { n: 1 + answer.others.length }), tone: 'good' });
  refresh();
}

async function removeIt(token, refresh) {
  const done = await confirm({ title: t('tokens.remove.title', { name: token.name }), body: html`<p>${t('tokens.remove.what')}</p>`, yes: t('tokens.remove'), act: () => remove(at('tokens', token.hash), { forget: true, successors: false, descendants: false }) });
  if (done) refresh();
}

function Token({ token, refresh }) {
  const dead = token.revoked || over(token);
  return html`<div class=${`row ${dead ? 'dead' : ''}`}>
      <b class="grow">${token.name} <small>${token.email ?? ''}</small></b>
      <span>${token.permissions.map((permission) => html`<${Badge} key=${permission} tone=${permission === 'admin' ? 'warn' : ''}>${permission}</${Badge}> `)}</span>
      ${token.revoked ? html`<${Badge} tone="bad">${t('tokens.is.revoked')}</${Badge}>` : over(token) && html`<${Badge}>${t('tokens.is.over')}</${Badge}>`}
      ${dead ? html`<button class="plain" onClick=${() => removeIt(token, refresh)}>${t('tokens.remove')}</button>` : html`<button class="plain grave-text" onClick=${() => revoke(token, refresh)}>${t('tokens.revoke')}</button>`}
    </div>
    <div class="meta"><span>${token.space_ids?.length ? token.space_ids.join(', ') : t('tokens.all.spaces')}</span>
      ${token.last_used_at ? html`<span>${t('tokens.used')} <${Time} at=${token.last_used_at} /></span>` : html`<span>${t('tokens.unused')}</span>`}
      ${token.made_by && html`<span>${t('tokens.made.by', { name: token.made_by.name })} <${Time} at=${token.created_at} /></span>`}
      ${token.expires_at && html`<span>${t('tokens.until')} <${Time} at=${token.expires_at} exact=${true} /></span>`}
      ${token.replaced_by && html`<span>${t('tokens.replaced')}</span>`}</div>`;
}

/** The secret is in this component alone: neither kept nor shown again. */
function Made({ made, close }) {
  return html`<${Panel} title=${t('tokens.made', { name: made.name })} class="accent-panel"><p class="spaced">${t('tokens.once')}</p><${Copy} text=${made.token} />
    <p class="spaced"></p><${Copy} text=${`livemem login --url ${location.origin}${made.space_ids?.[0] ? ` --space ${made.space_ids[0]}` : ''}`} /><div class="actions spaced"><button onClick=${close}>${t('tokens.kept')}</button></div></${Panel}>`;
}

function NewToken({ made }) {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const [name, setName, forget] = useDraft('token.name');
  const [chosen, setChosen] = useState([]);
  const [permissions, setPermissions] = useState(['read', 'write']);
  const [days, setDays] = useState('');
  const flip = (list, one, on) => (on ? [...list, one] : list.filter((other) => other !== one));
  const [make, making] = useAction(async () => {
    const body = { name: name.trim(), permissions, space_ids: chosen, expires_in_days: days ? Number(days) : undefined };
    made(await post('/v1/tokens', body));
    forget();
  });
  const submit = (event) => {
    event.preventDefault();
    make();
  };
  const error = (field) => making.problem?.fieldError?.(field);
  return html`<form class="form" onSubmit=${submit}>
    <${Field} label=${t('tokens.name')} value=${name} onChange=${setName} hint=${t('tokens.name.hint')} error=${error('name')} required=${true} />
    <fieldset class="ticks"><legend>${t('tokens.permissions')}</legend>${PERMISSIONS.map((one) => html`<${Tick} key=${one} label=${`${one}: ${t(`permission.${one}`)}`} checked=${permissions.includes(one)} onChange=${(on) => setPermissions(flip(permissions, one, on))} />`)}</fieldset>
    <fieldset class="ticks"><legend>${t('tokens.spaces')}</legend>${(spaces.data?.items ?? []).map((space) => html`<${Tick} key=${space.space_id} label=${space.space_id} checked=${chosen.includes(space.space_id)} onChange=${(on) => setChosen(flip(chosen, space.space_id, on))} />`)}<p class="hint">${t('tokens.spaces.hint')}</p></fieldset>
    <${Field} label=${t('tokens.days')} type="number" min="1" value=${days} onChange=${setDays} optional=${true} error=${error('expires_in_days')} />
    <${ProblemNote} problem=${making.problem} />
    <div class="actions"><button class="main" disabled=${making.busy || !name.trim() || !permissions.length}>${making.busy ? t('working') : t('tokens.make')}</button></div>
  </form>`;
}

export function Tokens() {
  const list = usePages('/v1/tokens', { idOf: (token) => token.hash, every: 15_000, limit: 100 });
  const [made, setMade] = useState(undefined);
  const [open, setOpen] = useState(false);
  const done = (token) => {
    setMade(token);
    setOpen(false);
    list.refresh();
  };
  return html`${made && html`<${Made} made=${made} close=${() => setMade(undefined)} />`}
    <${Panel} title=${t('ops.tokens')} side=${html`<button onClick=${() => setOpen(!open)} aria-expanded=${open}>${open ? t('close') : t('tokens.new')}</button>`}>
      ${open && html`<${NewToken} made=${done} />`}
      <${PagedList} list=${list} idOf=${(token) => token.hash} row=${(token) => html`<${Token} token=${token} refresh=${list.refresh} />`} /></${Panel}>`;
}

const connectionId = (one) => one.connection_id;

async function endConnection(connection, refresh) {
  const name = connection.client_name ?? connection.redirect_host;
  const done = await confirm({ title: t('connections.end.title', { name }), body: html`<p>${t('connections.end.what')}</p>`, yes: t('connections.end'), grave: true, act: () => remove(at('connections', connectionId(connection))) });
  if (done) refresh();
}

export function Connections() {
  const list = usePages('/v1/connections', { idOf: connectionId, every: 15_000 });
  if (list.problem?.status === 404) return html`<${Panel}><${Empty} title=${t('connections.off')}><p>${t('connections.off.what')}</p></${Empty}></${Panel}>`;
  return html`<${Panel} title=${t('ops.connections')}><${PagedList} list=${list} idOf=${connectionId} empty=${html`<${Empty} title=${t('connections.none')}><p>${t('connections.none.what')}</p></${Empty}>`}
    row=${(one) => html`<div class="row"><b class="grow"><${Words} text=${one.client_name ?? ''} /> <small>${one.redirect_host}</small></b><span>${one.permissions.map((name) => html`<${Badge} key=${name}>${name}</${Badge}> `)}</span><button class="plain grave-text" onClick=${() => endConnection(one, list.refresh)}>${t('connections.end')}</button></div>
      <div class="meta"><span>${t('connections.for', { name: one.name })} <${Time} at=${one.created_at} /></span><span>${one.space_ids.join(', ') || t('tokens.all.spaces')}</span>${one.last_used_at ? html`<span>${t('tokens.used')} <${Time} at=${one.last_used_at} /></span>` : html`<span>${t('tokens.unused')}</span>`}${one.expires_at && html`<span>${t('tokens.until')} <${Time} at=${one.expires_at} exact=${true} /></span>`}</div>`} /></${Panel}>`;
}
