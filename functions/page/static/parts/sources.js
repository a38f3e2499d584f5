/** What a section of the bank rests on: its notes, read when somebody asks, and its corrections by hand. */
import { at, get } from '../core/api.js';
import { href } from '../core/router.js';
import { t } from '../core/texts.js';
import { html, useEffect, useState } from '../vendor/preact.js';
import { Loading, ProblemNote } from './basic.js';
import { Note } from './notes.js';

const STEP = 8;

function useNotes(space, ids) {
  const [notes, setNotes] = useState({});
  const key = ids.join();
  useEffect(() => {
    const ended = new AbortController();
    const ask = async () => {
      for (const id of ids) {
        const found = await get(at('spaces', space, 'notes', id), undefined, { signal: ended.signal }).catch((problem) => ({ problem }));
        if (ended.signal.aborted) return;
        setNotes((now) => ({ ...now, [id]: found }));
      }
    };
    ask();
    return () => ended.abort();
  }, [space, key]);
  return notes;
}

/** `known`: what the file says of the section: {sources: [{note_id, consolidation}], corrections, omitted}. */
export function SourceNotes({ space, known }) {
  const [shown, setShown] = useState(STEP);
  const newest = [...known.sources].reverse();
  const ids = newest.slice(0, shown).map((source) => source.note_id);
  const notes = useNotes(space, ids);
  return html`<div class="source-notes">
    ${ids.map((id) => html`<div key=${id}>${!notes[id] ? html`<${Loading} lines=${2} />` : notes[id].problem ? html`<${ProblemNote} problem=${notes[id].problem} />` : html`<${Note} note=${notes[id]} />`}</div>`)}
    ${newest.length > shown && html`<button class="plain" onClick=${() => setShown(shown + STEP)}>${t('sources.more', { n: newest.length - shown })}</button>`}
    ${known.omitted > 0 && html`<p class="quiet">${t('sources.omitted', { n: known.omitted })}</p>`}
    ${known.corrections.length > 0 && html`<p class="quiet">${t('sources.corrections')} ${known.corrections.map((number) => html`<a key=${number} href=${href('change', { space, number })}>${number}</a> `)}</p>`}
    ${!newest.length && !known.corrections.length && html`<p class="quiet">${t('sources.none')}</p>`}
  </div>`;
}
