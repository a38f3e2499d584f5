/** A space: what we know, and new notes as they come; beside them what is open, what changed, what waits for whom, and the run at work. */
import { at, patch, post } from '../core/api.js';
import { flat, goes, nameIn } from '../core/jobs.js';
import { useAction, useLive } from '../core/live.js';
import { usePages } from '../core/pages.js';
import { changeQuery, go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Badge, Empty, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { erase } from '../parts/erasing.js';
import { Field, useDraft } from '../parts/field.js';
import { CategoryFilter, DayFilter, TypedFilter, useCategories } from '../parts/filters.js';
import { Changed, Holds, Open, useKnown } from '../parts/known.js';
import { PagedList } from '../parts/list.js';
import { Note } from '../parts/notes.js';
import { RunBadge, RunNumbers, RunProblem, Steps } from '../parts/records.js';
import { NoModel } from '../parts/service.js';
import { toast } from '../parts/toast.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';

const LATEST = 4000;
/** Of one receipt. */
const MOST_ERASED = 100;
const idOf = (note) => note.note_id;

/** The day before today on the reader's calendar, as fields of a day take it. */
const yesterday = () => new Date(Date.now() - 86_400_000).toLocaleDateString('en-CA');

function Filters({ query }) {
  const statuses = ['live', 'consolidated'].map((name) => [name, t(`filter.status.${name}`)]);
  return html`<div class="filters">
    <${Field} label=${t('filter.status')} options=${statuses} value=${query.status ?? 'live'} onChange=${(status) => changeQuery({ status: status === 'live' ? '' : status })} />
    <${CategoryFilter} value=${query.category} />
    <${TypedFilter} name="agent" label=${t('filter.agent')} value=${query.agent} />
    <${TypedFilter} name="tag" label=${t('filter.tag')} value=${query.tag} />
    <${DayFilter} name="since" label=${t('filter.since')} value=${query.since} />
    <${DayFilter} name="until" label=${t('filter.until')} value=${query.until} />
    <button class="plain" type="button" onClick=${() => changeQuery({ since: yesterday(), until: yesterday() })}>${t('filter.yesterday')}</button>
  </div>`;
}

function NewNote({ space, done }) {
  const [content, setContent, forget] = useDraft(`note.${space}`);
  const [category, setCategory] = useDraft(`note.${space}.category`, 'observation');
  const categories = useCategories(category);
  const [tags, setTags, forgetTags] = useDraft(`note.${space}.tags`);
  const key = useRef();
  const [send, sending] = useAction(async () => {
    // The same words get the same key, so that a second try after a lost answer writes no second note.
    key.current = key.current?.content === content ? key.current : { content, id: crypto.randomUUID() };
    const body = { content, category, tags: tags.split(/[\s,]+/).filter(Boolean) };
    await post(at('spaces', space, 'notes'), body, { headers: { 'Idempotency-Key': key.current.id } });
    forget();
    forgetTags();
    toast({ text: t('note.written'), tone: 'good' });
    done();
  });
  const submit = (event) => {
    event.preventDefault();
    if (content.trim()) send();
  };
  const error = (field) => sending.problem?.fieldError?.(field);
  return html`<form class="new-note" onSubmit=${submit}>
    <${Field} label=${t('note.new')} rows="2" value=${content} onChange=${setContent} error=${error('content')} placeholder=${t('note.placeholder')} />
    <div class="filters">
      <${Field} label=${t('filter.category')} value=${category} onChange=${setCategory} options=${categories} error=${error('category')} />
      <${Field} label=${t('note.tags')} value=${tags} onChange=${setTags} error=${error('tags')} optional=${true} />
      <button class="main" disabled=${!content.trim() || sending.busy}>${sending.busy ? t('working') : t('note.send')}</button>
    </div>
    <${ProblemNote} problem=${sending.problem} />
  </form>`;
}

/** Ids that came since the view was opened: they slide in. */
function useFresh(list) {
  const known = useRef(undefined);
  const ids = list.pages[0]?.map(idOf) ?? [];
  const fresh = new Set(known.current ? ids.filter((id) => !known.current.has(id)) : []);
  useEffect(() => {
    if (!list.first) return;
    known.current ??= new Set(ids);
  });
  return fresh;
}

function Chosen({ space, chosen, clear }) {
  return html`<div class="chosen"><b>${t('chosen', { n: chosen.size })}</b><button class="grave" disabled=${chosen.size > MOST_ERASED} onClick=${() => erase(space, [...chosen])}>${t('erase.button')}</button><button onClick=${clear}>${t('chosen.clear')}</button></div>`;
}

/** The beginning and the end of a day on the reader's calendar, as the API takes times. */
const dayStart = (day) => day && new Date(`${day}T00:00:00`).toISOString();
const dayEnd = (day) => day && new Date(`${day}T23:59:59.999`).toISOString();

function Timeline({ space, query, info }) {
  const filters = { status: query.status, category: query.category, agent: query.agent, tag: query.tag, since: dayStart(query.since), until: dayEnd(query.until) };
  const list = usePages(at('spaces', space, 'notes'), { query: filters, every: LATEST, idOf });
  info.again = list.refresh;
  const fresh = useFresh(list);
  const [chosen, setChosen] = useState(new Set());
  const [choosing, setChoosing] = useState(false);
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const clear = () => {
    setChosen(new Set());
    setChoosing(false);
  };
  const choose = choosing ? { has: (id) => chosen.has(id), toggle } : undefined;
  const filtered = Object.values(filters).some(Boolean);
  const empty = filtered
    ? html`<${Empty} title=${t('notes.none.match')}><p>${t('notes.none.match.what')}</p></${Empty}>`
    : html`<${Empty} title=${t('notes.none')}><p>${t('notes.none.what')} <a href=${href('history', { space })}>${t('nav.history')}</a></p></${Empty}>`;
  return html`<${Panel} title=${t('notes.title')} side=${may('admin') && list.count > 0 && html`<button class="plain" onClick=${() => (choosing ? clear() : setChoosing(true))}>${choosing ? t('cancel') : t('choose')}</button>`}>
    <${Filters} query=${query} />
    ${filtered && !query.status && html`<p><button class="plain" onClick=${() => changeQuery({ status: 'consolidated' })}>${t('notes.folded.too')}</button></p>`}
    ${chosen.size > 0 && html`<${Chosen} space=${space} chosen=${chosen} clear=${clear} />`}
    <${PagedList} class="thread-list" list=${list} idOf=${idOf} empty=${empty} mark=${`${choosing} ${chosen.size} ${[...fresh].join()}`}
      row=${(note) => html`<${Note} note=${note} fresh=${fresh.has(note.note_id)} choose=${choose} />`} />
  </${Panel}>`;
}

export default function Space({ params: { space }, query }) {
  const info = useLive(at('spaces', space), { every: 3 * LATEST });
  const known = useKnown(info.data, info.refresh);
  return html`
    <${Heading} title=${space} above=${info.data?.description && html`<${Words} text=${info.data.description} />`} />
    <${NoModel} />
    ${!info.data && html`<${ProblemNote} problem=${info.problem} again=${info.refresh} />`}
    ${(info.data || !info.problem) && html`<div class="columns memory-view">
      <div>
        <${Holds} space=${info.data} known=${known} />
        ${may('write') && html`<${NewNote} space=${space} done=${() => [info.refresh(), info.again()]} />`}
        <${Timeline} space=${space} query=${query} info=${info} />
      </div>
      ${info.data && html`<aside><${Changed} space=${info.data} known=${known} /><${Open} space=${info.data} known=${known} /><${Work} space=${info.data} refresh=${info.refresh} /></aside>`}
    </div>`}`;
}

const WHILE_AT_WORK = 1000;
const AT_REST = 5000;

/** The notes that no file has yet, and what the next consolidation waits for, as the service says it. */
function Waiting({ space, run, refresh }) {
  const { why, notes_missing: n, not_before: then, detail } = space.waiting.next_run;
  const [start, starting] = useAction(async (body) => {
    const { job } = await post(at('spaces', space.space_id, 'consolidations'), body);
    go('run', { space: space.space_id, run: nameIn(job) });
  });
  const [resume, resuming] = useAction(async () => {
    await patch(at('spaces', space.space_id), { auto_paused: false });
    refresh();
  });
  return html`<${Panel} title=${t('due.title')}>
    <p class="big-number"><b>${number(space.waiting.notes_count)}${space.waiting.exact ? '' : '+'}</b> <span class="quiet">${t('due.what')}</span></p>
    <p>${t(`next.${why}.what`, { n: n ?? 0, detail: detail ?? '' })} ${then && html`<${Time} at=${then} />`}</p>
    ${space.waiting.oldest_note_at && html`<p class="quiet">${t('start.oldest')} <${Time} at=${space.waiting.oldest_note_at} /></p>`}
    ${space.pending_plan && html`<p><a class="button" href=${href('review', { space: space.space_id, run: nameIn(space.pending_plan.job) })}>${t('due.read.plan', { n: space.pending_plan.notes_count })}</a></p>`}
    <${ProblemNote} problem=${starting.problem ?? resuming.problem} />
    ${may('write') && !goes(run ?? {}) && html`<div class="actions">
      ${space.auto_paused && html`<button onClick=${resume} disabled=${resuming.busy}>${t('due.resume')}</button>`}
      ${space.live.notes_count > 0 && !space.pending_plan && html`<button onClick=${() => start({})} disabled=${starting.busy}>${t('due.start')}</button>`}
      ${space.live.notes_count > 0 && html`<button onClick=${() => start({ dry_run: true })} disabled=${starting.busy}>${t('due.dry')}</button>`}
    </div>`}
  </${Panel}>`;
}

function LastRun({ run }) {
  return html`<${Panel} title=${goes(run) ? t('run.now') : t('run.last')} side=${html`<${RunBadge} run=${run} />`}>
    ${goes(run) && html`<${Steps} run=${run} />`}
    <${RunProblem} run=${run} />
    <p class="row"><a href=${href('run', { space: run.space_id, run: run.id })}><${Time} at=${run.created_at} /></a> <${RunNumbers} run=${run} /></p>
  </${Panel}>`;
}

/** The work on a space: what waits for whom, and the run at work, or how the last one failed. */
function Work({ space, refresh }) {
  const id = space.space_id;
  const runs = useLive('/v1/jobs', { query: { space_id: id, kind: 'consolidation', limit: 1 }, every: AT_REST });
  const last = runs.data?.items[0];
  const watched = useLive(last && goes(last) ? at('jobs', last.job) : undefined, { every: WHILE_AT_WORK });
  const present = watched.data ?? last;
  const shown = present && flat(present);
  const working = Boolean(shown && goes(shown));
  const before = useRef(working);
  useEffect(() => {
    if (before.current && !working) refresh();
    before.current = working;
  }, [working]);
  return html`<${Waiting} space=${space} run=${shown} refresh=${refresh} />
    ${shown && shown.status !== 'done' && html`<${LastRun} run=${shown} />`}
    ${space.consolidation_mode === 'review' && html`<p class="quiet"><${Badge}>${t('mode.review')}</${Badge}></p>`}`;
}
