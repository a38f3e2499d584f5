/** What a search found, as its list shows it: the words that matched, where it leads, why it was found, and why something was not. */
import { at, get } from '../core/api.js';
import { idIn, linesOfSnippet, linkOf, marked, reasons, sectionOf, spaceIn } from '../core/found.js';
import { useAction } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { href } from '../core/router.js';
import { may, session } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { html, useEffect, useState } from '../vendor/preact.js';
import { Badge, Category, ProblemNote, Time, Words } from './basic.js';
import { Field, useDraft } from './field.js';
import { Fixable } from './fixing.js';

const LEAST = 0.05;
const two = (value) => number(value, { maximumFractionDigits: 2, minimumFractionDigits: 2, signDisplay: 'exceptZero' });

/** A text with the words of the query marked. */
export const Marked = ({ text, highlights }) => html`<span class="words" dir="auto">${marked(text, highlights).map((piece, index) => (piece.marked ? html`<mark key=${index}>${visible(piece.text)}</mark>` : visible(piece.text)))}</span>`;

/** A part of a score: to the right of the middle it helped, to the left it hurt. */
function Bar({ value, most }) {
  const wide = (Math.abs(value) / most) * 50;
  return html`<svg class="why-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <line x1="50" x2="50" y1="0" y2="6" /><rect class=${value < 0 ? 'hurt' : 'help'} x=${value < 0 ? 50 - wide : 50} width=${wide} height="6" />
  </svg>`;
}

/** Why something was found: each part of its score, in the words of a reader. */
export function Why({ explain, most }) {
  const groups = reasons(explain);
  const small = groups.flatMap((group) => group.parts).filter((part) => Math.abs(part.value) < LEAST).length;
  return html`<div class="why">
    <table><tbody>${groups.map((group) => html`
      <tr key=${group.group} class="sum"><th scope="row">${t(`found.group.${group.group}`)}</th><td><${Bar} value=${group.sum} most=${most} /></td><td class="number">${two(group.sum)}</td></tr>
      ${group.parts.filter((part) => Math.abs(part.value) >= LEAST).map((part) => html`<tr key=${part.name}><th scope="row">${has(`found.part.${part.name}`) ? t(`found.part.${part.name}`) : part.name}</th><td><${Bar} value=${part.value} most=${most} /></td><td class="number">${two(part.value)}</td></tr>`)}`)}
    </tbody></table>
    ${small > 0 && html`<p class="quiet">${t('found.small', { n: small })}</p>`}
    <p class="quiet">${t('found.units')}</p>
  </div>`;
}

/** The name of a hit: what it is, said so that one knows it again. */
function Name({ hit }) {
  const source = hit.source ?? {};
  switch (hit.kind) {
    case 'bank': {
      const { path, section } = sectionOf(hit.id);
      return html`<code>${visible(path)}</code>${section && html` › ${visible(section.replaceAll(' > ', ' › '))}`}`;
    }
    case 'turn': return t(`found.turn.${hit.role === 'tool' ? 'tool' : 'said'}`, { n: source.turn_index ?? '' });
    case 'summary': return t('found.summary', { level: source.level ?? '', turns: (source.covers ?? '').replace('-', '–') });
    case 'message': return t('found.message', { room: source.room ?? '' });
    case 'memory': return t(`memory.kind.${source.kind ?? 'fact'}`);
    default: return hit.category ? html`<${Category} name=${hit.category} />` : t(`found.kind.${hit.kind}`);
  }
}

function linkOfHit(hit, space) {
  const source = hit.source ?? {};
  if (hit.kind === 'message') return href('room', { space, room: source.room }, { message: source.message_id });
  return linkOf(space, hit.id);
}

/** The words that were found: of the bank line by line, each with what takes it back. */
function Snippet({ hit, space, canEdit, done }) {
  const whole = html`<p class="snippet"><${Marked} text=${hit.snippet} highlights=${hit.highlights} /></p>`;
  const fixable = (of, shown) => html`<${Fixable} space=${space} of=${of} canEdit=${canEdit} done=${done}>${shown}</${Fixable}>`;
  if (hit.kind === 'memory') return fixable({ kind: 'memory', id: hit.id, text: hit.snippet, mine: (hit.written_by ?? hit.author) === session.get().who?.name }, whole);
  if (hit.kind === 'note' || hit.kind === 'archive') return fixable({ kind: 'note', id: hit.id, text: hit.snippet }, whole);
  if (hit.kind !== 'bank') return whole;
  return linesOfSnippet(hit.snippet, hit.highlights).filter(({ text }) => text.trim()).map(({ text, highlights }) =>
    fixable({ kind: 'line', ...sectionOf(hit.id), text, single: true }, html`<p class="snippet"><${Marked} text=${text} highlights=${highlights} /></p>`));
}

/** `most`: the largest part of all hits, so that bars can be compared; `place`: its rank; `near`: it misses the floor. */
export function Hit({ hit, space, place, most, near = false, canEdit, done }) {
  const [why, setWhy] = useState(false);
  const home = hit.space_id ?? space;
  const link = linkOfHit(hit, home);
  return html`<article class=${near ? 'hit near' : 'hit'}>
    <div class="hit-head"><span class="place">${number(place)}</span><span class="kind">${t(`found.kind.${hit.kind}`)}</span>
      <a class="hit-name" href=${link}><${Name} hit=${hit} /></a>
      ${hit.space_id && html`<${Badge}>${hit.space_id}</${Badge}>`}
      ${hit.explain && html`<button class="plain hit-why" aria-expanded=${why} onClick=${() => setWhy(!why)}>${t('found.why')}</button>`}</div>
    <${Snippet} hit=${hit} space=${home} canEdit=${home === space ? canEdit : may('admin')} done=${done} />
    <div class="meta">${hit.author && html`<b><${Words} text=${hit.author} /></b>`}${hit.written_by && html`<span>${t('turn.written.by', { name: hit.written_by })}</span>`}<${Time} at=${hit.time} />
      ${hit.superseded_by && html`<${Badge} tone="warn">${t('found.superseded')}</${Badge}>`}
      ${hit.verified_at && html`<span>${t('found.verified')} <${Time} at=${hit.verified_at} /></span>`}
      ${hit.expires_at && html`<span>${t('memory.expires')} <${Time} at=${hit.expires_at} /></span>`}
      ${(hit.subjects ?? []).map((subject) => html`<span key=${subject} class="tag">${visible(subject)}</span>`)}
      ${hit.source?.consolidation && html`<a href=${href('change', { space: home, number: hit.source.consolidation })}>${t('start.change', { n: Number(hit.source.consolidation) })}</a>`}</div>
    ${why && html`<${Why} explain=${hit.explain} most=${most} />`}
  </article>`;
}

const Link = ({ space, id }) => {
  const link = linkOf(space, id);
  return link ? html`<a href=${link}><code>${id}</code></a>` : html`<code>${id}</code>`;
};

function Told({ space, told }) {
  return html`<div class="why-not-told" role="status">
    <p class="what">${t(`whynot.${told.reason}`)}</p>
    ${told.rank && html`<p>${t('whynot.place', { n: told.rank })}</p>`}
    ${told.copy_of && html`<p>${t('whynot.copy.of')} <${Link} space=${space} id=${told.copy_of} /></p>`}
    ${told.behind?.length > 0 && html`<p>${t('whynot.behind')}</p><ul>${told.behind.map((id) => html`<li key=${id}><${Link} space=${space} id=${id} /></li>`)}</ul>`}
    <p class="quiet">${t('whynot.do')} <${Link} space=${space} id=${told.id} /></p>
  </div>`;
}

/** `parameters`: those of the search that was just made. A search of `several` spaces is asked in the one whose address was pasted. */
export function WhyNot({ space, parameters, several = false }) {
  const [typed, setTyped] = useDraft(`whynot.${space}`);
  const [told, setTold] = useState(undefined);
  const key = JSON.stringify(parameters);
  const [ask, asking] = useAction(async () => {
    const home = spaceIn(typed) ?? space;
    const answer = await get(at('spaces', home, 'search'), { ...parameters, spaces: undefined, why_not: idIn(typed) });
    setTold({ ...answer.why_not, home });
  });
  useEffect(() => setTold(undefined), [key]);
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim()) ask();
  };
  return html`<details class="why-not"><summary>${t('whynot.title')}</summary>
    <form class="inline-form" onSubmit=${submit}>
      <${Field} label=${t('whynot.id')} hint=${t('whynot.hint')} value=${typed} onChange=${setTyped} spellcheck=${false} error=${asking.problem?.fieldError?.('why_not')} />
      <button disabled=${!typed.trim() || asking.busy}>${asking.busy ? t('working') : t('whynot.ask')}</button>
      <${ProblemNote} problem=${asking.problem} />
    </form>
    ${told && html`${several && html`<p class="quiet">${t('whynot.in', { space: told.home })}</p>`}<${Told} space=${told.home} told=${told} />`}
  </details>`;
}
