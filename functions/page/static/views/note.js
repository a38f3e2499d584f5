/** The life of one note as a line: from its writing to the bank, the backups, and its erasure. */
import { at } from '../core/api.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { may } from '../core/session.js';
import { t } from '../core/texts.js';
import { Answer, Badge, Copy, Heading, Panel, Time, Words } from '../parts/basic.js';
import { erase } from '../parts/erasing.js';
import { NoteMeta } from '../parts/notes.js';
import { Markdown } from '../core/markdown.js';
import { html } from '../vendor/preact.js';

const TONES = { discarded: '', uncited: 'warn', left_out: 'warn', taken_back: 'warn', erased: 'bad' };

/** Headings as the API gives them → the section as a link names it. */
const keyOf = (headings) => headings.map((line) => line.replace(/^#+ /, '')).join(' > ');

function Places({ space, files }) {
  return (files ?? []).map((file) => html`<p key=${file.path} class="place"><a href=${href('file', { space, rest: file.path }, { section: keyOf(file.sections[0] ?? []) })}>${file.path}</a>
    ${file.edits.map((edit) => html` › <${Words} text=${edit.heading.replace(/#+ /g, '')} />`)}</p>`);
}

/** The link to what an event names. */
function Named({ space, event }) {
  if (event.conversation_id) return html`<a href=${href('conversation', { space, conversation: event.conversation_id }, { turn: event.turns?.[0] })}>${t('note.captured', { turns: (event.turns ?? []).join('–') })}</a>`;
  if (event.memory_id) return html`<a href=${href('memory', { space, memory: event.memory_id })}>${t('memory')}</a>`;
  if (event.erasure_id) return html`<a href=${href('erasure', { space, erasure: event.erasure_id })}>${t('erasure.receipt')}</a>`;
  if (event.backup_id) return html`<a href=${href('operatePart', { part: 'backups' }, { space })}>${event.backup_id}</a>`;
  if (event.space_id) return html`<a href=${event.note_id ? href('note', { space: event.space_id, note: event.note_id }) : href('space', { space: event.space_id })}>${event.space_id}</a>`;
  return null;
}

function Event({ space, event }) {
  return html`<li class=${`event ${event.what}`}>
    <div class="row"><b>${t(`life.${event.what}`)}</b><span class="quiet"><${Time} at=${event.at} exact=${true} /></span>${event.undone && html`<${Badge}>${t('change.undone')}</${Badge}>`}</div>
    ${(event.by || event.model) && html`<p>${event.by && t('life.by', { name: event.by })}${event.model && html` ${event.model}`}</p>`}
    ${event.consolidation && html`<p><a href=${href('change', { space, number: event.consolidation })}>${t('start.change', { n: event.consolidation })}</a></p>`}
    ${!event.consolidation && event.run_id && html`<p><a href=${href('run', { space, run: event.run_id })}>${t('run.one')}</a></p>`}
    <${Places} space=${space} files=${event.files} />
    <p><${Named} space=${space} event=${event} /></p>
    ${event.reason && html`<p><${Badge} tone=${TONES[event.what]}>${t('reason')}</${Badge}> <${Words} text=${event.reason} /></p>`}
  </li>`;
}

/** The sections of today that rest on the note. */
const Resting = ({ space, sections }) => sections.length > 0 && html`<${Panel} title=${t('life.sections')}><ul class="rows tight">${sections.map((one) => html`<li key=${`${one.path} ${one.section.join()}`}><a href=${href('file', { space, rest: one.path }, { section: keyOf(one.section) })}>${one.path} › <${Words} text=${one.section.at(-1)?.replace(/^#+ /, '') ?? ''} /></a></li>`)}</ul></${Panel}>`;

export default function NoteLife({ params: { space, note: id } }) {
  const live = useLive(at('spaces', space, 'notes', id), { every: 15_000 });
  const life = useLive(at('spaces', space, 'notes', id, 'life'), { every: 15_000 });
  return html`<${Heading} title=${t('life.title')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      ${may('admin') && live.data && html`<button class="plain grave-text" onClick=${() => erase(space, { note_ids: [id] })}>${t('erase.button')}</button>`}</${Heading}>
    <${Answer} live=${live}>${(note) => html`
      <${Panel}><${NoteMeta} note=${note} link=${false} /><div class="note-whole"><${Markdown} text=${note.content} /></div>
        <p class="meta"><${Copy} text=${`notes/${note.note_id}`} /></p></${Panel}>
      <${Panel} title=${t('life.line')} class="open"><${Answer} live=${life} lines=${5}>${({ events, status }) => html`
        <ol class="life">${events.map((event, index) => html`<${Event} key=${index} space=${space} event=${event} />`)}
          <li class=${`event now ${status}`}><b>${t(`life.now.${status}`)}</b><p class="quiet">${t(`life.now.${status}.what`)}</p></li></ol>`}</${Answer}></${Panel}>
      ${life.data && html`<${Resting} space=${space} sections=${life.data.sections} />`}`}</${Answer}>`;
}
