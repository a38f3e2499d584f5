/** A space now: new notes as they come; beside them what waits for whom, the run at work, the last changes and the files. */
import { at, patch, post } from '../core/api.js';
import { bytes } from '../core/format.js';
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
import { PagedList } from '../parts/list.js';
import { Note } from '../parts/notes.js';
import { ChangeLine, RunBadge, RunNumbers, RunProblem, Steps } from '../parts/records.js';
import { Connect } from '../parts/service.js';
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

function Timeline({ space, query }) {
  const filters = { status: query.status, category: query.category, agent: query.agent, tag: query.tag, since: dayStart(query.since), until: dayEnd(query.until) };
  const list = usePages(at('spaces', space, 'notes'), { query: filters, every: LATEST, idOf });
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
    : html`<${Empty} title=${t('notes.none')}><p>${t('notes.none.what')} <a href=${href('history', { space })}>${t('nav.history')}</a></p><details class="connect-more"><summary>${t('start.connect')}</summary><${Connect} space=${space} /></details></${Empty}>`;
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
  return html`
    <${Heading} title=${space} above=${info.data?.description && html`<${Words} text=${info.data.description} />`} />
    ${!info.data && html`<${ProblemNote} problem=${info.problem} again=${info.refresh} />`}
    ${(info.data || !info.problem) && html`<div class="columns">
      <div>
        ${may('write') && html`<${NewNote} space=${space} done=${info.refresh} />`}
        <${Timeline} space=${space} query=${query} />
      </div>
      ${info.data && html`<${SpaceSide} space=${info.data} refresh=${info.refresh} />`}
    </div>`}`;
}

const WHILE_AT_WORK = 1000;
const AT_REST = 5000;
/** Of what follows a change of the space, and is asked for at once then. */
const BY_CHANGE = 60_000;

/** What the next consolidation waits for, as the service says it. */
function Due({ space }) {
  const { why, notes_missing: n, not_before: then, detail } = space.waiting.next_run;
  return html`<p>${t(`next.${why}.what`, { n: n ?? 0, detail: detail ?? '' })} ${then && html`<${Time} at=${then} />`}</p>`;
}

function Meter({ space }) {
  const full = Math.min(1, space.live.notes_count / Math.max(1, space.consolidation_threshold));
  return html`<meter class="meter" min="0" max="1" value=${full} aria-label=${t('due.title')}></meter>`;
}

function Waiting({ space, run, refresh }) {
  const [start, starting] = useAction(async (body) => {
    const { job } = await post(at('spaces', space.space_id, 'consolidations'), body);
    go('run', { space: space.space_id, run: nameIn(job) });
  });
  const [resume, resuming] = useAction(async () => {
    await patch(at('spaces', space.space_id), { auto_paused: false });
    refresh();
  });
  return html`<${Panel} title=${t('due.title')}>
    <p class="big-number"><b>${number(space.waiting.notes_count)}${space.waiting.exact ? '' : '+'}</b> <span class="quiet">${t('due.of', { n: space.consolidation_threshold })}</span></p>
    <${Meter} space=${space} /><${Due} space=${space} />
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

/** The length of the bank beside the one that it should have, and the runs that shorten it. */
function Length({ space, run, refresh }) {
  const { bank_chars: wanted, bank_length: length, tidied, tidy_paused: paused } = space;
  const [start, starting] = useAction(async (body) => {
    const { job } = await post(at('spaces', space.space_id, 'consolidations'), { tidy: true, ...body });
    go('run', { space: space.space_id, run: nameIn(job) });
  });
  const [resume, resuming] = useAction(async () => {
    await patch(at('spaces', space.space_id), { tidy_paused: false });
    refresh();
  });
  return html`<p class="quiet">${length === undefined ? t('length.unknown', { wanted }) : t('length.of', { n: length, wanted })} ${tidied && html`${t('length.tidied')} <${Time} at=${tidied.at} />`}</p>
    ${paused && html`<p class="quiet">${t('length.paused')}</p>`}
    <${ProblemNote} problem=${starting.problem ?? resuming.problem} />
    ${may('write') && !goes(run ?? {}) && html`<div class="actions">
      ${paused && html`<button onClick=${resume} disabled=${resuming.busy}>${t('due.resume')}</button>`}
      ${!space.pending_plan && !(length <= wanted) && html`<button onClick=${() => start({})} disabled=${starting.busy}>${t('length.shorten')}</button>`}
      ${!(length <= wanted) && html`<button onClick=${() => start({ dry_run: true })} disabled=${starting.busy}>${t('due.dry')}</button>`}
    </div>`}`;
}

function Files({ space, run, refresh }) {
  return html`<${Panel} title=${t('nav.bank')} side=${bytes(space.bank.total_size)}>
    <ul class="rows tight">${space.bank.files.map((file) => html`<li key=${file.path} class="row"><a class="grow" href=${href('file', { space: space.space_id, rest: file.path })}>${file.path}</a><span class="quiet"><${Time} at=${file.last_modified} form="short" /></span></li>`)}</ul>
    ${space.bank.files.length === 0 ? html`<p class="quiet">${t('bank.none')}</p>` : space.bank_chars > 0 && html`<${Length} space=${space} run=${run} refresh=${refresh} />`}
  </${Panel}>`;
}

function SpaceSide({ space, refresh }) {
  const id = space.space_id;
  const runs = useLive('/v1/jobs', { query: { space_id: id, kind: 'consolidation', limit: 1 }, every: AT_REST });
  const last = runs.data?.items[0];
  const watched = useLive(last && goes(last) ? at('jobs', last.job) : undefined, { every: WHILE_AT_WORK });
  const changes = useLive(at('spaces', id, 'consolidations'), { query: { limit: 3 }, every: BY_CHANGE });
  const present = watched.data ?? last;
  const shown = present && flat(present);
  const working = Boolean(shown && goes(shown));
  const known = useRef({ number: space.changes, working });
  useEffect(() => {
    if (known.current.number !== space.changes) changes.refresh();
    if (known.current.working && !working) refresh();
    known.current = { number: space.changes, working };
  }, [space.changes, working]);
  return html`<aside>
    <${Waiting} space=${space} run=${shown} refresh=${refresh} />
    ${shown && html`<${LastRun} run=${shown} />`}
    ${changes.data?.items.length > 0 && html`<${Panel} title=${t('changes.last')} side=${html`<a href=${href('history', { space: id })}>${t('changes.all')}</a>`}>
      <ul class="rows tight">${changes.data.items.map((change) => html`<li key=${change.number}><${ChangeLine} space=${id} change=${change} /></li>`)}</ul></${Panel}>`}
    <${Files} space=${space} run=${shown} refresh=${refresh} />
    ${space.consolidation_mode === 'review' && html`<p class="quiet"><${Badge}>${t('mode.review')}</${Badge}></p>`}
  </aside>`;
}
