/** A plan that waits for a person: read it as a diff, approve it, or refuse it with a reason. */
import { at, post } from '../core/api.js';
import { useAction, useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { number, t } from '../core/texts.js';
import { Answer, Empty, Facts, Heading, Panel, ProblemNote, Time } from '../parts/basic.js';
import { canCorrect } from '../parts/corrections.js';
import { confirm } from '../parts/dialog.js';
import { PlanBody } from '../parts/plan.js';
import { toast } from '../parts/toast.js';
import { html } from '../vendor/preact.js';

function Decision({ space, plan, refresh }) {
  const path = at('spaces', space, 'runs', plan.run_id, 'plan');
  const [approve, approving] = useAction(async () => {
    try {
      const change = await post(`${path}/approve`, { plan_revision: plan.plan_revision });
      toast({ text: t('review.approved', { n: change.number }), tone: 'good' });
      go('change', { space, number: change.number });
    } catch (problem) {
      refresh();
      throw problem;
    }
  });
  const refuse = async () => {
    const run = await confirm({ title: t('review.refuse.title'), body: html`<p>${t('review.refuse.what')}</p>`, yes: t('review.refuse.yes'), reason: 'optional', act: (reason) => post(`${path}/refuse`, { reason }) });
    if (run) go('space', { space });
  };
  return html`<div class="decision">
    <${ProblemNote} problem=${approving.problem} />
    <div class="actions"><button class="main" onClick=${approve} disabled=${approving.busy || plan.outdated}>${approving.busy ? t('working') : t('review.approve')}</button>
      <button onClick=${refuse}>${t('review.refuse')}</button>
      <span class="quiet">${t('review.exactly')}</span></div>
  </div>`;
}

export default function Review({ params: { space, run } }) {
  const live = useLive(at('spaces', space, 'runs', run, 'plan'), { every: 10_000 });
  const info = useLive(at('spaces', space));
  const gone = live.problem?.code === 'plan_not_found';
  return html`<${Heading} title=${t('review.title')} above=${html`<a href=${href('space', { space })}>${space}</a>`} />
    ${gone ? html`<${Empty} title=${t('review.gone')}><p><a href=${href('run', { space, run })}>${t('review.gone.do')}</a></p></${Empty}>` : html`
    <${Answer} live=${live} lines=${8}>${(plan) => html`
      ${plan.outdated && html`<div class="problem passing"><p class="what">${t('problem.plan_outdated.what')}</p><p>${t('review.outdated.do')}</p></div>`}
      <${Panel}><${Facts} items=${[
        [t('review.planned'), html`<${Time} at=${plan.planned_at} />`],
        [t('review.becomes'), t('start.change', { n: plan.number })],
        [t('fact.model'), plan.model],
        [t('fact.notes'), number(plan.notes_count)],
        [t('fact.tokens'), plan.metrics?.llm_tokens_used && number(plan.metrics.llm_tokens_used)],
      ]} />
      ${info.data && (canCorrect(info.data) ? html`<${Decision} space=${space} plan=${plan} refresh=${live.refresh} />` : html`<p class="quiet">${t('review.not.allowed')}</p>`)}</${Panel}>
      <${PlanBody} plan=${plan} />`}</${Answer}>`}`;
}
