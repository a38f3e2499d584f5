/** Answers that stay true while a view is open: read, then asked for again with their ETag. */
import { get } from './api.js';
import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';

const WHEN_HIDDEN = 12;
const LONGEST_WAIT = 60_000;

/** Repeated requests of a view go one after the other: at most one is in flight. */
let lane = Promise.resolve();
function inLane(work) {
  const turn = lane.then(work, work);
  lane = turn.catch(() => undefined);
  return turn;
}

/** Milliseconds until the next request: slower in a hidden tab, twice as long after each failure, never before Retry-After. */
export function waitOf(every, { hidden = false, failures = 0, retryAfter = 0 } = {}) {
  const slow = every * (hidden ? WHEN_HIDDEN : 1) * 2 ** Math.min(failures, 6);
  return Math.max(Math.min(slow, Math.max(LONGEST_WAIT, every * WHEN_HIDDEN)), retryAfter * 1000);
}

/**
 * Read `path` and keep it current. `path` undefined: nothing to read yet.
 * Returns {data, problem, loading, refresh}. After a failure the last data stays, beside the problem.
 * `every`: milliseconds between requests, 0 for once; or what gives them for the last answer, so that work is watched while it goes on.
 */
export function useLive(path, { query, every = 0, options } = {}) {
  const [state, setState] = useState({ data: undefined, problem: undefined, loading: true });
  const key = path ? `${path}?${JSON.stringify(query ?? {})}` : undefined;
  const again = useRef(() => undefined);
  const paced = typeof every === 'function';

  useEffect(() => {
    if (!path) {
      setState({ data: undefined, problem: undefined, loading: false });
      return undefined;
    }
    setState((now) => ({ ...now, data: now.key === key ? now.data : undefined, problem: undefined, loading: true, key }));
    const ended = new AbortController();
    let timer;
    let failures = 0;
    let last;

    const schedule = (retryAfter) => {
      clearTimeout(timer);
      const pace = paced ? every(last) : every;
      if (!pace && !failures) return;
      timer = setTimeout(() => inLane(read), waitOf(pace || 4000, { hidden: document.hidden, failures, retryAfter }));
    };
    const read = async () => {
      if (ended.signal.aborted) return;
      try {
        const data = await get(path, query, { signal: ended.signal, ...options });
        failures = 0;
        last = data;
        setState((now) => (now.data === data && !now.problem && !now.loading ? now : { data, problem: undefined, loading: false, key }));
        schedule();
      } catch (problem) {
        if (ended.signal.aborted) return;
        setState((now) => ({ ...now, problem, loading: false }));
        if (!problem.passing) return;
        failures += 1;
        schedule(problem.retryAfter);
      }
    };
    const wake = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      inLane(read);
    };
    again.current = () => {
      clearTimeout(timer);
      return inLane(read);
    };
    read();
    if (every) document.addEventListener('visibilitychange', wake);
    addEventListener('online', wake);
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', wake);
      removeEventListener('online', wake);
    };
  }, [key, paced || every]);

  const refresh = useCallback(() => again.current(), []);
  return { ...state, refresh };
}

/** Several answers, asked for one after the other, each once. Returns {path: answer, or {problem}}. */
export function useEach(paths) {
  const [answers, setAnswers] = useState({});
  const key = paths.join(' ');
  useEffect(() => {
    const ended = new AbortController();
    const ask = async () => {
      for (const path of paths) {
        const found = await get(path, undefined, { signal: ended.signal }).catch((problem) => ({ problem }));
        if (ended.signal.aborted) return;
        setAnswers((now) => ({ ...now, [path]: found }));
      }
    };
    ask();
    return () => ended.abort();
  }, [key]);
  return answers;
}

/** A request that a click starts. Returns [run, {busy, problem, clear}]; `run` gives the answer, or undefined after a failure. */
export function useAction(work) {
  const [state, setState] = useState({ busy: false, problem: undefined });
  const running = useRef(false);
  const run = async (...given) => {
    if (running.current) return undefined;
    running.current = true;
    setState({ busy: true, problem: undefined });
    try {
      const answer = await work(...given);
      setState({ busy: false, problem: undefined });
      return answer ?? true;
    } catch (problem) {
      setState({ busy: false, problem });
      return undefined;
    } finally {
      running.current = false;
    }
  };
  return [run, { ...state, clear: () => setState({ busy: false, problem: undefined }) }];
}
