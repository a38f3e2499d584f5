/** Digest times: when a digest was due, on the clock of its space, and how late it began. */

const LATE = 10 * 60_000;

/** `20261127T210000` → `2026-11-27T21:00:00Z`. */
export function dueAt(slot) {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(slot) ?? [];
  return year ? `${year}-${month}-${day}T${hour}:${minute}:${second}Z` : undefined;
}

/** The hours of digests are whole; a person asks at any second. */
export const byHand = (slot) => !/T\d\d0000$/.test(slot);

/** Seconds by which a due digest began too late; 0 if it was in time, or was asked for by hand. */
export function lateBy(digest) {
  const due = dueAt(digest.subject);
  const began = digest.started_at;
  if (!due || !began || byHand(digest.subject)) return 0;
  const late = new Date(began) - new Date(due);
  return late > LATE ? Math.round(late / 1000) : 0;
}

/** The first item of each day on the clock of a zone: a set of their ids. */
export function firstsOfDays(items, timeOf, idOf, zone) {
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  const firsts = new Set();
  let last;
  for (const item of items) {
    const present = day.format(new Date(timeOf(item)));
    if (present !== last) firsts.add(idOf(item));
    last = present;
  }
  return firsts;
}

/** A zone that this browser knows, or UTC. */
export function knownZone(zone) {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return zone || 'UTC';
  } catch {
    return 'UTC';
  }
}
