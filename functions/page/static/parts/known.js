/** What we know of a space: what holds now, what is open, and what changed since this person was here. */
import { at } from '../core/api.js';
import { bare, knownOf, linesOnlyIn, OPEN_NOTES, visit } from '../core/known.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { canCorrect, session } from '../core/session.js';
import { longStorage } from '../core/storage.js';
import { t } from '../core/texts.js';
import { html, useEffect, useMemo, useRef } from '../vendor/preact.js';
import { Badge, Empty, Loading, Panel, ProblemNote, Time, Words } from './basic.js';
import { Lines } from './fixing.js';
import { Note } from './notes.js';
import { Connect } from './service.js';

const FEW = 5;

/** `space`: as the service describes it; `reread` asks for it again. Gives {problem, refresh, holds, open, notes, come, gone, since, unknown}; `holds` is undefined until it is read, `unknown` is why nobody can tell what changed. */
export function useKnown(space, reread) {
  const path = space && at('spaces', space.space_id, 'summary');
  const now = useLive(path, { query: { rules: false } });
  const seen = `${space?.changes} ${space?.live.notes_count}`;
  const read = useRef(seen);
  useEffect(() => {
    if (space && read.current !== seen && read.current !== 'undefined undefined') now.refresh();
    read.current = seen;
  }, [seen]);
  const refresh = () => Promise.all([now.refresh(), reread()]);
  const since = useRef();
  useEffect(() => {
    if (!space) return;
    const key = `livemem.seen.${session.get().who?.name}.${space.space_id}`;
    const kept = visit(longStorage.get(key), space, Date.now());
    since.current ??= kept.since;
    longStorage.set(key, kept);
  }, [space?.uid, space?.changes]);
  const base = since.current;
  const changed = base && base.change < space.changes;
  // Before the first change nothing was known.
  const then = useLive(changed && base.change ? path : undefined, { query: { rules: false, at: base?.change } });
  return useMemo(() => {
    if (!now.data) return { problem: now.problem, refresh };
    const known = knownOf(now.data.bank);
    const before = !changed ? known : base.change ? then.data && knownOf(then.data.bank) : [];
    return {
      problem: now.problem,
      unknown: then.problem,
      refresh,
      holds: known.filter((one) => !one.open),
      open: known.filter((one) => one.open),
      notes: now.data.live.notes.filter((note) => OPEN_NOTES.has(note.category)),
      come: before && linesOnlyIn(known, before),
      gone: before && linesOnlyIn(before, known),
      since: base,
    };
  }, [now.data, now.problem, then.data, then.problem, base, changed]);
}

function Section({ space, of, known, few }) {
  const fresh = new Set(known.come?.map(({ text }) => text));
  return html`<section class="known"><h3><a href=${href('file', { space: space.space_id, rest: of.path }, { section: of.section })}><${Words} text=${of.title} /> <small>${of.path}</small></a></h3>
    <${Lines} space=${space.space_id} path=${of.path} section=${of.section} lines=${of.lines} canEdit=${canCorrect(space)} done=${known.refresh} fresh=${fresh} few=${few} /></section>`;
}

/** What holds now: the lines of the bank that are settled. */
export function Holds({ space, known }) {
  const id = space?.space_id;
  return html`<${Panel} title=${t('known.title')} side=${id && html`<a href=${href('told', { space: id })}>${t('nav.told')}</a>`}>
    <${ProblemNote} problem=${known.problem} again=${known.refresh} />
    ${!known.holds && !known.problem && html`<${Loading} lines=${8} />`}
    ${known.holds?.map((of) => html`<${Section} key=${`${of.path} ${of.section}`} space=${space} of=${of} known=${known} few=${FEW} />`)}
    ${known.holds && !known.holds.length && html`<${Empty} title=${t('known.none')}><p>${t('known.none.what')}</p><details class="connect-more"><summary>${t('start.connect')}</summary><${Connect} space=${id} /></details></${Empty}>`}
  </${Panel}>`;
}

/** What is open: by the headings of the bank, and by the categories of notes that are in no file yet. */
export function Open({ space, known }) {
  if (!known.open) return null;
  return html`<${Panel} title=${t('known.open')}>
    ${known.open.map((of) => html`<${Section} key=${`${of.path} ${of.section}`} space=${space} of=${of} known=${known} few=${FEW} />`)}
    ${known.notes.length > 0 && html`<div class="thread-list">${known.notes.slice(0, FEW).map((note) => html`<${Note} key=${note.note_id} note=${note} />`)}</div>`}
    ${!known.open.length && !known.notes.length && html`<p class="quiet">${t('known.open.none')}</p>`}
  </${Panel}>`;
}

/** What came and what went since the last visit, as lines. */
export function Changed({ space, known }) {
  const { come = [], gone = [], since, unknown } = known;
  if (!since || (!known.come && !unknown)) return null;
  return html`<${Panel} title=${t('known.changed')} side=${html`<a href=${href('history', { space: space.space_id })}>${t('nav.history')}</a>`}>
    <${ProblemNote} problem=${unknown} />
    ${known.come && !come.length && !gone.length && html`<p class="quiet">${since.first ? t('known.first') : html`${t('known.same')} <${Time} at=${new Date(since.at).toISOString()} />`}</p>`}
    <ul class="rows tight">${[[come, 'known.new', 'accent'], [gone, 'known.gone', '']].map(([lines, word, tone]) => lines.slice(0, FEW).map((line) => html`<li key=${`${word} ${line.text}`}><${Badge} tone=${tone}>${t(word)}</${Badge}> <${Words} text=${bare(line.text)} /></li>`))}</ul>
  </${Panel}>`;
}
