/** The start text taken apart: which part of it is which, and what differs between two of them. */

/** Parts in order with their own text. The `chars` of all parts add up to those of the text (Unicode characters). */
export function cut(start) {
  const letters = [...start.markdown];
  let from = 0;
  return start.parts.map((part, index) => {
    const text = letters.slice(from, from + part.chars).join('');
    from += part.chars;
    return { ...part, text, key: part.source ?? `${part.kind} ${index}` };
  });
}

/** Sums by kind, the largest first: {kind, chars, share}. */
export function byKind(parts) {
  const sums = new Map();
  for (const part of parts) sums.set(part.kind, (sums.get(part.kind) ?? 0) + part.chars);
  const all = parts.reduce((sum, part) => sum + part.chars, 0) || 1;
  return [...sums].map(([kind, chars]) => ({ kind, chars, share: chars / all })).sort((one, two) => two.chars - one.chars);
}

/** What one start has and the other lacks, by source: {come, gone, changed}. */
export function compared(before, now) {
  const then = new Map(before.map((part) => [part.key, part]));
  const today = new Map(now.map((part) => [part.key, part]));
  return {
    come: now.filter((part) => part.source && !then.has(part.key)),
    gone: before.filter((part) => part.source && !today.has(part.key)),
    changed: now.filter((part) => part.source && then.has(part.key) && then.get(part.key).text !== part.text),
  };
}
