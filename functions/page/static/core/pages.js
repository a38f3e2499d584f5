/** Lists by pages: the first page stays current, further ones come by cursor when the reader gets there. */
import { get } from './api.js';
import { useLive } from './live.js';
import { useEffect, useLayoutEffect, useMemo, useState } from '../vendor/preact.js';

/** The items of all pages in order, each id once. A newer page wins over an older one. A page without repeats stays the same array. */
export function joined(pages, idOf) {
  const seen = new Set();
  return pages.map(({ items }) => {
    const fresh = items.filter((item) => {
      const id = idOf(item);
      if (seen.has(id)) return false;
      seen.add(id);
      return true;
    });
    return fresh.length === items.length ? items : fresh;
  });
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

const NONE = { pages: [], cursor: undefined, busy: false };

/**
 * Returns {pages, count, more, loadMore, loading, loadingMore, problem, refresh, first}.
 * Items that newer ones push out of the first page stay in the list.
 */
export function usePages(path, { query, every = 0, idOf = (item) => item.id, limit = 50 } = {}) {
  const first = useLive(path, { query: { limit, ...query }, every });
  const key = `${path}?${JSON.stringify(query ?? {})}`;
  const [rest, setRest] = useState({ key, pages: [], cursor: undefined, problem: undefined, busy: false });
  useEffect(() => setRest({ key, pages: [], cursor: undefined, problem: undefined, busy: false }), [key]);

  useLayoutEffect(() => {
    setRest((now) => {
      if (now.key !== key || !now.pages.length || !first.data || now.first === first.data) return now;
      const out = pushedOut(now.first, first.data, idOf);
      if (!out) return { ...NONE, key };
      return { ...now, first: first.data, pages: out.length ? [{ items: out }, ...now.pages] : now.pages };
    });
  }, [first.data]);

  const mine = rest.key === key ? rest : NONE;
  const cursor = mine.pages.length ? mine.cursor : first.data?.next_cursor;
  const loadMore = async () => {
    if (!cursor || mine.busy) return;
    setRest((now) => ({ ...now, busy: true, problem: undefined }));
    try {
      const page = await get(path, { limit, ...query, cursor });
      // The first page as it was is kept too: a poll may have pushed some of its items out of the new first page.
      setRest((now) =>
        now.key === key
          ? { ...now, first: now.first ?? first.data, pages: [...(now.pages.length ? now.pages : [first.data]), page], cursor: page.next_cursor, busy: false }
          : now,
      );
    } catch (problem) {
      setRest((now) => ({ ...now, busy: false, problem }));
    }
  };
  const pages = useMemo(() => (first.data ? joined([first.data, ...mine.pages], idOf) : []), [first.data, mine.pages]);
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
