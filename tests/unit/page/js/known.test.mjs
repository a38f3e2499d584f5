/** What a space knows, line by line, and which line of a file a reader means. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const core = new URL('../../../../functions/page/static/core/', import.meta.url);
const { addressOf, lineIn, linesOf, linesOnlyIn, knownOf, visit } = await import(new URL('known.js', core));
const { linesOfSnippet } = await import(new URL('found.js', core));
const { sectionsOf } = await import(new URL('markdown.js', core));

const FILE = `# Port

## Cranes

- K1 lifts 40 tons.
- K2 lifts 42 tons.
- K2 lifts 42 tons, by night 30.
  - but not on Sundays

| crane | tons |
|-|-|
| K1 | 40 |

## Next steps

1. Ask for the **new** timetable.
- [ ] Call Kiel.

## Empty
`;

test('a section is its lines, and what is more than one line of the file is not named by one', () => {
  const [cranes, next, ...rest] = knownOf([{ path: 'port.md', content: FILE }]);

  assert.deepEqual(cranes.lines.map(({ single }) => single), [true, true, false, false]);
  assert.deepEqual(cranes.lines[0], { text: '- K1 lifts 40 tons.', single: true });
  assert.deepEqual([cranes.section, cranes.open, next.open], ['Port > Cranes', false, true]);
  assert.deepEqual(next.lines.map(({ text }) => text), ['1. Ask for the **new** timetable.', '- [ ] Call Kiel.']);
  assert.equal(rest.length, 0, 'a section without a line is not shown');
  assert.deepEqual(linesOf(''), []);
});

test('the line that a reader means is the whole one of the file, or none if it is not sure which', () => {
  const whole = { heading: '# Port > ## Cranes', line: '- K1 lifts 40 tons.' };

  assert.deepEqual(lineIn(FILE, 'Port > Cranes', '- K1 lifts 40 tons.'), whole);
  assert.deepEqual(lineIn(FILE, '# Port > ## Cranes', 'K1 lifts 40'), whole, 'a search shows a part of it');
  assert.equal(lineIn(FILE, 'Port > Cranes', '- K2 lifts 42 tons.').line, '- K2 lifts 42 tons.', 'one is the beginning of another');
  assert.equal(lineIn(FILE, 'Port > Cranes', 'K2 lifts'), undefined, 'two lines fit');
  assert.equal(lineIn(FILE, 'Port > Cranes', '- K9 lifts 9 tons.'), undefined, 'it has changed meanwhile');
  assert.equal(lineIn(FILE, 'Port > Ships', '- K1 lifts 40 tons.'), undefined);
  assert.equal(addressOf(sectionsOf(FILE)[1]), '# Port > ## Cranes');
});

test('what changed between two moments is told by lines, and one that only moved has not changed', () => {
  const before = knownOf([{ path: 'port.md', content: FILE }]);
  const after = knownOf([
    { path: 'port.md', content: FILE.replace('- K1 lifts 40 tons.\n', '').replace('Call Kiel', 'Call Rostock') },
    { path: 'old.md', content: '# Old\n\n- K1 lifts 40 tons.\n' },
  ]);

  assert.deepEqual(linesOnlyIn(after, before).map(({ text }) => text), ['- [ ] Call Rostock.']);
  assert.deepEqual(linesOnlyIn(before, after).map(({ text }) => text), ['- [ ] Call Kiel.']);
});

test('a visit ends after half an hour: what changed meanwhile is told until the next one, also after a reload', () => {
  const minutes = (n) => n * 60_000;
  const space = (changes, uid = 'a') => ({ uid, changes });

  const first = visit(undefined, space(3), minutes(0));
  assert.deepEqual(first.since, { change: 3, at: 0, first: true });
  assert.deepEqual(visit(first, space(4), minutes(10)).since, first.since, 'the same visit');

  const second = visit(first, space(5), minutes(40));
  assert.deepEqual(second.since, { change: 3, at: 0 });
  assert.deepEqual(visit(second, space(5), minutes(50)).since, second.since);
  assert.deepEqual(visit(second, space(5), minutes(90)).since, { change: 5, at: minutes(40) });

  assert.equal(visit(second, space(1, 'b'), minutes(90)).since.first, true, 'another space of the same name');
  assert.equal(visit(second, space(4), minutes(90)).since.first, true, 'a restored one, which is behind');
});

test('a snippet of several lines has the marks of each line, by characters', () => {
  assert.deepEqual(linesOfSnippet('- a 🙂 crane\n- two cranes', [[6, 11], [18, 24]]), [
    { text: '- a 🙂 crane', highlights: [[6, 11]] },
    { text: '- two cranes', highlights: [[6, 12]] },
  ]);
});
