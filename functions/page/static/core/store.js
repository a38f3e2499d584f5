/** A value that components can watch: `get`, `set`, `subscribe`, and the hook `useStore`. */
import { useEffect, useState } from '../vendor/preact.js';

export function makeStore(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      const changed = typeof next === 'function' ? next(value) : next;
      if (changed === value) return;
      value = changed;
      for (const watcher of [...watchers]) watcher(value);
    },
    subscribe(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export function useStore(store) {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(store.get());
    return store.subscribe(setValue);
  }, [store]);
  return value;
}
