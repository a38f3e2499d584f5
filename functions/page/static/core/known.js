/** What a space knows, taken apart: the lines of its bank, those that are open, what changed between two moments, and since when somebody was away. */
import { LARGEST, sectionsOf, tokensOf } from './markdown.js';

/** Headings of what is not settled: those of recall/bank_sections.py, behind the ones of the present work. */
export const OPEN = [
  'next steps', 'prochaines étapes', 'to do', 'todo', 'todos', 'à faire', 'reste à faire',
  'open questions', 'questions ouvertes', 'open decisions', 'décisions ouvertes', 'décisions à prendre',
  'known issues', 'problèmes connus', 'open issues', 'problèmes ouverts', 'blockers', 'points bloquants',
];
/** Categories of notes that are open by what they are. */
export const OPEN_NOTES = new Set(['todo', 'question', 'issue']);
const LINES = new Set(['list_item', 'paragraph', 'text']);
/** How a line of a list, or a quoted one, begins. */
const MARK = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?|>\s?)?/;

/** A line without the mark of its list. */
export const bare = (line) => line.replace(MARK, '').trim();

/** The lines of a text, without its headings: {text, single}. `single`: one line of the file, which an edit of a line can name. */
export function linesOf(text) {
  if (text.length > LARGEST) return [{ text, single: false }];
  const tokens = tokensOf(text).flatMap((token) => (token.type === 'list' ? token.items : [token]));
  return tokens
    .map(({ type, raw }) => ({ type, text: raw.replace(/^\n+|\s+$/g, '') }))
    .filter(({ type, text: one }) => one && type !== 'heading')
    .map(({ type, text: one }) => ({ text: one, single: LINES.has(type) && !one.includes('\n') && bare(one) !== '' }));
}

/** The section of a file as edits name it: its heading, with those above it. */
export const addressOf = ({ above, line }) => [...above, line].join(' > ');

/** The line of a file, and its section's address, that a reader means by what is shown of it; undefined if it is not one line alone. */
export function lineIn(content, section, shown) {
  const named = sectionsOf(content).filter((one) => one.path.length && [one.path.join(' > '), addressOf(one)].includes(section));
  const lines = named.flatMap((one) => one.raw.split('\n').map((line) => ({ line, heading: addressOf(one) })));
  const same = lines.filter(({ line }) => bare(line) === bare(shown));
  const found = same.length ? same : lines.filter(({ line }) => line.includes(bare(shown)));
  return found.length === 1 ? found[0] : undefined;
}

const words = (text) => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;

/** Whether a heading, or one above it, names what is open. */
const isOpen = (titles) => titles.some((title) => OPEN.some((one) => words(title).includes(words(one))));

/** The sections of files that say something: [{path, section, title, lines, open}]. */
export function knownOf(files) {
  return files.flatMap(({ path, content }) =>
    sectionsOf(content)
      .map(({ path: titles, raw }) => ({ path, section: titles.join(' > '), title: titles.at(-1) ?? path, lines: linesOf(raw), open: isOpen(titles) }))
      .filter(({ lines }) => lines.length),
  );
}

/** Lines that one moment knows and the other does not, wherever they stand: [{of, text, single}]; `of` is their section. */
export function linesOnlyIn(one, other) {
  const known = new Set(other.flatMap(({ lines }) => lines.map(({ text }) => text)));
  return one.flatMap((of) => of.lines.filter(({ text }) => !known.has(text)).map((line) => ({ of, ...line })));
}

const AWAY = 30 * 60_000;

/** Since when somebody has not seen a space, {change, at, first}, and what to keep of this visit. `kept`: of the last one. */
export function visit(kept, { uid, changes }, now) {
  const present = { change: changes, at: now };
  const known = kept?.uid === uid && kept.last.change <= changes;
  const since = !known ? { ...present, first: true } : now - kept.last.at > AWAY ? kept.last : kept.since;
  return { uid, since, last: present };
}
