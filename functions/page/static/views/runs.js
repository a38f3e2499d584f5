/** One run: its steps, what it did or would do, why it failed; and the plan of one that waits for a person. */
import { at, post } from '../core/api.js';
import { flat, goes, jobAt } from '../core/jobs.js';
import { useAction, useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { canCorrect } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { Answer, Copy, Empty, Facts, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { confirm } from '../parts/dialog.js';
import { nameOf, PlanBody, RunBadge, RunNumbers, RunProblem, Steps } from '../parts/records.js';
import { toast } from '../parts/toast.js';
import { html } from '../vendor/preact.js';

/** A run that has ended, and waits for nobody, stays as it is. */
const paceOf = (run) => (!run || goes(run) ? 800 : run.status === 'waiting' && 10_000);

/** What is left live, was set aside or removed, with its number. */
const LEFT = ['notes_remaining', 'notes_oversized', 'notes_left_out', 'notes_uncited', 'notes_discarded', 'files_tidied', 'lines_removed', 'warnings'];

function Ended({ space, run }) {
  const metrics = run.metrics ?? {};
  return html`<${Facts} items=${[
    [t('run.started.by'), has(`trigger.${run.trigger}`) ? t(`trigger.${run.trigger}`) : run.trigger],
    [t('fact.queued'), html`<${Time} at=${run.created_at} exact=${true} />`],
    [t('fact.ended'), run.ended_at && html`<${Time} at=${run.ended_at} exact=${true} />`],
    [t('fact.model'), run.model],
    [t('fact.change'), run.consolidation && html`<a href=${href('change', { space, number: run.consolidation })}>${run.consolidation}</a>`],
    [t('fact.decided'), run.decided_by && html`${run.decided_by}, <${Time} at=${run.decided_at} />`],
    [t('fact.message'), (run.message ?? (run.code && run.error?.detail)) && html`<${Words} text=${run.message ?? run.error.detail} />`],
    ...LEFT.map((name) => [t(`left.${name}`), metrics[name] > 0 && number(metrics[name])]),
    [t('fact.job'), html`<${Copy} text=${run.job} />`],
  ]} />`;
}

export function Run({ params: { space, run: id } }) {
  const live = useLive(jobAt(space, 'consolidation', id), { every: paceOf });
  return html`<${Answer} live=${live} lines=${6}>${(job) => {
    const run = flat(job);
    return html`<${Heading} title=${nameOf(run)} above=${html`<a href=${href('space', { space })}>${space}</a>`}><${RunBadge} run=${run} /></${Heading}>
    ${run.dry_run && html`<p class="lead">${t('run.dry.what')}</p>`}
    <${RunProblem} run=${run} />
    <${Panel}>${goes(run) && html`<${Steps} run=${run} />`}<p><${RunNumbers} run=${run} /></p><${Ended} space=${space} run=${run} />
      ${run.status === 'waiting' && html`<p><a class="button" href=${href('review', { space, run: id })}>${t('due.read.plan', { n: run.metrics?.notes_processed ?? 0 })}</a></p>`}</${Panel}>
    ${run.plan && html`<${PlanBody} plan=${run.plan} />`}`;
  }}</${Answer}>`;
}

function Decision({ space, job, plan, refresh }) {
  const decide = (how, body) => post(at('spaces', space, 'plan', how), { job, ...body });
  const [approve, approving] = useAction(async () => {
    try {
      const change = await decide('approve', { plan_revision: plan.plan_revision });
      toast({ text: t('review.approved', { n: change.number }), tone: 'good' });
      go('change', { space, number: change.number });
    } catch (problem) {
      refresh();
      throw problem;
    }
  });
  const refuse = async () => {
    const run = await confirm({ title: t('review.refuse.title'), body: html`<p>${t('review.refuse.what')}</p>`, yes: t('review.refuse.yes'), reason: 'optional', act: (reason) => decide('refuse', { reason }) });
    if (run) go('space', { space });
  };
  return html`<div class="verdict">
    <${ProblemNote} problem=${approving.problem} />
    <div class="actions"><button class="main" onClick=${approve} disabled=${approving.busy || plan.outdated}>${approving.busy ? t('working') : t('review.approve')}</button>
      <button onClick=${refuse}>${t('review.refuse')}</button>
      <span class="quiet">${t('review.exactly')}</span></div>
  </div>`;
}

export function Review({ params: { space, run } }) {
  const live = useLive(jobAt(space, 'consolidation', run), { every: 10_000 });
  const info = useLive(at('spaces', space));
  const gone = live.problem?.code === 'job_not_found' || (live.data && !live.data.result.pending_plan);
  return html`<${Heading} title=${t('review.title')} above=${html`<a href=${href('space', { space })}>${space}</a>`} />
    ${gone ? html`<${Empty} title=${t('review.gone')}><p><a href=${href('run', { space, run })}>${t('review.gone.do')}</a></p></${Empty}>` : html`
    <${Answer} live=${live} lines=${8}>${({ job, result: { pending_plan: plan, model, metrics } }) => html`
      ${plan.outdated && html`<div class="problem passing"><p class="what">${t('problem.plan_outdated.what')}</p><p>${t('review.outdated.do')}</p></div>`}
      <${Panel}><${Facts} items=${[
        [t('review.planned'), html`<${Time} at=${plan.planned_at} />`],
        [t('review.becomes'), t('start.change', { n: plan.number })],
        [t('fact.model'), model],
        [t('fact.notes'), number(plan.sources.length)],
        [t('fact.tokens'), metrics?.llm_tokens_used && number(metrics.llm_tokens_used)],
      ]} />
      ${info.data && (canCorrect(info.data) ? html`<${Decision} space=${space} job=${job} plan=${plan} refresh=${live.refresh} />` : html`<p class="quiet">${t('review.not.allowed')}</p>`)}</${Panel}>
      <${PlanBody} plan=${plan} />`}</${Answer}>`}`;
}
