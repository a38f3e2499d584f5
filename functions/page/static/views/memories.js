/** Memories: their list, their changes, and one of them with everything that was done to it. */
import { at, patch, post, remove } from '../core/api.js';
import { useAction, useEach, useLive } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { correctionOf, kinds, openMerges, stateOf } from '../core/memories.js';
import { usePages } from '../core/pages.js';
import { changeQuery, go, href } from '../core/router.js';
import { may, session } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Choice, Copy, Empty, Facts, Heading, Loading, One, Panel, ProblemNote, Tabs, Time, Words } from '../parts/basic.js';
import { confirm } from '../parts/dialog.js';
import { erase } from '../parts/erasing.js';
import { forgetMemory } from '../parts/fixing.js';
import { useDraft } from '../parts/field.js';
import { TypedFilter } from '../parts/filters.js';
import { PagedList } from '../parts/list.js';
import { Life, MemoryEvent, MemoryFields, MemoryRow, NewMemory, useEvents } from '../parts/memories.js';
import { toast } from '../parts/toast.js';
import { html, useState } from '../vendor/preact.js';

const EVERY = 6000;
const MOST = 50;
/** Of one receipt. */
const MOST_ERASED = 100;
/** The most that a page of the newest may have. */
const RECENT = 20;

const row = (space) => (memory) => html`<${MemoryRow} space=${space} memory=${memory} filter=${true} />`;
const idOf = (memory) => memory.memory_id;

const NoneFound = ({ space, query, nothing }) => html`<${Empty} title=${t(nothing === 'below_floor' ? 'memories.none.answer' : 'memories.none.match')}><p>${t('memories.none.match.what')} <a href=${href('search', { space }, { q: query.q })}>${t('nav.search')}</a></p></${Empty}>`;

/** What answers a question: the service says how many may be shown. */
function Answers({ space, query }) {
  const live = useLive(at('spaces', space, 'memories'), { query: { q: query.q, kind: query.kind, subject: query.subject, limit: MOST } });
  const items = live.data?.items ?? [];
  return html`<${ProblemNote} problem=${live.problem} again=${live.refresh} />
    ${live.loading && !live.data && html`<${Loading} lines=${6} />`}
    ${live.data && html`<${Panel}>
      ${!items.length && html`<${NoneFound} space=${space} query=${query} nothing=${live.data.nothing} />`}
      <ul class="rows">${items.map((memory) => html`<li key=${idOf(memory)}>${row(space)(memory)}</li>`)}</ul>
      ${items.length >= MOST && html`<p class="quiet">${t('search.most', { n: MOST })}</p>`}
      ${live.data.degraded && html`<p class="quiet">${t('search.ranking.bm25')} (<code>${live.data.degraded}</code>)</p>`}
    </${Panel}>`}`;
}

/** Forget several, one after the other, for one reason. What is refused stays chosen, and is told. */
async function forgetAll(space, ids, gone) {
  const pathOf = (id) => at('spaces', space, 'memories', id);
  const left = [...ids];
  const forget = async (reason) => {
    while (left.length) {
      // One that is gone already was forgotten by a request whose answer was lost, or by somebody else.
      await remove(pathOf(left[0]), { reason }).catch((problem) => problem.status === 404 || Promise.reject(problem));
      gone(left.shift());
    }
  };
  const restore = async () => {
    for (const id of ids) await post(`${pathOf(id)}/restore`);
  };
  const done = await confirm({ title: t('memory.forget.several', { n: ids.length }), body: html`<p>${t('memory.forget.what')}</p>`, yes: t('memory.forget.yes'), reason: 'required', act: forget });
  if (done) toast({ text: t('memory.forgotten', { n: ids.length }), tone: 'good', undo: restore });
  return done;
}

/** All memories, the last stored or changed first, by pages. */
function Newest({ space, query }) {
  const [chosen, setChosen] = useState(undefined);
  const drop = (id) => setChosen((now) => new Set([...now].filter((one) => one !== id)));
  const toggle = (id) => (chosen.has(id) ? drop(id) : setChosen(new Set([...chosen, id])));
  const rowOf = (memory) => html`<div>${chosen && html`<input type="checkbox" class="chooser" aria-label=${memory.content} checked=${chosen.has(idOf(memory))} onChange=${() => toggle(idOf(memory))} />`}${row(space)(memory)}</div>`;
  const forget = async () => {
    if (await forgetAll(space, [...chosen], drop)) setChosen(undefined);
    list.refresh();
  };
  const list = usePages(at('spaces', space, 'memories'), { query: { order: 'recent', kind: query.kind, subject: query.subject }, every: EVERY, idOf, limit: RECENT });
  const none = query.kind || query.subject ? html`<${NoneFound} space=${space} query=${query} />` : html`<${Empty} title=${t('memories.none')}><p>${t('memories.none.what')}</p></${Empty}>`;
  return html`<${Panel} title=${t('memories.now')} side=${may('admin') && list.count > 0 && html`<button class="plain" onClick=${() => setChosen(chosen ? undefined : new Set())}>${chosen ? t('cancel') : t('choose')}</button>`}>
    ${chosen?.size > 0 && html`<div class="chosen"><b>${t('chosen', { n: chosen.size })}</b><button onClick=${forget}>${t('memory.forget')}</button><button class="grave" disabled=${chosen.size > MOST_ERASED} onClick=${() => erase(space, [...chosen])}>${t('erase.button')}</button></div>`}
    <${PagedList} list=${list} idOf=${idOf} mark=${chosen && [...chosen].join()} row=${rowOf} empty=${none} /></${Panel}>`;
}

function List({ space, query }) {
  return html`<div class="filters">
      <div class="wide"><${TypedFilter} name="q" label=${t('memories.question')} value=${query.q} placeholder=${t('search.placeholder')} /></div>
      <${TypedFilter} name="subject" label=${t('memories.subject')} value=${query.subject} />
      <${Choice} label=${t('memory.kind')} value=${query.kind ?? ''} onChange=${(kind) => changeQuery({ kind })} options=${[{ value: '', label: t('memories.all') }, ...kinds.map((one) => ({ value: one, label: t(`memory.kinds.${one}`) }))]} />
    </div>
    ${query.q ? html`<${Answers} space=${space} query=${query} />` : html`<${Newest} space=${space} query=${query} />`}`;
}

function Changes({ space, query }) {
  const placeOf = (one) => `${one.kind} ${one.number}`;
  const list = usePages(at('spaces', space, 'memories', 'changes'), { query: { kind: query.kind }, every: EVERY, idOf: placeOf });
  return html`<${Panel}><${PagedList} list=${list} idOf=${placeOf} empty=${html`<${Empty} title=${t('memories.changes.none')} />`}
    row=${(event) => html`<div class="memory-event"><${MemoryEvent} space=${space} event=${event} link=${true} /></div>`} /></${Panel}>`;
}

export function Memories({ params: { space }, query }) {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState(0);
  const changes = query.show === 'changes';
  const done = () => {
    setMaking(false);
    setMade(made + 1);
  };
  return html`
    <${Heading} title=${t('nav.memories')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      ${may('write') && html`<button aria-expanded=${making} onClick=${() => setMaking(!making)}>${making ? t('close') : t('memory.new')}</button>`}</${Heading}>
    ${making && html`<${Panel} title=${t('memory.new')}><${NewMemory} space=${space} done=${done} /></${Panel}>`}
    <${Tabs} label=${t('nav.memories')} items=${[
      { href: href('memories', { space }), label: t('memories.now'), current: !changes },
      { href: href('memories', { space }, { show: 'changes' }), label: t('memories.changes'), current: changes },
    ]} />
    ${changes ? html`<${Changes} space=${space} query=${query} />` : html`<${List} key=${made} space=${space} query=${query} />`}`;
}

const valueOf = (memory) => ({ content: memory.content, subjects: memory.subjects.join(', '), category: memory.category ?? '', life: '' });

function Correct({ path, memory, close, done }) {
  const [draft, setDraft, forget] = useDraft(`correct.${memory.memory_id}`, JSON.stringify(valueOf(memory)));
  const value = { ...valueOf(memory), ...JSON.parse(draft) };
  const change = correctionOf(memory, value);
  const [save, saving] = useAction(async () => {
    await patch(path, change);
    forget();
    toast({ text: t('memory.corrected'), tone: 'good' });
    done();
  });
  const submit = (event) => {
    event.preventDefault();
    if (change && value.content.trim()) save();
  };
  return html`<form class="correct" onSubmit=${submit}>
    <${MemoryFields} value=${value} change=${(next) => setDraft(JSON.stringify(next))} error=${(field) => saving.problem?.fieldError?.(field)} life=${[['', t('memory.life.same')]]} />
    <${ProblemNote} problem=${saving.problem} />
    <div class="actions"><button class="main" disabled=${!change || !value.content.trim() || saving.busy}>${saving.busy ? t('working') : t('memory.save')}</button><button type="button" onClick=${close}>${t('close')}</button></div>
  </form>`;
}

async function forgetIt(space, memory) {
  if (await forgetMemory(space, memory.memory_id)) go('memories', { space });
}

async function splitIt(space, memory, merge, done) {
  const split = await confirm({
    title: t('memory.split.title'),
    body: html`<p>${t('memory.split.what')}</p><p class="quiet"><${Words} text=${merge.former ?? merge.content} /></p>`,
    yes: t('memory.split.yes'),
    act: () => post(at('spaces', space, 'memories', memory.memory_id, 'split')),
  });
  if (!split) return;
  toast({ text: t('memory.split.done'), tone: 'good', link: { href: href('memory', { space, memory: split.split_off.memory_id }), label: t('undo.look') } });
  done();
}

/** Where a memory comes from: each with a link to it. */
function Source({ space, memory }) {
  const { note_id: note, conversation_id: conversation, digest, room, messages } = memory.provenance;
  const links = [
    note && html`<a href=${href('note', { space, note })}>${t('memory.from.note')}</a>`,
    conversation && html`<a href=${href('conversation', { space, conversation })}>${t('memory.from.conversation')}</a>`,
    digest && html`<a href=${href('digest', { space, slot: digest })}>${t('memory.from.digest')}</a>`,
    room && html`<a href=${href('room', { space, room })}>${t('memory.from.room', { room })}</a>`,
    messages?.length > 0 && html`<code>${visible(messages.join(', '))}</code>`,
  ].filter(Boolean);
  return links.length ? html`<span class="meta">${links}</span>` : t(`memory.source.${memory.source}`);
}

function Details({ space, memory }) {
  return html`<${Facts} items=${[
    [t('memory.kind'), t(`memory.kind.${memory.kind}`)],
    [t('filter.category'), memory.category && html`<${Words} text=${memory.category} />`],
    [t('memory.subjects'), memory.subjects.length > 0 && html`<span class="meta">${memory.subjects.map((subject) => html`<a key=${subject} class="tag" href=${href('memories', { space }, { subject })}>${visible(subject)}</a>`)}</span>`],
    [t('memory.author'), html`<${Words} text=${memory.author ?? memory.provenance.user ?? memory.provenance.author} />`],
    [t('memory.said'), memory.said_at && html`<${Time} at=${memory.said_at} />`],
    [t('memory.stored.at'), html`<${Time} at=${memory.created_at} /> · ${memory.provenance.author}`],
    [t('memory.verified'), html`<${Time} at=${memory.updated_at} />`],
    [t('memory.ends'), memory.expires_at ? html`<${Time} at=${memory.expires_at} />` : t('lasts.ever')],
    [t('memory.origin'), html`<${Source} space=${space} memory=${memory} />`],
    [t('memory.revision'), number(memory.revision)],
    [t('memory.id'), html`<${Copy} text=${memory.memory_id} />`],
  ]} />`;
}

function Similar({ space, ids }) {
  const pathOf = (id) => at('spaces', space, 'memories', id);
  const found = useEach(ids.map(pathOf));
  return html`<${Panel} title=${t('memory.similar')}><p class="quiet">${t('memory.similar.what')}</p>
    <ul class="rows">${ids.map((id) => html`<li key=${id}><${One} answer=${found[pathOf(id)]}>${(memory) => html`<${MemoryRow} space=${space} memory=${memory} />`}</${One}></li>`)}</ul></${Panel}>`;
}

/** `known`: the former contents that the memory itself names, shown until its log is read. */
function History({ space, id, history, known = [] }) {
  const { events, whole, problem } = history;
  return html`<${Panel} title=${t('memory.history')}>
    <${ProblemNote} problem=${problem} />
    ${!events && known.map((former) => html`<p key=${former.at} class="former"><${Words} text=${former.content} /></p>`)}
    ${!events && html`<${Loading} />`}
    <ol class="life">${(events ?? []).map((event) => html`<li key=${event.number} class=${`event ${event.what}`}><${MemoryEvent} space=${space} event=${event} link=${event.memory_id !== id} /></li>`)}</ol>
    ${events && !whole && !problem && html`<p class="quiet">${t('memory.history.cut')}</p>`}
  </${Panel}>`;
}

function Present({ space, memory, history, refresh, edit }) {
  const path = at('spaces', space, 'memories', memory.memory_id);
  const [editing, setEditing] = useState(Boolean(edit) && may('write'));
  // Subjects that are written again change no word: the memory is confirmed, and nothing is merged.
  const [verify, verifying] = useAction(async () => {
    await patch(path, { subjects: memory.subjects, revision: memory.revision });
    toast({ text: t('memory.confirmed'), tone: 'good' });
    refresh();
  });
  const merge = openMerges((history.events ?? []).filter((event) => event.memory_id === memory.memory_id)).at(-1);
  const own = memory.provenance.author === session.get().who?.name;
  return html`<${Panel}>
      <p class="memory-whole"><${Words} text=${memory.content} /></p><p><${Life} memory=${memory} /></p>
      ${editing ? html`<${Correct} path=${path} memory=${memory} close=${() => setEditing(false)} done=${() => {
        setEditing(false);
        refresh();
      }} />` : html`<div class="actions">
        ${may('write') && html`<button onClick=${() => setEditing(true)}>${t('bank.correct')}</button><button onClick=${verify} disabled=${verifying.busy} title=${t('memory.confirm.what')}>${t('bank.confirm')}</button>`}
        ${may('write') && merge && html`<button onClick=${() => splitIt(space, memory, merge, refresh)}>${t('memory.split')}</button>`}
        ${(may('admin') || (own && may('write'))) && html`<button onClick=${() => forgetIt(space, memory)}>${t('memory.forget')}</button>`}
        ${may('admin') && html`<button class="plain grave-text" onClick=${() => erase(space, [memory.memory_id])}>${t('erase.button')}</button>`}</div>`}
      <${ProblemNote} problem=${verifying.problem} /></${Panel}>
    <div class="columns"><div><${History} space=${space} id=${memory.memory_id} history=${history} known=${memory.history} />
      ${memory.similar_to?.length > 0 && html`<${Similar} space=${space} ids=${memory.similar_to} />`}</div>
      <aside><${Panel} title=${t('conversation.about')}><${Details} space=${space} memory=${memory} /></${Panel}></aside></div>`;
}

/** A memory that is no more: its log still tells what it was, and a deletion can be taken back. */
function Gone({ space, id, history, problem, refresh }) {
  const state = stateOf(history.events ?? [], id);
  const [restore, restoring] = useAction(async () => {
    await post(at('spaces', space, 'memories', id, 'restore'));
    toast({ text: t('memory.restored'), tone: 'good' });
    refresh();
  });
  if (!history.events?.length) return history.events ? html`<${ProblemNote} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Panel}><p><b>${t(`memory.gone.${state}`)}</b></p>
      ${state === 'deleted' && may('write') && html`<div class="actions"><button class="main" onClick=${restore} disabled=${restoring.busy}>${t('memory.restore')}</button>${may('admin') && html`<button class="plain grave-text" onClick=${() => erase(space, [id])}>${t('erase.button')}</button>`}</div>`}
      <${ProblemNote} problem=${restoring.problem} /></${Panel}>
    <${History} space=${space} id=${id} history=${history} />`;
}

export function Memory({ params: { space, memory: id }, query }) {
  const live = useLive(at('spaces', space, 'memories', id), { every: EVERY });
  const missing = live.problem?.status === 404;
  const history = useEvents(space, id, missing ? 'gone' : live.data?.revision);
  return html`<${Heading} title=${t('memory')} above=${html`<a href=${href('memories', { space })}>${space} · ${t('nav.memories')}</a>`} />
    ${!missing && html`<${ProblemNote} problem=${live.problem} again=${live.refresh} />`}
    ${live.data && !missing && html`<${Present} space=${space} memory=${live.data} history=${history} refresh=${live.refresh} edit=${query.edit} />`}
    ${!live.data && !live.problem && html`<${Loading} lines=${6} />`}
    ${missing && html`<${Gone} space=${space} id=${id} history=${history} problem=${live.problem} refresh=${live.refresh} />`}`;
}
