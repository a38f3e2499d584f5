/** Runs, changes and plans, as several views show them. */
import { at, post } from '../core/api.js';
import { between } from '../core/format.js';
import { href } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { Badge, Panel, Time, Words } from './basic.js';
import { confirm } from './dialog.js';
import { Diff } from './diff.js';
import { Note } from './notes.js';
import { toast } from './toast.js';
import { html, useState } from '../vendor/preact.js';

const TONES = { done: 'good', failed: 'bad', awaiting_approval: 'warn', running: 'accent', queued: 'accent', busy: 'warn' };
const STEPS = ['queued', 'collecting', 'asking', 'applying'];

export const RunBadge = ({ run }) => {
  const code = has(`run.${run.code}`) && run.code;
  return html`<${Badge} tone=${TONES[run.code ?? run.status] ?? ''}>${t(code ? `run.${code}` : `job.${run.status}`)}</${Badge}>`;
};

export const nameOf = (run) => t(`run.${run.dry_run ? 'dry' : 'one'}${run.tidy ? '.tidy' : ''}`);

/** A run in progress: which of its steps are done, and which one it is in. */
export function Steps({ run }) {
  const present = run.status === 'queued' ? 0 : Math.max(1, STEPS.indexOf(run.step ?? 'collecting'));
  return html`<ol class="steps" aria-label=${t('run.steps')}>
    ${STEPS.map((step, index) => html`<li key=${step} class=${index < present ? 'done' : index === present ? 'present' : ''} aria-current=${index === present ? 'step' : undefined}>${t(`step.${step}`)}</li>`)}
  </ol>`;
}

/** Why a run or another job failed: in the reader's language, and what the service says of it. */
export const errorOf = ({ error }) => html`${has(`run.error.${error.code}`) ? t(`run.error.${error.code}`) : error.code} <${Words} text=${error.detail ?? ''} />`;

export function RunProblem({ run }) {
  if (!run.error || run.code) return null;
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
    ${(metrics.duration_seconds !== undefined || run.ended_at) && html`<span>${metrics.duration_seconds !== undefined ? t('seconds', { n: number(metrics.duration_seconds, { maximumFractionDigits: 1 }) }) : between(run.started_at ?? run.created_at, run.ended_at)}</span>`}
  </span>`;
}

export function RunRow({ run }) {
  return html`<div class="row">
    <a class="grow" href=${href('run', { space: run.space_id, run: run.id })}>${nameOf(run)} <${Time} at=${run.created_at} /></a>
    <span class="quiet">${has(`trigger.${run.trigger}`) ? t(`trigger.${run.trigger}`) : run.trigger}</span>
    <${RunNumbers} run=${run} /><${RunBadge} run=${run} />
  </div>${run.error && html`<p class="quiet">${errorOf(run)}</p>`}`;
}

export const kindOf = (change) => (has(`kind.${change.kind}`) ? t(`kind.${change.kind}`) : change.kind);

/** Who or what made a change: the person, the agent, or the model. */
export const makerOf = (change) => change.author ?? change.approved_by ?? change.model ?? '';

/** Notes in, files out, tokens, seconds. */
export function ChangeNumbers({ change }) {
  const { llm_tokens_used: tokens, duration_seconds: seconds, warnings } = change.metrics ?? {};
  return html`<div class="meta">
    ${change.notes_count > 0 && html`<span>${t('change.notes.in', { n: change.notes_count })}</span>`}
    <span>${t('change.files.out', { n: change.files.length })}</span>
    ${warnings > 0 && html`<span>${t('change.warnings', { n: warnings })}</span>`}
    ${tokens > 0 && html`<span>${t('run.tokens', { n: tokens })}</span>`}
    ${seconds > 0 && html`<span>${t('seconds', { n: number(seconds, { maximumFractionDigits: 1 }) })}</span>`}
  </div>`;
}

/** Ask, and take a change back. Gives the change that did it, or undefined. */
export async function undo(space, change, then) {
  const made = await confirm({
    title: t('undo.title', { n: change.number }),
    body: html`<p>${t('undo.what', { n: change.notes_count })}</p><p>${t('undo.after')}</p>`,
    yes: t('undo.yes'),
    act: () => post(at('spaces', space, 'consolidations', change.number, 'undo')),
  });
  if (!made) return undefined;
  toast({ text: t('undo.done', { n: change.number }), tone: 'good', link: { href: href('change', { space, number: made.number }), label: t('undo.look') } });
  then?.(made);
  return made;
}

const actionOf = (name) => (has(`file.${name}`) ? t(`file.${name}`) : name);

export function FileDiffs({ changes }) {
  return html`<div class="file-diffs">${changes.map((file) => html`<div key=${file.path}>
    <${Diff} diff=${file.diff} title=${file.path} action=${actionOf(file.action)} />
    ${file.reason && html`<p class="diff-reason">${t('change.reason')} <${Words} text=${file.reason} /></p>`}
  </div>`)}</div>`;
}

function NotesIn({ notes, discarded, uncited, leftOut }) {
  const why = new Map((discarded ?? []).map((one) => [one.note_id ?? one.note, one.reason]));
  const [all, setAll] = useState(false);
  const shown = all ? notes : notes.slice(0, 12);
  return html`<div class="thread-list">${shown.map((note) => html`<div key=${note.note_id}>
      <${Note} note=${note} />
      ${why.has(note.note_id) && html`<p class="aside-note">${t('life.discarded')}: <${Words} text=${why.get(note.note_id) ?? ''} /></p>`}
      ${uncited?.includes(note.note_id) && html`<p class="aside-note">${t('life.uncited')}</p>`}
      ${leftOut?.includes(note.note_id) && html`<p class="aside-note">${t('plan.left.out')}</p>`}
    </div>`)}
    ${notes.length > shown.length && html`<button class="more" onClick=${() => setAll(true)}>${t('more')} (${notes.length - shown.length})</button>`}</div>`;
}

/** The lines that went when the bank was shortened, by file. */
function Removed({ lines }) {
  return html`<${Panel} title=${t('plan.removed', { n: lines.length })}>${[...new Set(lines.map((one) => one.file))].map((file) => html`<details key=${file} open>
    <summary>${file}</summary><ul class="rows tight">${lines.filter((one) => one.file === file).map((one) => html`<li><${Words} text=${one.line} /></li>`)}</ul></details>`)}</${Panel}>`;
}

const FEW = 5;

/** What a change did otherwise than asked for, or may have lost, by kind. Plans of before hold sentences alone. */
function Warnings({ warnings }) {
  const all = warnings.map((one) => (one.kind ? one : { kind: 'reading', text: one }));
  return html`<div class="problem passing">${[...new Set(all.map((one) => one.kind))].map((kind) => {
    const found = all.filter((one) => one.kind === kind);
    return html`<details key=${kind} open=${found.length <= FEW}>
      <summary class="what">${has(`warning.${kind}`) ? t(`warning.${kind}`) : kind} (${number(found.length)})</summary>
      <ul>${found.map((one) => html`<li><${Words} text=${one.text} /></li>`)}</ul></details>`;
  })}</div>`;
}

/** `plan`: a PlanDetail, a ChangeDetail, or the plan of a dry run (whose notes are ids alone). */
export function PlanBody({ plan }) {
  const notes = plan.sources.filter((note) => typeof note === 'object');
  const synthesis = typeof plan.synthesis === 'string' ? { after: plan.synthesis } : plan.synthesis;
  return html`
    ${plan.warnings?.length > 0 && html`<${Warnings} warnings=${plan.warnings} />`}
    ${plan.removed?.length > 0 && html`<${Removed} lines=${plan.removed} />`}
    ${plan.changes.length > 0 ? html`<${FileDiffs} changes=${plan.changes} />` : html`<p class="quiet">${t('plan.no.files')}</p>`}
    ${(synthesis?.after ?? '') !== (synthesis?.before ?? '') && html`<${Diff} before=${synthesis.before ?? ''} after=${synthesis.after ?? ''} title=${t('bank.synthesis')} />`}
    ${notes.length > 0 && html`<${Panel} title=${t('plan.notes', { n: notes.length })}><${NotesIn} notes=${notes} discarded=${plan.discarded} uncited=${plan.uncited} leftOut=${plan.left_out} /></${Panel}>`}`;
}
