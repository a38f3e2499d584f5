/** What changed between two texts, as rows of two sides; and the parts of a text that an agent is told. */
import { diffLines, diffWordsWithSpace } from '../vendor/diff.js';

const WIDEST = 2_000;

function words(before, after) {
  if (before.length + after.length > WIDEST) return undefined;
  const parts = diffWordsWithSpace(before, after);
  return {
    left: parts.filter((part) => !part.added).map((part) => ({ text: part.value, changed: Boolean(part.removed) })),
    right: parts.filter((part) => !part.removed).map((part) => ({ text: part.value, changed: Boolean(part.added) })),
  };
}

/** Lines that went beside the lines that came. */
function paired(gone, come) {
  const rows = [];
  for (let index = 0; index < Math.max(gone.length, come.length); index += 1) {
    const left = gone[index];
    const right = come[index];
    const kind = left && right ? 'changed' : left ? 'gone' : 'come';
    const within = left && right ? words(left.text, right.text) : undefined;
    rows.push({
      kind,
      left: left && { ...left, words: within?.left },
      right: right && { ...right, words: within?.right },
    });
  }
  return rows;
}

/** Rows of a unified diff: {kind: same|changed|gone|come|gap, left, right}, each side {number, text, words}. */
export function rowsOfUnified(diff) {
  const rows = [];
  let gone = [];
  let come = [];
  let left = 1;
  let right = 1;
  const flush = () => {
    rows.push(...paired(gone, come));
    gone = [];
    come = [];
  };
  let within = false;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      flush();
      left = Number(hunk[1]);
      right = Number(hunk[2]);
      if (within || left > 1) rows.push({ kind: 'gap' });
      within = true;
    } else if (!within || line.startsWith('\\')) {
      continue;
    } else if (line.startsWith('-')) {
      if (come.length) flush();
      gone.push({ number: left++, text: line.slice(1) });
    } else if (line.startsWith('+')) {
      come.push({ number: right++, text: line.slice(1) });
    } else {
      flush();
      rows.push({ kind: 'same', left: { number: left++, text: line.slice(1) }, right: { number: right++, text: line.slice(1) } });
    }
  }
  flush();
  return rows;
}

/** Rows of two whole texts, with `around` unchanged lines beside each change. */
export function rowsOfTexts(before, after, around = 3) {
  const rows = [];
  let left = 1;
  let right = 1;
  let gone = [];
  let come = [];
  const flush = () => {
    rows.push(...paired(gone, come));
    gone = [];
    come = [];
  };
  for (const part of diffLines(before, after)) {
    const lines = part.value.replace(/\n$/, '').split('\n');
    if (part.removed) gone.push(...lines.map((text) => ({ number: left++, text })));
    else if (part.added) come.push(...lines.map((text) => ({ number: right++, text })));
    else {
      flush();
      rows.push(...lines.map((text) => ({ kind: 'same', left: { number: left++, text }, right: { number: right++, text } })));
    }
  }
  flush();
  return shortened(rows, around);
}

function shortened(rows, around) {
  const near = new Set();
  rows.forEach((row, index) => {
    if (row.kind === 'same') return;
    for (let one = index - around; one <= index + around; one += 1) near.add(one);
  });
  const kept = [];
  rows.forEach((row, index) => {
    if (near.has(index)) kept.push(row);
    else if (kept.at(-1)?.kind !== 'gap' && near.size) kept.push({ kind: 'gap' });
  });
  while (kept.at(-1)?.kind === 'gap') kept.pop();
  return kept;
}

/** How many lines came and went. */
export function sizeOf(rows) {
  const changed = rows.filter((row) => row.kind === 'changed').length;
  return {
    come: changed + rows.filter((row) => row.kind === 'come').length,
    gone: changed + rows.filter((row) => row.kind === 'gone').length,
  };
}

/** Parts in order with their own text. The `chars` of all parts add up to those of the text (Unicode characters). */
export function cut(start) {
  const letters = [...start.markdown];
  let from = 0;
  return start.parts.map((part, index) => {
    const text = letters.slice(from, from + part.chars).join('');
    from += part.chars;
    return { ...part, text, key: part.source ?? `${part.kind} ${index}` };
  });
}

/** Sums by kind, the largest first: {kind, chars, share}. */
export function byKind(parts) {
  const sums = new Map();
  for (const part of parts) sums.set(part.kind, (sums.get(part.kind) ?? 0) + part.chars);
  const all = parts.reduce((sum, part) => sum + part.chars, 0) || 1;
  return [...sums].map(([kind, chars]) => ({ kind, chars, share: chars / all })).sort((one, two) => two.chars - one.chars);
}
