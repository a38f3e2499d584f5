/** *Correct* and *Forget*, beside a line of the bank, a note or a memory, wherever it is shown. */
import { at, filePath, get, patch, post, remove } from '../core/api.js';
import { bare, lineIn } from '../core/known.js';
import { useAction, useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { href } from '../core/router.js';
import { canCorrect, may } from '../core/session.js';
import { t } from '../core/texts.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { Badge, ProblemNote, Words } from './basic.js';
import { confirm } from './dialog.js';
import { erase } from './erasing.js';
import { Field, useDraft } from './field.js';
import { toast } from './toast.js';

/** Whether the token may correct the bank of a space. It is asked for only where the token alone does not say it. */
export function useCanCorrect(space) {
  const unsure = may('write') && !may('admin');
  const info = useLive(unsure ? at('spaces', space) : undefined);
  return canCorrect(info.data);
}

/** Says what was changed in the bank, and takes it back for those who may. */
export function changed(space, number, text, done) {
  const undo = may('admin') ? () => post(at('spaces', space, 'consolidations', number, 'undo')).then(done) : undefined;
  toast({ text, tone: 'good', undo });
}

export async function forgetMemory(space, id) {
  const path = at('spaces', space, 'memories', id);
  const gone = await confirm({ title: t('memory.forget.title'), body: html`<p>${t('memory.forget.what')}</p>`, yes: t('memory.forget.yes'), reason: 'required', act: async (reason) => (await remove(path, { reason })) ?? true });
  if (gone) toast({ text: t('memory.forgotten', { n: 1 }), tone: 'good', undo: () => post(`${path}/restore`) });
  return gone;
}

/** The line as the file has it now, {file, heading, line}; what is shown may be a part of it. */
async function lineNow(space, { path, section, text }) {
  const file = await get(filePath(space, path));
  const found = lineIn(file.content, section, text);
  if (!found) toast({ text: t('fix.line.gone'), tone: 'bad', link: { href: href('file', { space, rest: path }, { section }), label: t('undo.look') } });
  return found && { file, ...found };
}

/** `file`: {path, consolidation} as it was read. Gives the number of the change; refused if another one came since. */
export async function edited(space, { path, consolidation }, edit, reason) {
  const written = await patch(filePath(space, path), { edits: [edit], reason, consolidation });
  return written.consolidation;
}

async function forgetLine(space, of, done) {
  const found = await lineNow(space, of);
  if (!found) return;
  const { file, ...line } = found;
  const act = (reason) => edited(space, file, { op: 'remove_line', ...line }, reason ?? t('fix.forgotten.reason'));
  const body = html`<p><${Words} text=${bare(found.line)} /></p><p>${t('fix.forget.what')}</p>`;
  const number = await confirm({ title: t('fix.forget.title'), body, yes: t('memory.forget.yes'), reason: 'optional', act });
  if (!number) return;
  changed(space, number, t('fix.forgotten'), done);
  done();
}

/** What one may do about a thing that is shown: {correct, forget}, each a function, or a link to where it is done. */
function ways(space, of, canEdit, begin, done) {
  if (of.kind === 'memory') {
    return {
      correct: may('write') && href('memory', { space, memory: of.id }, { edit: 1 }),
      forget: (may('admin') || (may('write') && of.mine)) && (async () => (await forgetMemory(space, of.id)) && done()),
    };
  }
  if (of.kind === 'note') {
    const correct = of.note ? async () => begin({ text: of.note.content }) : href('note', { space, note: of.id }, { edit: 1 });
    return { correct: may('write') && correct, forget: may('admin') && (() => erase(space, [of.id])) };
  }
  if (!canEdit) return {};
  if (!of.single) return { correct: href('file', { space, rest: of.path }, { section: of.section, edit: 1 }) };
  const correct = async () => {
    const found = await lineNow(space, of);
    if (found) begin({ ...found, text: bare(found.line) });
  };
  return { correct, forget: () => forgetLine(space, of, done) };
}

/** A note is never changed: what is right is a note of its own, and the newer one wins. */
async function correctNote(space, { category, tags }, content, key) {
  await post(at('spaces', space, 'notes'), { content, category, tags }, { headers: { 'Idempotency-Key': key } });
  toast({ text: t('note.written'), tone: 'good' });
}

function Rewrite({ space, of, begun, close, done }) {
  const draft = `fix.${space}.${of.id ?? `${of.path} ${of.text}`}`;
  const [text, setText, forget] = useDraft(draft, begun.text);
  const [reason, setReason, forgetReason] = useDraft(`${draft}.reason`);
  // The same words get the same key, so that a second try after a lost answer writes no second note.
  const key = useRef();
  const [save, saving] = useAction(async () => {
    const content = text.trim();
    if (of.kind === 'note') {
      key.current = key.current?.content === content ? key.current : { content, id: crypto.randomUUID() };
      await correctNote(space, of.note, content, key.current.id);
    } else {
      const number = await edited(space, begun.file, { op: 'replace_line', heading: begun.heading, line: begun.line, content }, reason.trim() || t('fix.corrected.reason'));
      changed(space, number, t('fix.corrected'), done);
    }
    forget();
    forgetReason();
    close();
    done();
  });
  const form = useRef();
  useEffect(() => form.current.querySelector('textarea').focus(), []);
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  return html`<form ref=${form} class="fix-form" onSubmit=${submit}>
    <${Field} label=${t('fix.text')} hint=${of.kind === 'note' && t('fix.note.hint')} rows=${Math.min(8, 1 + Math.ceil(text.length / 80))} value=${text} onChange=${setText} spellcheck=${true} />
    ${of.kind === 'line' && html`<${Field} label=${t('reason')} optional=${true} value=${reason} onChange=${setReason} maxlength="500" />`}
    <${ProblemNote} problem=${saving.problem} />
    <div class="actions"><button class="main" disabled=${saving.busy || !text.trim() || text.trim() === begun.text}>${saving.busy ? t('working') : t('fix.save')}</button><button type="button" onClick=${close}>${t('close')}</button></div>
  </form>`;
}

/**
 * Something that is shown, with *Correct* and *Forget* beside it. `of`: {kind: 'line', path, section, text, single},
 * {kind: 'note', id, note} or {kind: 'memory', id, mine}; `canEdit`: whether the token may correct the bank. `editing`: it begins so.
 */
export function Fixable({ space, of, canEdit, editing = false, done = () => undefined, children }) {
  const [begun, setBegun] = useState(editing ? { text: of.note.content } : undefined);
  const [run, running] = useAction((work) => work());
  const close = () => setBegun(undefined);
  const { correct, forget } = ways(space, of, canEdit, setBegun, done);
  const named = (word) => `${t(word)}: ${(of.text ?? of.note?.content ?? of.id).slice(0, 60)}`;
  return html`<div class="fixable"><div>${children}</div>
    ${(correct || forget) && html`<div class="fix">
      ${typeof correct === 'string' ? html`<a href=${correct} aria-label=${named('bank.correct')}>${t('bank.correct')}</a>` : correct && html`<button class="plain" aria-label=${named('bank.correct')} aria-expanded=${Boolean(begun)} disabled=${running.busy} onClick=${() => (begun ? close() : run(correct))}>${t('bank.correct')}</button>`}
      ${forget && html`<button class="plain" aria-label=${named('memory.forget')} disabled=${running.busy} onClick=${() => run(forget)}>${t('memory.forget')}</button>`}</div>`}
    <${ProblemNote} problem=${running.problem} />
    ${begun && html`<${Rewrite} space=${space} of=${of} begun=${begun} close=${close} done=${done} />`}</div>`;
}

/** Lines of a section. `fresh`: texts that are new to the reader; `few`: so many are shown at first. */
export function Lines({ space, path, section, lines, canEdit, done, fresh, few = Infinity }) {
  const [all, setAll] = useState(false);
  const left = all ? 0 : Math.max(0, lines.length - few);
  return html`<div class="lines">${lines.slice(0, lines.length - left).map(({ text, single }, index) => html`<${Fixable} key=${`${index} ${text}`} space=${space} of=${{ kind: 'line', path, section, text, single }} canEdit=${canEdit} done=${done}>
      <${Markdown} small=${true} text=${text} />${fresh?.has(text) && html`<${Badge} tone="accent">${t('known.new')}</${Badge}>`}</${Fixable}>`)}
    ${left > 0 && html`<button class="plain" onClick=${() => setAll(true)}>${t('known.more', { n: left })}</button>`}</div>`;
}
