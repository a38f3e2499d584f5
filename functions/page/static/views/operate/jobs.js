/** Work of all kinds: what waits, what is at work, what failed and why, and another try. */
import { at, post } from '../../core/api.js';
import { between } from '../../core/format.js';
import { useLive } from '../../core/live.js';
import { usePages } from '../../core/pages.js';
import { changeQuery, href } from '../../core/router.js';
import { may } from '../../core/session.js';
import { has, number, t } from '../../core/texts.js';
import { Badge, Empty, Panel, Time, Words } from '../../parts/basic.js';
import { Field } from '../../parts/field.js';
import { PagedList } from '../../parts/list.js';
import { toast } from '../../parts/toast.js';
import { html } from '../../vendor/preact.js';

const KINDS = ['consolidation', 'summaries', 'digest', 'question', 'backup', 'export', 'restore', 'fork', 'import', 'erasure'];
const TONES = { done: 'good', failed: 'bad', running: 'accent', queued: 'accent', cancelled: '' };
/** What starts the same work again, by the kind of its job. A kind that is not here goes on by itself, or is ordered in its own view. */
const AGAIN = {
  consolidation: (job) => post(at('spaces', job.space_id, 'consolidations')),
  digest: (job) => post(at('spaces', job.space_id, 'digests')),
  backup: (job) => post(at('spaces', job.space_id, 'backups')),
};

function linkOf(job) {
  const id = job.job.split('.').slice(2).join('.');
  if (job.kind === 'consolidation') return href('run', { space: job.space_id, run: id });
  if (job.kind === 'digest') return href('digest', { space: job.space_id, slot: job.subject ?? id });
  if (job.kind === 'erasure') return href('erasure', { space: job.space_id, erasure: id });
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
    toast({ text: problem.detail || problem.message, tone: 'bad' });
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
    ${job.error && html`<p class="quiet">${has(`run.error.${job.error.code}`) ? t(`run.error.${job.error.code}`) : job.error.code} <${Words} text=${job.error.detail} /></p>`}`;
}

export function Jobs({ query }) {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  const space = query.space ?? ids[0];
  const list = usePages(space && at('spaces', space, 'jobs'), { query: { kind: query.kind }, every: 4000, idOf: (job) => job.job, limit: 30 });
  const shown = query.status ? { ...list, pages: list.pages.map((page) => page.filter((job) => job.status === query.status)) } : list;
  return html`<div class="filters">
      <${Field} label=${t('nav.choose')} value=${space ?? ''} onChange=${(id) => changeQuery({ space: id })} options=${ids.map((id) => [id, id])} />
      <${Field} label=${t('jobs.kind')} value=${query.kind ?? ''} onChange=${(kind) => changeQuery({ kind })} options=${[['', t('filter.any')], ...KINDS.filter((kind) => kind !== 'summaries').map((kind) => [kind, t(`jobkind.${kind}`)])]} />
      <${Field} label=${t('jobs.status')} value=${query.status ?? ''} onChange=${(status) => changeQuery({ status })} options=${[['', t('filter.any')], ...Object.keys(TONES).map((status) => [status, t(`job.${status}`)])]} />
    </div>
    <${Panel}><${PagedList} list=${shown} idOf=${(job) => `${job.job} ${job.status} ${job.progress?.done ?? ''}`} row=${(job) => html`<${Job} job=${job} refresh=${list.refresh} />`} empty=${html`<${Empty} title=${t('jobs.none')} />`} /></${Panel}>`;
}
