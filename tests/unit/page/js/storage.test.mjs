/** What a tab keeps, where a browser may forbid it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { tabStorage } = await import(new URL('../../../../functions/page/static/core/storage.js', import.meta.url));

test('nothing fails where a browser forbids storage, and nothing is kept', () => {
  delete globalThis.sessionStorage;
  Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, get: () => { throw new Error('denied'); } });
  tabStorage.set('livemem.x', 1);
  tabStorage.forget('livemem.');
  assert.equal(tabStorage.get('livemem.x'), undefined);
});

test('what somebody typed is gone after the sign-out, and nothing else is', () => {
  const kept = Object.assign(Object.create({
    getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; },
    setItem(key, value) { this[key] = value; },
    removeItem(key) { delete this[key]; },
  }), { other: '1' });
  Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, value: kept });
  tabStorage.set('livemem.draft.note', 'words');
  assert.equal(tabStorage.get('livemem.draft.note'), 'words');
  tabStorage.forget('livemem.');
  assert.deepEqual(Object.keys(kept), ['other']);
});
