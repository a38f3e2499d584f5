/** The rules of the page that need no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const core = new URL('../../../../functions/page/static/core/', import.meta.url);
const { href, parse, patterns } = await import(new URL('router.js', core));
const { waitOf } = await import(new URL('live.js', core));
const { added, joined, pushedOut } = await import(new URL('pages.js', core));
const { byView, storeRequests } = await import(new URL('costs.js', core));
const { Problem, problemOf, wordsOf } = await import(new URL('problems.js', core));
const { byKind, cut } = await import(new URL('differences.js', core));
const { pieces } = await import(new URL('letters.js', core));

test('every view has a link that leads back to it with its parameters, however odd they are', () => {
  const odd = 'a b/ü?#%&=+';
  for (const [name, pattern] of Object.entries(patterns)) {
    const params = Object.fromEntries([...pattern.matchAll(/:(\w+)/g)].map(([, one]) => [one, odd]));
    if (pattern.endsWith('*')) params.rest = 'folder/a file#1.md';
    const found = parse(href(name, params, { q: odd, empty: '' }));
    assert.deepEqual(found, { name, params, query: { q: odd } }, name);
  }
});

test('an address of no view, or one that is no address, is missing and does not fail', () => {
  for (const one of ['#/nowhere', '#/spaces', '#/spaces/a/bank/x/../..//', '#%E0%A4%A', '#code=x']) parse(one);
  assert.equal(parse('#/nowhere').name, 'missing');
  assert.equal(parse('#/spaces/%E0%A4%A').params.space, '%E0%A4%A');
  assert.equal(parse('').name, 'start');
});

test('polls come slower in a hidden tab and after failures, never before Retry-After, and never stop', () => {
  assert.equal(waitOf(4000), 4000);
  assert.equal(waitOf(4000, { hidden: true }), 48_000);
  assert.equal(waitOf(4000, { failures: 2 }), 16_000);
  assert.equal(waitOf(4000, { failures: 50 }), 60_000);
  assert.equal(waitOf(1000, { retryAfter: 30 }), 30_000);
});

test('an item that two pages hold is shown once, as the first page has it, and other pages stay as they are', () => {
  const idOf = (item) => item.id;
  const ids = new Set();
  const further = [[{ id: 2, is: 'old' }, { id: 1 }], [{ id: 1 }, { id: 0 }]].map((items) => added(items, ids, idOf));
  assert.deepEqual(further, [[{ id: 2, is: 'old' }, { id: 1 }], [{ id: 0 }]]);
  const pages = joined([{ id: 3 }, { id: 2, is: 'new' }], further, ids, idOf);
  assert.deepEqual(pages, [[{ id: 3 }, { id: 2, is: 'new' }], [{ id: 1 }], [{ id: 0 }]]);
  assert.equal(pages[2], further[1]);
});

test('an item that newer ones push out of the first page stays, and one that was removed does not', () => {
  const page = (...ids) => ({ items: ids.map((id) => ({ id })), next_cursor: 'c' });
  const out = (before, after) => pushedOut(before, after, (item) => item.id)?.map((item) => item.id);
  assert.deepEqual(out(page(5, 4, 3), page(7, 6, 5)), [4, 3]);
  assert.deepEqual(out(page(5, 4, 3), page(5, 3, 2)), []);
  assert.deepEqual(out(page(5, 4, 3), page(6, 5, 3)), []);
  assert.deepEqual(out(page(5, 4, 3), { ...page(5), next_cursor: undefined }), []);
  assert.equal(out(page(5, 4, 3), page(9, 8, 7)), undefined);
});

test('requests to the store are read of the answer, and summed for each view', () => {
  assert.deepEqual(storeRequests('total;dur=23, store;desc="3 GET, 2 LIST"'), { GET: 3, LIST: 2 });
  assert.deepEqual(storeRequests('store;dur=1;desc="1 PUT"'), { PUT: 1 });
  assert.equal(storeRequests('total;dur=23'), undefined);
  assert.equal(storeRequests(null), undefined);
  const call = { view: 'space', status: 200, ms: 1, bytes: 10, store: { GET: 2 } };
  const [sum] = byView([call, { ...call, status: 304, store: { GET: 1, LIST: 1 } }, { ...call, status: 503, store: undefined }]);
  assert.deepEqual([sum.calls, sum.unchanged, sum.failed, sum.store, sum.known], [3, 1, 1, { GET: 3, LIST: 1 }, false]);
});

test('a problem says its code, its fields and when to come back; what a gateway answers is one too', async () => {
  const body = { code: 'cooldown', detail: 'wait', errors: [{ field: 'x', message: 'wrong' }], request_id: 'r' };
  const told = await problemOf(new Response(JSON.stringify(body), { status: 429, headers: { 'Retry-After': '7' } }), '/v1/x');
  assert.deepEqual([told.code, told.retryAfter, told.fieldError('x'), told.passing, wordsOf(told)], ['cooldown', 7, 'wrong', true, 'cooldown']);
  const foreign = await problemOf(new Response('<html>', { status: 502 }), '/v1/x');
  assert.deepEqual([foreign.code, foreign.passing, wordsOf(foreign)], ['status_502', true, 'other']);
  assert.equal(wordsOf(new Problem({ status: 413, code: 'new_code' })), 's413');
  assert.equal(new Problem({ status: 403 }).passing, false);
});

test('the parts of a start have their own text, in characters and not in units of UTF-16', () => {
  const start = { markdown: '😀 guide\nnote', parts: [{ kind: 'guide', chars: 8 }, { kind: 'note', chars: 4, source: 'notes/1' }] };
  assert.deepEqual(cut(start).map((part) => part.text), ['😀 guide\n', 'note'].map((text, index) => (index ? text : '😀 guide\n')));
  assert.deepEqual(byKind(cut(start)).map((sum) => sum.chars), [8, 4]);
});

test('letters that nobody sees are named, and joiners of emoji and scripts stay', () => {
  assert.deepEqual(pieces('a\u202Eb'), ['a', { hidden: 'U+202E', names: ['U+202E'], count: 1 }, 'b']);
  assert.deepEqual(pieces('\u{E0041}\u{E0042}x'), [{ hidden: 'U+E0041', names: ['U+E0041', 'U+E0042'], count: 2 }, 'x']);
  assert.deepEqual(pieces('👩‍💻 می‌خواهم'), ['👩‍💻 می‌خواهم']);
  assert.deepEqual(pieces('line\r\nbreak\ttab'), ['line\r\nbreak\ttab']);
});
