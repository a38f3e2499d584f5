/** What a plan or a change does: its diffs, its notes, its synthesis, and what it leaves out. */
import { has, t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Panel, Words } from './basic.js';
import { Diff } from './diff.js';
import { Note } from './notes.js';

const action = (name) => (has(`file.${name}`) ? t(`file.${name}`) : name);

export function FileDiffs({ changes }) {
  return html`<div class="file-diffs">${changes.map((file) => html`<div key=${file.path}>
    <${Diff} diff=${file.diff} title=${file.path} action=${action(file.action)} />
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

/** `plan`: a RunPlan, a ChangeDetail, or the plan of a dry run (whose notes are ids alone). */
export function PlanBody({ plan }) {
  const notes = plan.sources.filter((note) => typeof note === 'object');
  const synthesis = typeof plan.synthesis === 'string' ? { after: plan.synthesis } : plan.synthesis;
  return html`
    ${plan.warnings?.length > 0 && html`<div class="problem passing">${plan.warnings.map((warning) => html`<p><${Words} text=${warning} /></p>`)}</div>`}
    ${plan.changes.length > 0 ? html`<${FileDiffs} changes=${plan.changes} />` : html`<p class="quiet">${t('plan.no.files')}</p>`}
    ${(synthesis?.after ?? '') !== (synthesis?.before ?? '') && html`<${Diff} before=${synthesis.before ?? ''} after=${synthesis.after ?? ''} title=${t('bank.synthesis')} />`}
    ${notes.length > 0 && html`<${Panel} title=${t('plan.notes', { n: notes.length })}><${NotesIn} notes=${notes} discarded=${plan.discarded} uncited=${plan.uncited} leftOut=${plan.left_out} /></${Panel}>`}`;
}
