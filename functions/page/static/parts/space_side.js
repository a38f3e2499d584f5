/** Beside the notes: what waits for whom, the run at work, the last changes and the files. */
import { at, patch, post } from '../core/api.js';
import { bytes } from '../core/format.js';
import { useAction, useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { Badge, Panel, ProblemNote, Time } from './basic.js';
import { ChangeLine } from './changes.js';
import { RunBadge, RunNumbers, RunProblem, Steps, goes } from './runs.js';

const WHILE_AT_WORK = 1000;
const AT_REST = 5000;

/** When the next consolidation comes, as far as the space itself says it. */
function Due({ space }) {
  const missing = Math.max(0, space.consolidation_threshold - space.live.notes_count);
  if (space.pending_plan) return html`<p>${t('due.plan')}</p>`;
  if (space.auto_paused) return html`<p>${t('due.paused')}</p>`;
  return html`<p>${missing > 0 ? t('due.missing', { n: missing }) : t('due.now')}</p>`;
}

function Meter({ space }) {
  const full = Math.min(1, space.live.notes_count / Math.max(1, space.consolidation_threshold));
  return html`<meter class="meter" min="0" max="1" value=${full} aria-label=${t('due.title')}></meter>`;
}

function Waiting({ space, run, refresh }) {
  const [start, starting] = useAction(async (body) => {
    const { run_id: id } = await post(at('spaces', space.space_id, 'consolidations'), body);
    go('run', { space: space.space_id, run: id });
  });
  const [resume, resuming] = useAction(async () => {
    await patch(at('spaces', space.space_id), { auto_paused: false });
    refresh();
  });
  return html`<${Panel} title=${t('due.title')}>
    <p class="big-number"><b>${number(space.live.notes_count)}</b> <span class="quiet">${t('due.of', { n: space.consolidation_threshold })}</span></p>
    <${Meter} space=${space} /><${Due} space=${space} />
    ${space.pending_plan && html`<p><a class="button" href=${href('review', { space: space.space_id, run: space.pending_plan.run_id })}>${t('due.read.plan', { n: space.pending_plan.notes_count })}</a></p>`}
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
    <p class="row"><a href=${href('run', { space: run.space_id, run: run.run_id })}><${Time} at=${run.queued_at} /></a> <${RunNumbers} run=${run} /></p>
  </${Panel}>`;
}

function Files({ space }) {
  return html`<${Panel} title=${t('nav.bank')} side=${bytes(space.bank.total_size)}>
    <ul class="rows tight">${space.bank.files.map((file) => html`<li key=${file.path} class="row"><a class="grow" href=${href('file', { space: space.space_id, rest: file.path })}>${file.path}</a><span class="quiet"><${Time} at=${file.last_modified} style="short" /></span></li>`)}</ul>
    ${space.bank.files.length === 0 && html`<p class="quiet">${t('bank.none')}</p>`}
  </${Panel}>`;
}

export function SpaceSide({ space, refresh }) {
  const id = space.space_id;
  const runs = useLive(at('spaces', id, 'runs'), { query: { limit: 1 }, every: AT_REST });
  const run = runs.data?.items[0];
  const watched = useLive(run && goes(run) ? at('spaces', id, 'runs', run.run_id) : undefined, { every: WHILE_AT_WORK });
  const changes = useLive(at('spaces', id, 'consolidations'), { query: { limit: 3 }, every: AT_REST });
  const shown = watched.data ?? run;
  return html`<aside>
    <${Waiting} space=${space} run=${shown} refresh=${refresh} />
    ${shown && html`<${LastRun} run=${shown} />`}
    ${changes.data?.items.length > 0 && html`<${Panel} title=${t('changes.last')} side=${html`<a href=${href('history', { space: id })}>${t('changes.all')}</a>`}>
      <ul class="rows tight">${changes.data.items.map((change) => html`<li key=${change.number}><${ChangeLine} space=${id} change=${change} /></li>`)}</ul></${Panel}>`}
    <${Files} space=${space} />
    ${space.consolidation_mode === 'review' && html`<p class="quiet"><${Badge}>${t('mode.review')}</${Badge}></p>`}
  </aside>`;
}
