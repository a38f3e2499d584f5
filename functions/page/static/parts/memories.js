/** Memories as lists show them, the form that makes or corrects one, and the events of their log. */
import { at, get, post } from '../core/api.js';
import { useAction } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { kinds, lives, subjectsIn } from '../core/memories.js';
import { changeQuery, href } from '../core/router.js';
import { session } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { Badge, ProblemNote, Time, Words } from './basic.js';
import { Field, useDraft } from './field.js';
import { Fixable } from './fixing.js';
import { toast } from './toast.js';

const PAGE = 50;
const PAGES = 6;

export const Life = ({ memory }) => memory.expires_at && html`<${Badge} tone="warn">${t('memory.expires')} <${Time} at=${memory.expires_at} /></${Badge}>`;

/** `filter`: whether its subjects filter the list. */
export function MemoryRow({ space, memory, filter = false }) {
  const tag = (subject) => (filter ? html`<button key=${subject} class="plain tag" onClick=${() => changeQuery({ subject })}>${visible(subject)}</button>` : html`<span key=${subject} class="tag">${visible(subject)}</span>`);
  const speaker = memory.author ?? memory.provenance.user ?? memory.provenance.author;
  const of = { kind: 'memory', id: memory.memory_id, text: memory.content, mine: memory.provenance.author === session.get().who?.name };
  return html`<article class="memory"><${Fixable} space=${space} of=${of}>
    <p class="memory-text"><a href=${href('memory', { space, memory: memory.memory_id })}><${Words} text=${memory.content} /></a></p>
    <div class="meta"><b><${Words} text=${speaker} /></b>${speaker !== memory.provenance.author && html`<span>${t('turn.written.by', { name: memory.provenance.author })}</span>`}<${Time} at=${memory.said_at ?? memory.updated_at} />
      ${memory.kind !== 'fact' && html`<${Badge} tone="accent">${t(`memory.kind.${memory.kind}`)}</${Badge}>`}
      ${memory.category && html`<span>${visible(memory.category)}</span>`}
      <${Life} memory=${memory} />${memory.subjects.map(tag)}
      ${memory.similar_to?.length > 0 && html`<${Badge}>${t('memory.similar.n', { n: memory.similar_to.length })}</${Badge}>`}
      ${memory.score !== undefined && html`<span>${t('memory.score', { score: number(memory.score, { maximumFractionDigits: 2 }) })}</span>`}</div>
  </${Fixable}></article>`;
}

const lifeOptions = (first) => [...first, ['ever', t('lasts.ever')], ...lives.map((one) => [one, t(`lasts.${one}`)])];

/** Fields of a memory. `value`: {content, subjects, category, life}; `life`: the choices that come first. */
export function MemoryFields({ value, change, error, life, kind }) {
  const set = (name) => (text) => change({ ...value, [name]: text });
  return html`<${Field} label=${t('memory.content')} rows="2" value=${value.content} onChange=${set('content')} error=${error('content')} placeholder=${t('memory.placeholder')} />
    <div class="filters">
      ${kind && html`<${Field} label=${t('memory.kind')} value=${value.kind} onChange=${set('kind')} options=${kinds.map((one) => [one, t(`memory.kind.${one}`)])} error=${error('kind')} />`}
      <${Field} label=${t('memory.subjects')} value=${value.subjects} onChange=${set('subjects')} error=${error('subjects') ?? error('subjects.0')} optional=${true} placeholder=${t('memory.subjects.placeholder')} />
      <${Field} label=${t('filter.category')} value=${value.category} onChange=${set('category')} error=${error('category')} optional=${true} />
      <${Field} label=${t('memory.life')} value=${value.life} onChange=${set('life')} options=${lifeOptions(life)} error=${error('ttl')} />
    </div>`;
}

const EMPTY = { content: '', kind: 'fact', subjects: '', category: '', life: 'ever' };

export function NewMemory({ space, done }) {
  const [draft, setDraft, forget] = useDraft(`memory.${space}`, JSON.stringify(EMPTY));
  const value = { ...EMPTY, ...JSON.parse(draft) };
  const key = useRef();
  const [send, sending] = useAction(async () => {
    // The same words get the same key, so that a second try after a lost answer stores nothing twice.
    key.current = key.current?.draft === draft ? key.current : { draft, id: crypto.randomUUID() };
    const body = { content: value.content, kind: value.kind, category: value.category.trim() || undefined, subjects: subjectsIn(value.subjects), ttl: value.life === 'ever' ? null : value.life };
    const made = await post(at('spaces', space, 'memories'), body, { headers: { 'Idempotency-Key': key.current.id } });
    forget();
    const text = made.merged_into ? t(`memory.merged.${made.kept ?? 'new'}`) : t('memory.stored');
    toast({ text, tone: 'good', link: { href: href('memory', { space, memory: made.memory_id }), label: t('undo.look') } });
    done();
  });
  const submit = (event) => {
    event.preventDefault();
    if (value.content.trim()) send();
  };
  return html`<form class="new-note" onSubmit=${submit}>
    <${MemoryFields} value=${value} change=${(next) => setDraft(JSON.stringify(next))} error=${(field) => sending.problem?.fieldError?.(field)} life=${[]} kind=${true} />
    <div class="actions send"><button class="main" disabled=${!value.content.trim() || sending.busy}>${sending.busy ? t('working') : t('memory.store')}</button></div>
    <${ProblemNote} problem=${sending.problem} />
  </form>`;
}

/** The events of one memory, newest first, read once its `revision` is known. `whole`: whether its beginning was found. */
export function useEvents(space, id, revision) {
  const [state, setState] = useState({});
  useEffect(() => {
    if (revision === undefined) return undefined;
    const ended = new AbortController();
    const read = async () => {
      const found = [];
      let cursor;
      for (let page = 0; page < PAGES; page += 1) {
        const { items, next_cursor: next } = await get(at('spaces', space, 'memories', 'changes'), { memory_id: id, limit: PAGE, cursor }, { signal: ended.signal });
        found.push(...items);
        cursor = next;
        if (!cursor) break;
      }
      setState({ events: found, whole: !cursor });
    };
    read().catch((problem) => ended.signal.aborted || setState({ problem, events: [] }));
    return () => ended.abort();
  }, [space, id, revision]);
  return state;
}

/** What happened to a memory. `link`: whether it names which one. */
export function MemoryEvent({ space, event, link = false }) {
  const changed = event.former !== undefined && event.former !== event.content;
  const beside = event.what === 'split' || event.kept === 'former';
  const what = event.what === 'corrected' && !changed && !event.corrected?.length ? 'confirmed' : event.what;
  return html`<div class="row"><b>${t(`memory.did.${what}`)}</b>
      <span class="quiet">${t('memory.by', { name: event.author })} · <${Time} at=${event.at} /></span>
      ${event.by && html`<span class="quiet">${t(`memory.merged.by.${event.by}`)}${event.by !== 'text' && event.score !== undefined && ` (${number(event.score, { maximumFractionDigits: 2 })})`}</span>`}
      ${event.corrected && !changed && html`<span class="quiet">${event.corrected.map((field) => t(`memory.field.${field}`)).join(', ')}</span>`}</div>
    ${link ? html`<p><a class="quiet-link" href=${href('memory', { space, memory: event.memory_id })}><${Words} text=${event.content} /></a></p>` : html`<p><${Words} text=${event.content} /></p>`}
    ${changed && html`<p class=${beside ? 'quiet' : 'former'}>${t(event.what === 'split' ? 'memory.split.off' : beside ? 'memory.said.too' : 'memory.was')} <${Words} text=${event.former} /></p>`}
    ${event.reason && html`<p class="quiet">${t('reason')}: <${Words} text=${event.reason} /></p>`}`;
}
