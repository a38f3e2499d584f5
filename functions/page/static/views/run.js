/** One run: its steps while it works, what it did, what it would do (a dry run), or why it failed. */
import { at } from '../core/api.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { Answer, Copy, Facts, Heading, Panel, Time } from '../parts/basic.js';
import { PlanBody } from '../parts/plan.js';
import { RunBadge, RunNumbers, RunProblem, Steps, goes } from '../parts/runs.js';
import { html } from '../vendor/preact.js';

const WHILE_AT_WORK = 800;

/** What is left live, or was set aside, with its number. */
const LEFT = ['notes_remaining', 'notes_oversized', 'notes_left_out', 'notes_uncited', 'notes_discarded'];

function Ended({ space, run }) {
  const metrics = run.metrics ?? {};
  return html`<${Facts} items=${[
    [t('run.started.by'), has(`trigger.${run.trigger}`) ? t(`trigger.${run.trigger}`) : run.trigger],
    [t('fact.queued'), html`<${Time} at=${run.queued_at} exact=${true} />`],
    [t('fact.ended'), run.finished_at && html`<${Time} at=${run.finished_at} exact=${true} />`],
    [t('fact.model'), run.model],
    [t('fact.change'), run.consolidation && html`<a href=${href('change', { space, number: run.consolidation })}>${run.consolidation}</a>`],
    [t('fact.decided'), run.decided_by && html`${run.decided_by}, <${Time} at=${run.decided_at} />`],
    [t('fact.message'), run.message],
    ...LEFT.map((name) => [t(`left.${name}`), metrics[name] > 0 && number(metrics[name])]),
    [t('fact.job'), html`<${Copy} text=${run.job} />`],
  ]} />`;
}

export default function Run({ params: { space, run: id } }) {
  const live = useLive(at('spaces', space, 'runs', id), { every: WHILE_AT_WORK });
  return html`<${Answer} live=${live} lines=${6}>${(run) => html`
    <${Heading} title=${run.dry_run ? t('run.dry') : t('run.one')} above=${html`<a href=${href('space', { space })}>${space}</a>`}><${RunBadge} run=${run} /></${Heading}>
    ${run.dry_run && html`<p class="lead">${t('run.dry.what')}</p>`}
    <${RunProblem} run=${run} />
    <${Panel}>${goes(run) && html`<${Steps} run=${run} />`}<p><${RunNumbers} run=${run} /></p><${Ended} space=${space} run=${run} />
      ${run.status === 'awaiting_approval' && html`<p><a class="button" href=${href('review', { space, run: id })}>${t('due.read.plan', { n: run.metrics?.notes_processed ?? 0 })}</a></p>`}</${Panel}>
    ${run.plan && html`<${PlanBody} plan=${run.plan} />`}`}</${Answer}>`;
}
