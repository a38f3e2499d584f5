/** The life of one note as a line: from its writing to the bank, the backups, and its erasure. */
import { at, get, remove } from '../core/api.js';
import { useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { t } from '../core/texts.js';
import { Answer, Badge, Copy, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { confirm } from '../parts/dialog.js';
import { NoteMeta } from '../parts/notes.js';
import { Markdown } from '../core/markdown.js';
import { html, useEffect, useState } from '../vendor/preact.js';

/** Where a note is in a change: the sections that cite it, or why none does. */
export function placesIn(change, id) {
  const sections = change.changes.flatMap((file) => (file.edits ?? []).filter((edit) => edit.notes?.includes(id)).map((edit) => ({ path: file.path, heading: edit.heading, op: edit.op })));
  const discarded = change.discarded.find((one) => one.note_id === id || one.note === id);
  return { sections, discarded: discarded && (discarded.reason ?? ''), uncited: change.uncited.includes(id) };
}

/** The events of a life, oldest first, of what the API says of the note, its change, and the backups since. */
export function eventsOf(note, change, backups, takenBack) {
  const events = [{ at: note.timestamp, kind: 'written' }];
  if (note.source?.conversation_id) events[0].kind = 'captured';
  if (note.source?.space_id) events[0].kind = 'promoted';
  if (change) {
    events.push({ at: change.committed_at, kind: 'folded', change });
    if (change.undone) events.push({ at: takenBack?.committed_at ?? change.committed_at, kind: 'undone', change: takenBack ?? change });
  }
  for (const backup of backups ?? []) {
    if (backup.complete && backup.created_at >= note.timestamp) events.push({ at: backup.created_at, kind: 'backup', backup });
  }
  return events.sort((one, two) => one.at.localeCompare(two.at));
}

function Event({ space, note, event }) {
  const { kind, change, backup } = event;
  const places = kind === 'folded' && change.changes ? placesIn(change, note.note_id) : undefined;
  return html`<li class=${`event ${kind}`}>
    <div class="row"><b>${t(`life.${kind}`)}</b><span class="quiet"><${Time} at=${event.at} exact=${true} /></span></div>
    ${kind === 'written' && html`<p>${t('life.written.by', { agent: note.agent })}</p>`}
    ${kind === 'captured' && html`<p><a href=${href('conversation', { space, conversation: note.source.conversation_id }, { turn: note.source.turns?.[0] })}>${t('note.captured', { turns: (note.source.turns ?? []).join('–') })}</a></p>`}
    ${kind === 'promoted' && html`<p><a href=${href('note', { space: note.source.space_id, note: note.source.note_id })}>${t('note.promoted', { space: note.source.space_id })}</a></p>`}
    ${change && html`<p><a href=${href('change', { space, number: change.number })}>${t('start.change', { n: change.number })}</a>${change.model && html` · ${change.model}`}${change.approved_by && html` · ${t('change.approved', { name: change.approved_by })}`}</p>`}
    ${places?.sections.map((place) => html`<p class="place"><a href=${href('file', { space, rest: place.path })}>${place.path}</a> › <${Words} text=${place.heading.replace(/#+ /g, '')} /></p>`)}
    ${places?.discarded !== undefined && html`<p><${Badge}>${t('life.discarded')}</${Badge}> <${Words} text=${places.discarded} /></p>`}
    ${places?.uncited && html`<p><${Badge} tone="warn">${t('life.uncited')}</${Badge}> ${t('life.uncited.what')}</p>`}
    ${backup && html`<p><code>${backup.backup_id}</code> <${Words} text=${backup.description} /></p>`}
  </li>`;
}

/** The erased note has no address any more: what is known of it is in the receipt. */
async function erase(space, id) {
  const receipt = await confirm({
    title: t('erase.title', { n: 1 }),
    body: html`<p>${t('erase.what')}</p><p>${t('erase.never')}</p>`,
    yes: t('erase.yes'),
    grave: true,
    typed: space,
    act: () => remove(at('spaces', space, 'notes', id), { erase: true }),
  });
  if (receipt) go('erasure', { space, erasure: receipt.erasure_id });
}

function useLife(space, note) {
  const [life, setLife] = useState({});
  useEffect(() => {
    if (!note) return undefined;
    const ended = new AbortController();
    const ask = async () => {
      const options = { signal: ended.signal };
      const change = note.consolidation ? await get(at('spaces', space, 'consolidations', note.consolidation), undefined, options) : undefined;
      setLife({ change });
      const backups = await get(at('spaces', space, 'backups'), { limit: 20 }, options).catch(() => undefined);
      if (!ended.signal.aborted) setLife({ change, backups: backups?.items });
    };
    ask().catch((problem) => ended.signal.aborted || setLife({ problem }));
    return () => ended.abort();
  }, [space, note]);
  return life;
}

export default function NoteLife({ params: { space, note: id } }) {
  const live = useLive(at('spaces', space, 'notes', id), { every: 15_000 });
  const { change, backups, problem } = useLife(space, live.data);
  return html`<${Heading} title=${t('life.title')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      ${may('admin') && live.data && html`<button class="plain grave-text" onClick=${() => erase(space, id)}>${t('erase.button')}</button>`}</${Heading}>
    <${Answer} live=${live}>${(note) => html`
      <${Panel}><${NoteMeta} note=${note} link=${false} /><div class="note-whole"><${Markdown} text=${note.content} /></div>
        <p class="meta"><${Copy} text=${`notes/${note.note_id}`} /></p></${Panel}>
      <${Panel} title=${t('life.line')} class="open"><${ProblemNote} problem=${problem} />
        <ol class="life">${eventsOf(note, change, backups).map((event) => html`<${Event} key=${`${event.kind} ${event.at}`} space=${space} note=${note} event=${event} />`)}
          <li class=${`event now ${note.status}`}><b>${t(`life.now.${note.status}`)}</b><p class="quiet">${t(`life.now.${note.status}.what`)}</p></li></ol>
      </${Panel}>`}</${Answer}>`;
}
