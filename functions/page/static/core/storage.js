/** sessionStorage and localStorage that never throw: a browser may forbid them, or they may be full. */
function guarded(name) {
  const storage = () => globalThis[name];
  return {
    get(key) {
      try {
        const text = storage().getItem(key);
        return text === null ? undefined : JSON.parse(text);
      } catch {
        return undefined;
      }
    },
    set(key, value) {
      try {
        if (value === undefined) storage().removeItem(key);
        else storage().setItem(key, JSON.stringify(value));
      } catch {
        // The page works without: only a reload then loses what was kept.
      }
    },
    /** Remove all that begins so. */
    forget(beginning) {
      try {
        for (const key of Object.keys(storage())) if (key.startsWith(beginning)) storage().removeItem(key);
      } catch {
        // As above.
      }
    },
  };
}

/** Ends with the tab. */
export const tabStorage = guarded('sessionStorage');
/** Stays: choices of language and colours, and which change somebody saw last; never a secret. */
export const longStorage = guarded('localStorage');
