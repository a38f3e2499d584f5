/** What searches, memories, digests and questions need, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const core = new URL('../../../../functions/page/static/core/', import.meta.url);
const { byFloor, idIn, linkOf, marked, parametersOf, reasons, sectionOf, together, withNext, withScope } = await import(new URL('found.js', core));
const { correctionOf, openMerges, stateOf, subjectsIn } = await import(new URL('memories.js', core));
const { byHand, dueAt, firstsOfDays, knownZone, lateBy } = await import(new URL('digests.js', core));
const { askedOf, isFinal, lookups } = await import(new URL('asked.js', core));
const { shownLetters } = await import(new URL('letters.js', core));

const TALK = '01M8FMMV3N2EY8Y3DVVY2Q5G7W';

test('each kind of id leads to its view, and an unknown one to none', () => {
  const links = {
    '20260220T140000_agent-two_decision_1a2b3c4d': '#/spaces/s/notes/20260220T140000_agent-two_decision_1a2b3c4d',
    [TALK]: `#/spaces/s/memories/${TALK}`,
    [`${TALK}/12/assistant`]: `#/spaces/s/conversations/${TALK}?turn=12`,
    [`${TALK}/l2/3`]: `#/spaces/s/conversations/${TALK}?level=2&summary=3`,
    'harbour/20260220T140000_0123456789abcdef': '#/spaces/s/rooms/harbour',
    'webhook.md > # Payment webhook > ## Done': '#/spaces/s/bank/webhook.md?section=Payment+webhook+%3E+Done',
    'notes/a.md': '#/spaces/s/bank/notes/a.md',
    'javascript:alert(1)': undefined,
    '': undefined,
  };
  for (const [id, link] of Object.entries(links)) assert.equal(linkOf('s', id), link, id);
});

test('a heading may hold what separates headings', () => {
  assert.deepEqual(sectionOf('a.md > # One > two > ## Three'), { path: 'a.md', section: 'One > two > Three' });
  assert.deepEqual(sectionOf('a.md'), { path: 'a.md', section: '' });
});

test('a pasted address of a view names the document that it shows', () => {
  assert.equal(idIn(' 20260220T140000_a_todo_1 '), '20260220T140000_a_todo_1');
  assert.equal(idIn(`http://127.0.0.1:3000/#/spaces/s/memories/${TALK}`), TALK);
  assert.equal(idIn(`#/spaces/s/conversations/${TALK}?turn=7`), `${TALK}/7/assistant`);
  assert.equal(idIn(`#/spaces/s/conversations/${TALK}?level=1&summary=4`), `${TALK}/l1/4`);
  assert.equal(idIn('#/spaces/s/history'), '#/spaces/s/history');
});

test('marks count characters, so that emoji before a word do not shift it', () => {
  assert.deepEqual(marked('🚢🚢 the ferry', [[7, 12]]), [
    { text: '🚢🚢 the ', marked: false },
    { text: 'ferry', marked: true },
  ]);
});

test('no mark loses, repeats or invents a letter, however wrong the positions are', () => {
  const text = 'déjà vu 🚢 encore';
  for (const highlights of [[], [[0, 4], [5, 7]], [[5, 7], [0, 4]], [[0, 6], [3, 9]], [[4, 4]], [[9, 3]], [[0, 999]], [[-1, 2]]]) {
    assert.equal(marked(text, highlights).map((piece) => piece.text).join(''), text);
  }
});

test('the pages of an answer are one answer: each hit once, with what passed the floor of each page', () => {
  const first = { total: 3, items: [{ id: 'a' }, { id: 'b' }], floor: { words: ['x'], passed_by: ['a'] }, next_cursor: 'Mg' };
  const next = { total: 3, items: [{ id: 'b' }, { id: 'c' }], floor: { words: ['x'], passed_by: ['c'] } };
  const answer = together([first, next]);
  assert.deepEqual(answer.items.map((hit) => hit.id), ['a', 'b', 'c']);
  assert.deepEqual(answer.floor, { words: ['x'], passed_by: ['a', 'c'] });
  assert.deepEqual(together([first]).items, first.items);
});

test('an answer whose order changed between two pages is asked for again, so that no hit is lost', async () => {
  const asker = (orders, asked) => async (cursor = '0') => {
    asked.push(cursor);
    const order = orders.shift();
    const from = Number(cursor);
    const end = from + 2 < order.length ? String(from + 2) : undefined;
    return { items: [...order.slice(from, from + 2)].map((id) => ({ id })), next_cursor: end };
  };
  const ids = (pages) => pages.flatMap((page) => page.items.map((hit) => hit.id)).join('');
  for (const [orders, expected, cursors] of [
    [['abcdef', 'abcdef'], 'abcd', ['0', '2']],
    // c and d are the first two now.
    [['abcdef', 'cdabef', 'cdabef', 'cdabef'], 'cdab', ['0', '2', '0', '2']],
  ]) {
    const asked = [];
    const ask = asker(orders, asked);
    const found = await withNext([await ask()], ask);
    assert.equal(ids(found), expected);
    assert.deepEqual(asked, cursors);
  }
});

test('the parts of a score keep their sum in groups, the strongest first', () => {
  const explain = { words: 1, cover: 0.5, cosine: 4, around: -1, role: -0.5, something_new: 0.25 };
  const found = reasons(explain);
  assert.deepEqual(found.map((group) => [group.group, group.sum]), [['meaning', 3], ['words', 1.5], ['form', -0.25]]);
  assert.deepEqual(found[0].parts, [{ name: 'cosine', value: 4 }, { name: 'around', value: -1 }]);
  assert.deepEqual(reasons(undefined), []);
});

test('what misses the floor is told apart, and keeps its place', () => {
  const hits = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  const { answers, near } = byFloor(hits, { passed_by: ['a', 'c'] });
  assert.deepEqual([answers.map((one) => one.place), near.map((one) => one.place)], [[1, 3], [2]]);
  assert.equal(byFloor(hits, undefined).answers.length, 3);
});

test('scopes go on and off, all of them is everything, and what is searched apart is alone', () => {
  assert.equal(withScope(undefined, 'bank'), 'bank');
  assert.equal(withScope('bank', 'live'), 'live,bank');
  assert.equal(withScope('bank', 'bank'), undefined);
  assert.equal(withScope('live,bank,archive,conversations,memories', 'rooms'), undefined);
  assert.equal(withScope('live,bank', 'tools'), 'tools');
  assert.equal(withScope('tools', 'tools'), undefined);
  assert.equal(withScope('tools', 'bank'), 'bank');
});

test('a day in the address is the whole day, and nonsense in it is left out', () => {
  const { since, until, q, scope } = parametersOf({ q: ' a ', since: '2026-05-01', until: '2026-05-01' }, 20);
  assert.equal(new Date(until) - new Date(since), 86_399_999);
  assert.deepEqual([q, scope], ['a', 'all']);
  assert.equal(parametersOf({ q: 'a', since: 'yesterday' }, 20).since, undefined);
});

test('a correction holds what differs, with the revision that was read', () => {
  const memory = { content: 'Ann is here.', subjects: ['ann'], revision: 3 };
  const same = { content: 'Ann is here. ', subjects: 'ann', category: '', life: '' };
  assert.equal(correctionOf(memory, same), undefined);
  assert.deepEqual(correctionOf(memory, { ...same, content: 'Ann is away.' }), { content: 'Ann is away.', revision: 3 });
  assert.deepEqual(correctionOf(memory, { ...same, life: 'ever' }), { ttl: null, revision: 3 });
  assert.deepEqual(correctionOf({ ...memory, category: 'x' }, { ...same, life: '7d', subjects: 'ann, ben ,ann' }), { subjects: ['ann', 'ben'], category: null, ttl: '7d', revision: 3 });
  assert.deepEqual(subjectsIn(' , a,,a , b'), ['a', 'b']);
});

test('a split takes back the last merge that was not taken back', () => {
  const log = [{ number: 5, what: 'corrected' }, { number: 4, what: 'split' }, { number: 3, what: 'merged', by: 'llm' }, { number: 2, what: 'merged', by: 'vector' }, { number: 1, what: 'stored' }];
  assert.deepEqual(openMerges(log).map((one) => one.number), [2]);
  assert.deepEqual(openMerges(log.slice(2)).map((one) => one.number), [2, 3]);
  assert.deepEqual(openMerges([{ number: 2, what: 'merged', by: 'text' }, { number: 1, what: 'stored' }]), []);
  assert.equal(stateOf(log), 'there');
  assert.equal(stateOf([{ number: 6, what: 'deleted' }, ...log]), 'deleted');
  assert.equal(stateOf([]), 'unknown');
  assert.equal(stateOf([{ number: 7, what: 'merged', memory_id: 'b' }, { number: 1, what: 'stored', memory_id: 'a' }], 'a'), 'merged');
  assert.equal(stateOf([{ number: 7, what: 'merged', memory_id: 'a' }], 'a'), 'there');
});

test('a digest time is read, told apart from one by hand, and late only if it was due', () => {
  assert.equal(dueAt('20261127T210000'), '2026-11-27T21:00:00Z');
  assert.equal(dueAt('nonsense'), undefined);
  assert.deepEqual([byHand('20261127T210000'), byHand('20261127T231533')], [false, true]);
  const began = (slot, at) => lateBy({ subject: slot, started_at: at });
  assert.equal(began('20261127T210000', '2026-11-27T23:15:00Z'), 8100);
  assert.equal(began('20261127T210000', '2026-11-27T21:09:00Z'), 0);
  assert.equal(began('20261127T231533', '2026-11-28T09:00:00Z'), 0);
  assert.equal(lateBy({ subject: '20261127T210000' }), 0);
});

test('days are those of the zone of the space', () => {
  const items = ['2026-11-27T23:30:00Z', '2026-11-27T22:30:00Z', '2026-11-27T01:00:00Z'].map((at, id) => ({ at, id }));
  const firsts = (zone) => [...firstsOfDays(items, (one) => one.at, (one) => one.id, zone)];
  assert.deepEqual(firsts('UTC'), [0]);
  assert.deepEqual(firsts('Europe/Paris'), [0, 1]);
  assert.deepEqual([knownZone('Europe/Paris'), knownZone('No/Where'), knownZone(undefined)], ['Europe/Paris', 'UTC', 'UTC']);
});

test('what a tool was asked stands in a line, and the giving of the answer is no look-up', () => {
  assert.equal(askedOf({ arguments: { query: 'ferry', limit: 3 } }), 'ferry, limit: 3');
  assert.equal(askedOf({ arguments: { kinds: ['fact'] } }), 'kinds: ["fact"]');
  assert.equal(askedOf({}), '');
  assert.equal(lookups({ tool_calls: [{ name: 'search_memories' }, { name: 'respond' }] }).length, 1);
  assert.deepEqual(['queued', 'running', 'done', 'failed', 'cancelled'].map((status) => isFinal({ status })), [false, false, true, true, true]);
});

test('titles of windows have no letter that nobody sees', () => {
  assert.equal(shownLetters('a\u202eb\u200bc\u{E0041}'), 'abc');
});
