/** One note, and its line from the writing to the bank: what the note and the record of its change say. */
import { at } from '../core/api.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { may } from '../core/session.js';
import { t } from '../core/texts.js';
import { Answer, Badge, Copy, Heading, Panel, Time, Words } from '../parts/basic.js';
import { Fixable } from '../parts/fixing.js';
import { NoteMeta } from '../parts/notes.js';
import { Markdown } from '../core/markdown.js';
import { html } from '../vendor/preact.js';

const TONES = { discarded: '', archived: '', uncited: 'warn' };

/** The heading of an edit → the section as a link names it. */
const keyOf = (heading) => (heading ?? '').replace(/^#+ /, '');

/** What the change did with the note. */
function outcome(change, id) {
  const discarded = change.discarded.find((one) => one.note_id === id);
  if (discarded) return { what: change.trigger === 'gc' ? 'archived' : 'discarded', reason: discarded.reason };
  return { what: change.uncited.includes(id) ? 'uncited' : 'folded' };
}

/** The files and headings of the edits that name the note. */
function Places({ space, change, id }) {
  return change.changes.map((file) => {
    const edits = (file.edits ?? []).filter((edit) => edit.notes?.includes(id));
    return edits.length > 0 && html`<p key=${file.path} class="place"><a href=${href('file', { space, rest: file.path }, { section: keyOf(edits[0].heading) })}>${file.path}</a>
      ${edits.map((edit) => html` › <${Words} text=${keyOf(edit.heading)} />`)}</p>`;
  });
}

function Event({ what, when, by, undone, children }) {
  return html`<li class=${`event ${what}`}>
    <div class="row"><b>${t(`life.${what}`)}</b><span class="quiet"><${Time} at=${when} exact=${true} /></span>${undone && html`<${Badge}>${t('change.undone')}</${Badge}>`}</div>
    ${by && html`<p>${t('life.by', { name: by })}</p>`}${children}</li>`;
}

function Change({ space, change, id }) {
  const { what, reason } = outcome(change, id);
  return html`<${Event} what=${what} when=${change.committed_at} by=${change.author ?? change.model} undone=${change.undone}>
    <p><a href=${href('change', { space, number: change.number })}>${t('start.change', { n: change.number })}</a></p>
    <${Places} space=${space} change=${change} id=${id} />
    ${reason && html`<p><${Badge} tone=${TONES[what]}>${t('reason')}</${Badge}> <${Words} text=${reason} /></p>`}</${Event}>`;
}

function Line({ space, note }) {
  const change = useLive(note.consolidation && at('spaces', space, 'consolidations', note.consolidation));
  return html`<ol class="life">
    <${Event} what=${note.source?.conversation_id ? 'captured' : 'written'} when=${note.timestamp} by=${note.agent} />
    ${note.consolidation && html`<${Answer} live=${change} lines=${3}>${(record) => html`<${Change} space=${space} change=${record} id=${note.note_id} />`}</${Answer}>`}
    <li class=${`event now ${note.status}`}><b>${t(`life.now.${note.status}`)}</b><p class="quiet">${t(`life.now.${note.status}.what`)}</p></li></ol>`;
}

export default function NotePage({ params: { space, note: id }, query }) {
  const live = useLive(at('spaces', space, 'notes', id), { every: 15_000 });
  return html`<${Heading} title=${t('life.title')} above=${html`<a href=${href('space', { space })}>${space}</a>`} />
    <${Answer} live=${live}>${(note) => html`
      <${Panel}><${NoteMeta} note=${note} link=${false} /><${Fixable} space=${space} of=${{ kind: 'note', id, note }} editing=${query.edit && may('write')}><div class="note-whole"><${Markdown} text=${note.content} /></div></${Fixable}>
        <p class="meta"><${Copy} text=${`notes/${note.note_id}`} /></p></${Panel}>
      <${Panel} title=${t('life.line')} class="open"><${Line} space=${space} note=${note} /></${Panel}>`}</${Answer}>`;
}
