/** What an agent is told at its start: the text, the size of each part, and the difference to another moment. */
import { at } from '../core/api.js';
import { linesOf } from '../core/known.js';
import { useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { changeQuery, href } from '../core/router.js';
import { may } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { byKind, cut } from '../core/differences.js';
import { Answer, Badge, Choice, Copy, Heading, Loading, Panel, ProblemNote, Words } from '../parts/basic.js';
import { Diff } from '../parts/diff.js';
import { Field, useSettled } from '../parts/field.js';
import { Fixable, Lines, useCanCorrect } from '../parts/fixing.js';
import { html, useEffect, useMemo, useState } from '../vendor/preact.js';

const BUDGETS = [2000, 4000, 9500, 16000, 40000];
const why = (part) => (has(`why.${part.why}`) ? t(`why.${part.why}`) : part.why);
const kind = (name) => (has(`part.${name}`) ? t(`part.${name}`) : name);

/** The link to what a part shows. */
export function linkOf(space, source) {
  const [, place, rest] = /^(\w+)\/?(.*)$/s.exec(source ?? '') ?? [];
  if (place === 'bank' && rest) {
    const [path, section] = rest.split(/#(.*)/s);
    return href('file', { space, rest: path }, { section });
  }
  if (place === 'notes') return href('note', { space, note: rest });
  if (place === 'memories') return href('memory', { space, memory: rest });
  if (place === 'conversations') return href('conversation', { space, conversation: rest.split('/')[0] });
  if (place === 'synthesis') return href('bank', { space });
  return undefined;
}

const SHORT = 90;

/** What a reader knows a part by: the path of a section; the first words of a note or memory, whose id says little. */
function nameOf(part) {
  if (!part.source) return kind(part.kind);
  if (!/^(notes|memories|conversations)\//.test(part.source)) return part.source.replace(/^bank\//, '').replace(/#| > /g, ' › ');
  const words = part.text.replace(/^[\s\S]*?(?:^|\n)- \[[^\]]*\]\s*/, '').replace(/\s+/g, ' ').trim();
  return words.length > SHORT ? `${words.slice(0, SHORT)} …` : words || part.source;
}

function Bar({ parts, budget }) {
  const sums = byKind(parts);
  const used = parts.reduce((sum, part) => sum + part.chars, 0);
  return html`<div class="told-bar">
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="4" />
      ${sums.reduce(({ nodes, from }, { kind: name, chars }) => {
        const wide = (chars / budget) * 100;
        return { nodes: [...nodes, html`<rect key=${name} class=${`told-${name}`} x=${from} width=${wide} height="4" />`], from: from + wide };
      }, { nodes: [], from: 0 }).nodes}</svg>
    <ul class="told-key">${sums.map(({ kind: name, chars }) => html`<li key=${name}><i class=${`told-${name}`}></i>${kind(name)} <b>${number(chars)}</b></li>`)}
      <li class="quiet">${t('told.used', { used: number(used), budget: number(budget) })}</li></ul>
  </div>`;
}

/** The words of a part. Those of a section are its lines, each with what takes it back. */
function PartText({ space, part, canEdit, done }) {
  const [, place, rest] = /^(\w+)\/?(.*)$/s.exec(part.source ?? '') ?? [];
  const [path, section] = (rest ?? '').split(/#(.*)/s);
  const lines = useMemo(() => linesOf(part.text), [part.text]);
  if (place === 'bank') return html`<${Lines} space=${space} path=${path} section=${section ?? ''} lines=${lines} canEdit=${canEdit && section} done=${done} />`;
  const text = html`<${Markdown} small=${true} text=${lines.map((line) => line.text).join('\n\n')} />`;
  const kinds = { notes: 'note', memories: 'memory' };
  return kinds[place] ? html`<${Fixable} space=${space} of=${{ kind: kinds[place], id: rest, text: nameOf(part) }} done=${done}>${text}</${Fixable}>` : text;
}

function PartRow({ space, part, canEdit, done }) {
  const link = linkOf(space, part.source);
  const name = part.kind === 'section' ? nameOf(part) : kind(part.kind);
  return html`<li class="told-part"><div class="row">
      <b class="grow"><i class=${`told-${part.kind}`}></i>${link ? html`<a href=${link}><${Words} text=${name} /></a>` : name}</b>
      <span class="quiet">${why(part)}</span><span class="number-text">${number(part.chars)}</span>
    </div>
    <${PartText} space=${space} part=${part} canEdit=${canEdit} done=${done} /></li>`;
}

function Text({ space, start, budget, done }) {
  const parts = useMemo(() => cut(start), [start]);
  const [show, setShow] = useState('parts');
  const canEdit = useCanCorrect(space);
  return html`<${Panel} title=${t('told.now', { n: start.chars })} side=${html`<${Choice} label=${t('told.show')} value=${show} onChange=${setShow} options=${['parts', 'raw'].map((value) => ({ value, label: t(`told.show.${value}`) }))} />`}>
    <${Bar} parts=${parts} budget=${budget} />
    ${start.degraded.length > 0 && html`<p><${Badge} tone="warn">${t('told.degraded')}</${Badge}> ${start.degraded.join(', ')}</p>`}
    ${start.unread > 0 && html`<p class="quiet">${t('told.unread', { n: start.unread })}</p>`}
    ${show === 'parts' && html`<ol class="rows told-parts">${parts.map((part) => html`<${PartRow} key=${part.key} space=${space} part=${part} canEdit=${canEdit} done=${done} />`)}</ol>`}
    ${show === 'raw' && html`<pre class="raw"><${Words} text=${start.markdown} /></pre><${Copy} text=${start.markdown} label=${t('told.copy')} />`}
  </${Panel}>`;
}

const Difference = ({ now, then, name }) => (now.markdown === then.markdown ? html`<p class="quiet">${t('told.same')}</p>` : html`<${Diff} before=${then.markdown} after=${now.markdown} title=${t('told.difference', { name })} />`);

function Moment({ last, value, onChange }) {
  const options = [['', t('told.present')], ...Array.from({ length: Math.min(last, 200) }, (_, index) => [String(last - index), t('then.badge', { at: last - index })])];
  return html`<${Field} label=${t('told.compare')} value=${value} onChange=${onChange} options=${options} />`;
}

/** Whether a token is told anything of the space: as access/decision.py decides it. */
const mayRead = (token, space) =>
  !token.revoked && !token.replaced_by && token.permissions.includes('read') && token.space_ids && (!token.space_ids.length || token.space_ids.includes(space)) && !(token.expires_at && new Date(token.expires_at) < new Date());

/** For an admin: the tokens that may read here. Their list is asked for when somebody wants it. */
function OfToken({ space, user, setUser }) {
  const [open, setOpen] = useState(false);
  const tokens = useLive(open ? '/v1/tokens' : undefined, { query: { limit: 500 } });
  if (!open) return html`<button class="plain" onClick=${() => setOpen(true)}>${t('told.token')}</button>`;
  const names = [...new Set((tokens.data?.items ?? []).filter((token) => mayRead(token, space)).map((token) => token.name))].sort();
  return html`<${Field} label=${t('told.token')} value=${user} onChange=${setUser} options=${[['', t('told.token.own')], ...names.map((name) => [name, name])]} /><${ProblemNote} problem=${tokens.problem} />`;
}

export default function Told({ params: { space }, query }) {
  const [q, setQ] = useState(query.q ?? '');
  const [user, setUser] = useState(query.user ?? '');
  const settled = { q: useSettled(q, 400), user: useSettled(user, 400) };
  const budget = Number(query.max) || 9500;
  useEffect(() => {
    if ((query.q ?? '') !== settled.q || (query.user ?? '') !== settled.user) changeQuery(settled);
  }, [settled.q, settled.user]);
  const info = useLive(at('spaces', space));
  const asked = { max_chars: budget, q: settled.q, user: settled.user };
  const live = useLive(at('spaces', space, 'start'), { query: asked, every: 15_000 });
  const then = useLive(query.at ? at('spaces', space, 'start') : undefined, { query: { ...asked, at: query.at } });
  return html`<${Heading} title=${t('nav.told')} above=${space} />
    <p class="lead">${t('told.lead')}</p>
    <div class="filters">
      <${Field} label=${t('told.q')} value=${q} onChange=${setQ} type="search" placeholder=${t('told.q.hint')} />
      <${Field} label=${t('told.user')} value=${user} onChange=${setUser} type="search" />
      ${may('admin') && html`<${OfToken} space=${space} user=${user} setUser=${setUser} />`}
      <${Field} label=${t('told.budget')} value=${String(budget)} onChange=${(max) => changeQuery({ max })} options=${BUDGETS.map((size) => [String(size), number(size)])} />
      ${info.data?.changes > 0 && html`<${Moment} last=${info.data.changes} value=${query.at ?? ''} onChange=${(moment) => changeQuery({ at: moment })} />`}
    </div>
    ${query.at && then.problem && html`<${ProblemNote} problem=${then.problem} again=${then.refresh} />`}
    ${query.at && then.loading && html`<${Loading} />`}
    ${query.at && then.data && live.data && html`<${Difference} now=${live.data} then=${then.data} name=${t('then.badge', { at: query.at })} />`}
    <${Answer} live=${live} lines=${8}>${(start) => html`<${Text} space=${space} start=${start} budget=${budget} done=${live.refresh} />`}</${Answer}>`;
}
