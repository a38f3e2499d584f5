/** What a search found, taken apart: where it leads, which letters are marked, and why it was found. */
import { href, parse } from './router.js';

export const scopes = ['live', 'bank', 'archive', 'conversations', 'memories', 'rooms'];
/** Searched alone and by words: they are no evidence. */
export const apart = ['tools', 'questions'];

const OF_PARTS = {
  words: ['words', 'cover', 'pairs', 'group', 'answers'],
  meaning: ['cosine', 'around', 'replies'],
};
const NOTE = /^\d{8}T\d{6}_/;
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** `webhook.md > # Payment webhook > ## Done` → the path of the file, and the headings as the bank's links name them. */
export function sectionOf(id) {
  const [path, ...headings] = id.split(/ > (?=#{1,6} )/);
  return { path, section: headings.map((line) => line.replace(/^#+\s+/, '')).join(' > ') };
}

/** The link to a document by its id, as searches, answers and starts show it; undefined if its form says nothing. */
export function linkOf(space, id) {
  const [first, second = '', third = ''] = id.split('/');
  if (ULID.test(first) && second) {
    const level = /^l([123])$/.exec(second)?.[1];
    return href('conversation', { space, conversation: first }, level ? { level, summary: third } : { turn: second });
  }
  if (ULID.test(id)) return href('memory', { space, memory: id });
  if (NOTE.test(id)) return href('note', { space, note: id });
  if (NOTE.test(`${second}_`) && first) return href('room', { space, room: first });
  const { path, section } = sectionOf(id);
  return /\.md$/.test(path) ? href('file', { space, rest: path }, { section }) : undefined;
}

/** The id that somebody means: what was typed, or that of the view whose address was pasted. */
export function idIn(text) {
  const typed = text.trim();
  const fragment = /#(\/spaces\/\S+)$/.exec(typed)?.[1];
  if (!fragment) return typed;
  const { name, params, query } = parse(fragment);
  if (name === 'note') return params.note;
  if (name === 'memory') return params.memory;
  if (name === 'conversation' && query.turn) return `${params.conversation}/${query.turn}/assistant`;
  if (name === 'conversation' && query.summary) return `${params.conversation}/l${query.level}/${query.summary}`;
  return typed;
}

/** The space of a view whose address was pasted; undefined for a bare id. */
export const spaceIn = (text) => {
  const fragment = /#(\/spaces\/\S+)$/.exec(text.trim())?.[1];
  return fragment && parse(fragment).params.space;
};

/** Pieces of a snippet, {text, marked}. Positions count characters, not the units of JavaScript's strings. */
export function marked(snippet, highlights = []) {
  const letters = [...snippet];
  const found = [];
  let last = 0;
  for (const [start, end] of [...highlights].sort((one, two) => one[0] - two[0])) {
    if (start < last || end <= start || end > letters.length) continue;
    if (start > last) found.push({ text: letters.slice(last, start).join(''), marked: false });
    found.push({ text: letters.slice(start, end).join(''), marked: true });
    last = end;
  }
  if (last < letters.length) found.push({ text: letters.slice(last).join(''), marked: false });
  return found;
}

/** The lines of a snippet, each with what is marked in it: {text, highlights}. */
export function linesOfSnippet(snippet, highlights = []) {
  let from = 0;
  return snippet.split('\n').map((text) => {
    const to = from + [...text].length;
    const within = highlights.filter(([start, end]) => start >= from && end <= to).map(([start, end]) => [start - from, end - from]);
    from = to + 1;
    return { text, highlights: within };
  });
}

/** The parts of a score in groups, the strongest group first: [{group, sum, parts: [{name, value}]}]. */
export function reasons(explain) {
  const groups = new Map();
  for (const [name, value] of Object.entries(explain ?? {})) {
    const group = Object.keys(OF_PARTS).find((one) => OF_PARTS[one].includes(name)) ?? 'form';
    const found = groups.get(group) ?? { group, sum: 0, parts: [] };
    found.sum += value;
    found.parts.push({ name, value });
    groups.set(group, found);
  }
  for (const { parts } of groups.values()) parts.sort((one, two) => Math.abs(two.value) - Math.abs(one.value));
  return [...groups.values()].sort((one, two) => Math.abs(two.sum) - Math.abs(one.sum));
}

/** Hits that pass the floor, and those that came with them. Without a floor all are answers. Each keeps its place. */
export function byFloor(items, floor) {
  const placed = items.map((hit, index) => ({ hit, place: index + 1 }));
  if (!floor) return { answers: placed, near: [] };
  const passed = new Set(floor.passed_by);
  return { answers: placed.filter(({ hit }) => passed.has(hit.id)), near: placed.filter(({ hit }) => !passed.has(hit.id)) };
}

const nameOf = (hit) => `${hit.space_id ?? ''} ${hit.id}`;
const namesOf = (pages) => pages.flatMap((page) => page.items.map(nameOf));

/**
 * The pages of an answer, and the next one. `ask(cursor)` gives a page. If a document comes twice, the order has changed
 * since, and others would never come: then all pages are asked for again, as far as the reader was.
 */
export async function withNext(pages, ask) {
  const more = [...pages, await ask(pages.at(-1).next_cursor)];
  const count = namesOf(more).length;
  if (new Set(namesOf(more)).size === count) return more;
  const again = [await ask()];
  while (again.at(-1).next_cursor && namesOf(again).length < count) again.push(await ask(again.at(-1).next_cursor));
  return again;
}

/** The pages as one answer: each document once, and what passed the floor of each. */
export function together(pages) {
  const [first] = pages;
  const seen = new Set();
  const items = pages.flatMap((page) => page.items).filter((hit) => !seen.has(nameOf(hit)) && seen.add(nameOf(hit)));
  const floor = first.floor && { ...first.floor, passed_by: pages.flatMap((page) => page.floor?.passed_by ?? []) };
  return { ...first, items, floor };
}

const dayStart = (day) => new Date(`${day}T00:00:00`);

/** What the address says, as the API's parameters. A day means the whole of it, on the reader's clock. */
export function parametersOf(query, limit) {
  const since = query.since && dayStart(query.since);
  const until = query.until && new Date(dayStart(query.until).getTime() + 86_400_000 - 1);
  const valid = (date) => (date && !Number.isNaN(date.getTime()) ? date.toISOString() : undefined);
  return {
    q: query.q?.trim(),
    scope: query.scope || 'all',
    author: query.author,
    category: query.category,
    tag: query.tag,
    since: valid(since),
    until: valid(until),
    recency: query.newest ? 1.5 : undefined,
    conversation_id: query.conversation,
    explain: true,
    limit,
  };
}

/** Turn one scope on or off. All of them, or none, is `all`, which the address leaves out. What is searched apart is alone. */
export function withScope(present, one) {
  if (apart.includes(one)) return present === one ? undefined : one;
  const on = new Set(!present || apart.includes(present) ? [] : present.split(','));
  if (!on.delete(one)) on.add(one);
  const kept = scopes.filter((name) => on.has(name));
  return kept.length && kept.length < scopes.length ? kept.join(',') : undefined;
}
