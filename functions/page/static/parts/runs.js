/** Runs: what they do, how they ended, what they cost. */
import { between } from '../core/format.js';
import { href } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { Badge, Time, Words } from './basic.js';

const TONES = { ok: 'good', error: 'bad', awaiting_approval: 'warn', running: 'accent', queued: 'accent', busy: 'warn' };
const STEPS = ['queued', 'collecting', 'asking', 'applying'];

export const goes = (run) => run.status === 'queued' || run.status === 'running';

export const RunBadge = ({ run }) => html`<${Badge} tone=${TONES[run.status] ?? ''}>${has(`run.${run.status}`) ? t(`run.${run.status}`) : run.status}</${Badge}>`;

/** A run in progress: which of its steps are done, and which one it is in. */
export function Steps({ run }) {
  const present = run.status === 'queued' ? 0 : Math.max(1, STEPS.indexOf(run.step ?? 'collecting'));
  return html`<ol class="steps" aria-label=${t('run.steps')}>
    ${STEPS.map((step, index) => html`<li key=${step} class=${index < present ? 'done' : index === present ? 'present' : ''} aria-current=${index === present ? 'step' : undefined}>${t(`step.${step}`)}</li>`)}
  </ol>`;
}

export function RunProblem({ run }) {
  if (!run.error) return null;
  const { code, detail } = run.error;
  return html`<div class="problem"><p class="what">${has(`run.error.${code}`) ? t(`run.error.${code}`) : t('run.failed')}</p>
    <p class="detail"><${Words} text=${detail ?? ''} /></p><p>${t('run.safe')}</p><p class="codes"><code>${code}</code></p></div>`;
}

/** What a run took: notes, tokens, time. */
export function RunNumbers({ run }) {
  const metrics = run.metrics ?? {};
  return html`<span class="meta">
    ${metrics.notes_processed !== undefined && html`<span>${t('run.notes', { n: metrics.notes_processed })}</span>`}
    ${metrics.llm_tokens_used !== undefined && html`<span>${t('run.tokens', { n: metrics.llm_tokens_used })}</span>`}
    ${(metrics.duration_seconds !== undefined || run.finished_at) && html`<span>${metrics.duration_seconds !== undefined ? t('seconds', { n: number(metrics.duration_seconds, { maximumFractionDigits: 1 }) }) : between(run.started_at ?? run.queued_at, run.finished_at)}</span>`}
  </span>`;
}

export function RunRow({ run }) {
  return html`<div class="row">
    <a class="grow" href=${href('run', { space: run.space_id, run: run.run_id })}>${run.dry_run ? t('run.dry') : t('run.one')} <${Time} at=${run.queued_at} /></a>
    <span class="quiet">${has(`trigger.${run.trigger}`) ? t(`trigger.${run.trigger}`) : run.trigger}</span>
    <${RunNumbers} run=${run} /><${RunBadge} run=${run} />
  </div>${run.error && html`<p class="quiet">${run.error.code}: <${Words} text=${run.error.detail ?? ''} /></p>`}`;
}
