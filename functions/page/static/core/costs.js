/** What each view cost: the calls of the API that it made, and the store's requests that the answers name. */
import { makeStore } from './store.js';
import { route } from './router.js';

const KEPT = 400;

/** The newest calls first: {view, method, path, status, ms, bytes, at, store}. */
export const calls = makeStore([]);

export function note(call) {
  calls.set((now) => [{ view: route.get().name, at: Date.now(), ...call }, ...now].slice(0, KEPT));
}

/** `Server-Timing: store;desc="3 GET, 2 LIST"` → {GET: 3, LIST: 2}. */
export function storeRequests(header) {
  const found = /(?:^|,)\s*store(?:;[^,"]*(?:"[^"]*")?)*?;desc="([^"]*)"/.exec(header ?? '');
  if (!found) return undefined;
  const counted = {};
  for (const [, number, kind] of found[1].matchAll(/(\d+)\s+([A-Za-z]+)/g)) counted[kind] = Number(number);
  return counted;
}

/** Totals of the calls of each view, the most expensive first. */
export function byView(list) {
  const views = new Map();
  for (const call of list) {
    const sum = views.get(call.view) ?? { view: call.view, calls: 0, unchanged: 0, failed: 0, ms: 0, bytes: 0, store: {}, known: true };
    sum.calls += 1;
    sum.unchanged += call.status === 304 ? 1 : 0;
    sum.failed += call.status >= 400 || call.status === 0 ? 1 : 0;
    sum.ms += call.ms;
    sum.bytes += call.bytes;
    if (!call.store) sum.known = false;
    for (const [kind, number] of Object.entries(call.store ?? {})) sum.store[kind] = (sum.store[kind] ?? 0) + number;
    views.set(call.view, sum);
  }
  return [...views.values()].sort((one, two) => two.calls - one.calls);
}
