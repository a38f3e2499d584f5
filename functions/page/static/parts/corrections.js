/** Corrections of the bank by hand: a section said anew, confirmed or removed. Each is a change, so it can be taken back. */
import { at, filePath, get, patch, post } from '../core/api.js';
import { useAction } from '../core/live.js';
import { may } from '../core/session.js';
import { t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { ProblemNote } from './basic.js';
import { confirm } from './dialog.js';
import { Field, useDraft } from './field.js';
import { toast } from './toast.js';

/** Whether the token may correct in this space: an admin, or whoever may write if the space says so. */
export const canCorrect = (space) => may('admin') || (may('write') && space?.corrections === 'write');

/** The heading as edits name it: with the headings above it, so that it is found where it occurs twice. */
export function headingOf(section) {
  return section.path.length > 1 && section.above ? [...section.above, section.line].join(' > ') : section.line;
}

async function edited(space, file, edit, reason) {
  await patch(filePath(space, file), { edits: [edit], reason });
  const { items } = await get(at('spaces', space, 'consolidations'), { limit: 1 });
  return items[0];
}

function told(space, change, text) {
  const undo = change && may('admin') ? () => post(at('spaces', space, 'consolidations', change.number, 'undo')) : undefined;
  toast({ text, tone: 'good', undo });
}

export async function confirmSection(space, file, section, changed) {
  try {
    await patch(filePath(space, file), { edits: [{ op: 'confirm_section', heading: headingOf(section) }], reason: t('bank.confirm.reason') });
    toast({ text: t('bank.confirmed'), tone: 'good' });
    changed();
  } catch (problem) {
    toast({ text: problem.detail || problem.message, tone: 'bad' });
  }
}

export function SectionEdit({ space, file, section, done, close }) {
  const key = `section.${space}.${file}.${section.path.join('>')}`;
  const [text, setText, forget] = useDraft(key, section.raw);
  const [reason, setReason, forgetReason] = useDraft(`${key}.reason`);
  const [save, saving] = useAction(async () => {
    const change = await edited(space, file, { op: 'replace_section', heading: headingOf(section), content: text }, reason);
    forget();
    forgetReason();
    told(space, change, t('bank.corrected'));
    done();
  });
  const removeIt = async () => {
    const change = await confirm({
      title: t('bank.delete.title', { section: section.title }),
      body: html`<p>${t('bank.delete.what')}</p>`,
      yes: t('bank.delete.yes'),
      reason: 'required',
      act: (why) => edited(space, file, { op: 'delete_section', heading: headingOf(section) }, why),
    });
    if (!change) return;
    forget();
    told(space, change, t('bank.deleted'));
    done();
  };
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  const error = (field) => saving.problem?.fieldError?.(field);
  return html`<form class="section-edit" onSubmit=${submit}>
    <${Field} label=${t('bank.text')} rows=${Math.min(24, Math.max(4, text.split('\n').length + 1))} value=${text} onChange=${setText} spellcheck=${true} />
    <${Field} label=${t('reason')} value=${reason} onChange=${setReason} required=${true} maxlength="500" error=${error('reason')} />
    <${ProblemNote} problem=${saving.problem} />
    <div class="actions"><button class="main" disabled=${saving.busy || !reason.trim() || text === section.raw}>${saving.busy ? t('working') : t('bank.save')}</button>
      <button type="button" onClick=${close}>${t('close')}</button>
      <button type="button" class="plain grave-text" onClick=${removeIt}>${t('bank.delete')}</button></div>
  </form>`;
}
