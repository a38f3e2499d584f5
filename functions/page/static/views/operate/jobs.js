/** Long work: what waits and failed in all spaces, and the jobs of one of them, with another try. */
import { at, post } from '../../core/api.js';
import { between } from '../../core/format.js';
import { nameIn } from '../../core/jobs.js';
import { useLive } from '../../core/live.js';
import { usePages } from '../../core/pages.js';
import { changeQuery, href } from '../../core/router.js';
import { may } from '../../core/session.js';
import { has, number, t } from '../../core/texts.js';
import { Answer, Badge, Empty, Panel, ProblemNote, Time } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { PagedList } from '../../parts/list.js';
import { errorOf } from '../../parts/records.js';
import { toast, toastProblem } from '../../parts/toast.js';
import { html } from '../../vendor/preact.js';

const MOST = 200;
const EVERY = 15_000;

const KINDS = ['consolidation', 'summaries', 'digest', 'question', 'backup', 'export', 'restore', 'fork', 'import', 'erasure'];
const TONES = { done: 'good', failed: 'bad', running: 'accent', queued: 'accent', waiting: 'warn', cancelled: '' };
/** What starts the same work again, by the kind of its job. A kind that is not here goes on by itself, or is ordered in its own view. */
const AGAIN = {
  consolidation: (job) => post(at('spaces', job.space_id, 'consolidations')),
  digest: (job) => post(at('spaces', job.space_id, 'digests')),
  backup: (job) => post(at('spaces', job.space_id, 'backups')),
};

function linkOf(job) {
  const id = nameIn(job.job);
  if (job.kind === 'consolidation') return href('run', { space: job.space_id, run: id });
  if (job.kind === 'digest') return href('digest', { space: job.space_id, slot: job.subject ?? id });
  if (job.kind === 'erasure') return href('erasure', { space: job.space_id, job: job.job });
  if (job.kind === 'backup') return href('operatePart', { part: 'backups' }, { space: job.space_id });
  if (job.kind === 'summaries' && job.subject) return href('conversation', { space: job.space_id, conversation: job.subject });
  return undefined;
}

async function again(job, refresh) {
  try {
    await AGAIN[job.kind](job);
    toast({ text: t('jobs.again.done'), tone: 'good' });
    refresh();
  } catch (problem) {
    toastProblem(problem);
  }
}

function Job({ job, refresh }) {
  const link = linkOf(job);
  const name = has(`jobkind.${job.kind}`) ? t(`jobkind.${job.kind}`) : job.kind;
  const tokens = job.usage.prompt_tokens + job.usage.completion_tokens;
  return html`<div class="row">
      ${link ? html`<a class="grow" href=${link}>${name}</a>` : html`<span class="grow">${name}</span>`}
      <a class="quiet" href=${href('space', { space: job.space_id })}>${job.space_id}</a>
      ${job.progress && job.status === 'running' && html`<span class="quiet">${job.progress.total ? `${number(job.progress.done)} / ${number(job.progress.total)}` : number(job.progress.done)}</span>`}
      ${tokens > 0 && html`<span class="quiet">${t('run.tokens', { n: tokens })}</span>`}
      <span class="quiet">${between(job.started_at, job.ended_at)}</span>
      <span class="quiet"><${Time} at=${job.created_at} /></span>
      <${Badge} tone=${TONES[job.status]}>${t(`job.${job.status}`)}</${Badge}>
      ${job.status === 'failed' && AGAIN[job.kind] && may('write') && html`<button class="plain" onClick=${() => again(job, refresh)}>${t('try.again')}</button>`}
    </div>
    ${job.error && html`<p class="quiet">${errorOf(job)}</p>`}`;
}

function OfSpace({ space, query }) {
  const list = usePages('/v1/jobs', { query: { space_id: space, kind: query.kind, state: query.status }, every: 4000, idOf: (job) => job.job, limit: 30 });
  return html`<div class="filters">
      <${Field} label=${t('jobs.kind')} value=${query.kind ?? ''} onChange=${(kind) => changeQuery({ kind })} options=${[['', t('filter.any')], ...KINDS.filter((kind) => kind !== 'summaries').map((kind) => [kind, t(`jobkind.${kind}`)])]} />
      <${Field} label=${t('jobs.status')} value=${query.status ?? ''} onChange=${(status) => changeQuery({ status })} options=${[['', t('filter.any')], ...Object.keys(TONES).map((status) => [status, t(`job.${status}`)])]} />
    </div>
    <${Panel}><${PagedList} list=${list} idOf=${(job) => job.job} row=${(job) => html`<${Job} job=${job} refresh=${list.refresh} />`} empty=${html`<${Empty} title=${t('jobs.none')} />`} /></${Panel}>`;
}

/** In which order the reasons matter to whoever looks after the service. The other reasons are those of a space at rest. */
const WAITS = ['after_failure', 'paused', 'review', 'held', 'running', 'queued', 'due'];
const WAIT_TONES = { after_failure: 'bad', paused: 'warn', review: 'warn', due: '' };

function Waits({ space, refresh }) {
  const { notes_count: notes, oldest_note_at: oldest, next_run: next } = space.waiting;
  const run = next.run_id && href(next.why === 'review' ? 'review' : 'run', { space: space.space_id, run: next.run_id });
  const said = t(`next.${next.why}.what`, { detail: next.detail ?? '' });
  return html`<li class="row"><a href=${href('space', { space: space.space_id })}>${space.space_id}</a>
    <span class="grow quiet">${run ? html`<a href=${run}>${said}</a>` : said}${next.not_before && html` <${Time} at=${next.not_before} />`}</span>
    ${notes > 0 && html`<span>${t('start.notes', { n: notes })}</span>`}${oldest && html`<span class="quiet" title=${t('start.oldest')}><${Time} at=${oldest} /></span>`}
    <${Badge} tone=${WAIT_TONES[next.why] ?? 'accent'}>${has(`next.${next.why}`) ? t(`next.${next.why}`) : t('jobs.waits')}</${Badge}>
    ${next.why === 'after_failure' && may('write') && html`<button class="plain" onClick=${() => again({ kind: 'consolidation', space_id: space.space_id }, refresh)}>${t('try.again')}</button>`}</li>`;
}

/** What waits in all spaces that the token may see: one answer, which says of each what its next consolidation waits for. */
function OfAll() {
  const live = useLive('/v1/spaces', { query: { limit: MOST, waiting: true }, every: EVERY });
  return html`<${Answer} live=${live} lines=${6}>${({ items, next_cursor: more }) => {
    const count = (...whys) => items.filter((one) => whys.includes(one.waiting.next_run.why)).length;
    const oldest = items.map((one) => one.waiting.oldest_note_at).filter(Boolean).sort()[0];
    const shown = items.filter((one) => WAITS.includes(one.waiting.next_run.why)).sort((one, two) => WAITS.indexOf(one.waiting.next_run.why) - WAITS.indexOf(two.waiting.next_run.why));
    const totals = [['after_failure', count('after_failure')], ['work', count('running', 'queued', 'held')], ['review', count('review')], ['notes', items.reduce((sum, one) => sum + one.waiting.notes_count, 0)]];
    return html`<${Panel} title=${t('jobs.all')} side=${t('start.count', { n: items.length, plus: more ? '+' : '' })}>
      <ul class="totals">${totals.map(([name, n]) => html`<li key=${name} class=${name === 'after_failure' && n ? 'bad-number' : ''}><b>${number(n)}</b><span>${t(`jobs.total.${name}`)}</span></li>`)}
        ${oldest && html`<li><b><${Time} at=${oldest} /></b><span>${t('start.oldest')}</span></li>`}</ul>
      ${shown.length ? html`<ul class="rows">${shown.map((space) => html`<${Waits} key=${space.space_id} space=${space} refresh=${live.refresh} />`)}</ul>` : html`<${Empty} title=${t('jobs.all.none')} />`}
      ${more && html`<p class="quiet">${t('jobs.all.more', { n: MOST })}</p>`}
      <p class="hint">${t('jobs.all.what')} <a href=${href('operatePart', { part: 'health' })}>${t('ops.health')}</a></p></${Panel}>`;
  }}</${Answer}>`;
}

export function Jobs({ query }) {
  const spaces = useLive('/v1/spaces', { query: { limit: MOST } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  return html`<div class="filters"><${Field} label=${t('nav.choose')} value=${query.space ?? ''} onChange=${(space) => changeQuery({ space })} options=${[['', t('usage.all')], ...ids.map((id) => [id, id])]} /></div>
    <${ProblemNote} problem=${spaces.problem} again=${spaces.refresh} />
    ${query.space ? html`<${OfSpace} key=${query.space} space=${query.space} query=${query} />` : html`<${OfAll} />`}`;
}
