/** Lists by pages: the first page stays current, further ones come by cursor when the reader gets there. */
import { get } from './api.js';
import { useLive } from './live.js';
import { useEffect, useLayoutEffect, useMemo, useState } from '../vendor/preact.js';

/** The items of a further page that no other one holds. `ids`, those of all further pages, takes theirs. */
export function added(items, ids, idOf) {
  return items.filter((item) => !ids.has(idOf(item)) && ids.add(idOf(item)));
}

/** All pages in order, each id once: the first page wins. A further page that holds none of its items stays the same array. */
export function joined(first, further, ids, idOf) {
  const twice = new Set(first.map(idOf).filter((id) => ids.has(id)));
  const rest = further.map((items) => {
    if (!twice.size) return items;
    const fresh = items.filter((item) => !twice.delete(idOf(item)));
    return fresh.length === items.length ? items : fresh;
  });
  return [first, ...rest];
}

/**
 * The items that newer ones have pushed out of a first page: those behind the last one that is still in it. An item before that was removed.
 * undefined: nothing of the page is left, so that nobody knows what came in between.
 */
export function pushedOut(before, after, idOf) {
  if (!after.next_cursor) return [];
  const ids = new Set(after.items.map(idOf));
  const last = before.items.findLastIndex((item) => ids.has(idOf(item)));
  return last < 0 && before.items.length ? undefined : before.items.slice(last + 1);
}

/** No further pages yet. `ids`: of their items; `first`: the first page before them. */
const none = (key) => ({ key, pages: [], ids: new Set(), first: undefined, cursor: undefined, problem: undefined, busy: false });

/**
 * Returns {pages, count, more, loadMore, loading, loadingMore, problem, refresh, first}.
 * Items that newer ones push out of the first page stay in the list.
 */
export function usePages(path, { query, every = 0, idOf = (item) => item.id, limit = 50 } = {}) {
  const first = useLive(path, { query: { limit, ...query }, every });
  const key = `${path}?${JSON.stringify(query ?? {})}`;
  const [rest, setRest] = useState(() => none(key));
  useEffect(() => setRest((now) => (now.key === key ? now : none(key))), [key]);

  useLayoutEffect(() => {
    setRest((now) => {
      if (now.key !== key || !now.pages.length || !first.data || now.first === first.data) return now;
      const out = pushedOut(now.first, first.data, idOf);
      if (!out) return none(key);
      const left = added(out, now.ids, idOf);
      return { ...now, first: first.data, pages: left.length ? [left, ...now.pages] : now.pages };
    });
  }, [first.data, rest.pages]);

  const mine = useMemo(() => (rest.key === key ? rest : none(key)), [rest, key]);
  const cursor = mine.pages.length ? mine.cursor : first.data?.next_cursor;
  const loadMore = async () => {
    if (!cursor || mine.busy) return;
    setRest((now) => ({ ...now, busy: true, problem: undefined }));
    try {
      const page = await get(path, { limit, ...query, cursor });
      setRest((now) => {
        if (now.key !== key) return now;
        const more = added(page.items, now.ids, idOf);
        return { ...now, first: now.first ?? first.data, pages: [...now.pages, more], cursor: page.next_cursor, busy: false };
      });
    } catch (problem) {
      setRest((now) => ({ ...now, busy: false, problem }));
    }
  };
  const pages = useMemo(() => (first.data ? joined(first.data.items, mine.pages, mine.ids, idOf) : []), [first.data, mine.pages]);
  return {
    pages,
    count: pages.reduce((sum, page) => sum + page.length, 0),
    more: Boolean(cursor),
    loadMore,
    loading: first.loading && !first.data,
    loadingMore: mine.busy,
    problem: first.problem ?? mine.problem,
    refresh: first.refresh,
    first: first.data,
  };
}
