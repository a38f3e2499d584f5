/** The questions of this tab: kept until it closes, so that a reload loses neither a question nor its answer. */
import { tabStorage } from './storage.js';

const MOST = 40;
const nameOf = (space, who) => `livemem.asked.${space}.${who}`;

/** [{key, message, room, at, id}], the oldest first. `key` names the request, so that asking again answers the same question. */
export const askedIn = (space, who) => tabStorage.get(nameOf(space, who)) ?? [];

export function keepAsked(space, who, list) {
  tabStorage.set(nameOf(space, who), list.length ? list.slice(-MOST) : undefined);
}

/** The tools that looked something up: the one that gives the answer is no search. */
export const lookups = (answer) => (answer.tool_calls ?? []).filter((call) => call.name !== 'respond');

/** What a tool was asked, in a line. */
export function askedOf(call) {
  const given = call.arguments;
  if (given === undefined || given === null) return '';
  if (typeof given !== 'object') return String(given);
  return Object.entries(given)
    .map(([name, value]) => (name === 'query' ? String(value) : `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`))
    .join(', ');
}

export const isFinal = (answer) => answer && !['queued', 'running'].includes(answer.status);
