/** Memories taken apart: what their log says of one of them, and for how long they may be kept. */

export const kinds = ['fact', 'self', 'goal'];
export const lives = ['12h', '7d', '30d', '1y'];

/** Words separated by commas, each once. */
export const subjectsIn = (text) => [...new Set(text.split(',').map((one) => one.trim()).filter(Boolean))];

/** Merges that were not taken back: the last one is what a split takes back. One of the same words has nothing to split off. */
export function openMerges(events) {
  const oldestFirst = [...events].sort((one, two) => one.number - two.number);
  const open = [];
  for (const event of oldestFirst) {
    if (event.what === 'merged' && event.by !== 'text') open.push(event);
    if (event.what === 'split') open.pop();
  }
  return open;
}

/** Whether a memory is gone, by the newest event of its log, and whether it can come back. An event may be another memory's, which took this one in. */
export function stateOf(events, id) {
  const newest = [...events].sort((one, two) => two.number - one.number)[0];
  if (!newest) return 'unknown';
  if (newest.memory_id !== id && newest.what === 'merged') return 'merged';
  return ['deleted', 'expired', 'erased'].includes(newest.what) ? newest.what : 'there';
}

/** The fields of a correction that differ from the memory, with the revision that was read; undefined if none does. */
export function correctionOf(memory, { content, subjects, category, life }) {
  const change = {};
  if (content.trim() !== memory.content) change.content = content.trim();
  if (subjectsIn(subjects).join() !== memory.subjects.join()) change.subjects = subjectsIn(subjects);
  if ((category.trim() || undefined) !== memory.category) change.category = category.trim() || null;
  if (life) change.ttl = life === 'ever' ? null : life;
  return Object.keys(change).length ? { ...change, revision: memory.revision } : undefined;
}
