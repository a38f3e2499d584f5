/** Views by the fragment of the address. Each view has a link, and the server needs no route for it. */
import { makeStore } from './store.js';

/** Name of a view: the pattern of its address. `*` at the end takes the rest, slashes included. */
export const patterns = {
  start: '/',
  space: '/spaces/:space',
  bank: '/spaces/:space/bank',
  file: '/spaces/:space/bank/*',
  note: '/spaces/:space/notes/:note',
  review: '/spaces/:space/review/:run',
  run: '/spaces/:space/runs/:run',
  history: '/spaces/:space/history',
  change: '/spaces/:space/history/:number',
  then: '/spaces/:space/then',
  rules: '/spaces/:space/rules',
  told: '/spaces/:space/told',
  settings: '/spaces/:space/settings',
  search: '/spaces/:space/search',
  conversations: '/spaces/:space/conversations',
  conversation: '/spaces/:space/conversations/:conversation',
  memories: '/spaces/:space/memories',
  memory: '/spaces/:space/memories/:memory',
  rooms: '/spaces/:space/rooms',
  room: '/spaces/:space/rooms/:room',
  digest: '/spaces/:space/digests/:slot',
  ask: '/spaces/:space/ask',
  erasure: '/spaces/:space/erasures/:job',
  operate: '/operate',
  operatePart: '/operate/:part',
};

const REST = '*';

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function matched(pattern, path) {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part === REST) {
      if (given.length <= index) return undefined;
      params.rest = given.slice(index).map(decoded).join('/');
      return params;
    }
    if (index >= given.length) return undefined;
    if (part.startsWith(':')) params[part.slice(1)] = decoded(given[index]);
    else if (part !== given[index]) return undefined;
  }
  return given.length === wanted.length ? params : undefined;
}

/** `#/spaces/demo/bank/a.md?section=x` → {name, params, query}; an unknown address has the name `missing`. */
export function parse(fragment) {
  const [path, search = ''] = fragment.replace(/^#/, '').split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  for (const [name, pattern] of Object.entries(patterns)) {
    const params = matched(pattern, path);
    if (params) return { name, params, query };
  }
  return { name: 'missing', params: {}, query };
}

/** The link to a view. Parameters of the query that are empty are left out. */
export function href(name, params = {}, query = {}) {
  const path = patterns[name]
    .split('/')
    .map((part) => {
      if (part === REST) return String(params.rest).split('/').map(encodeURIComponent).join('/');
      return part.startsWith(':') ? encodeURIComponent(params[part.slice(1)]) : part;
    })
    .join('/');
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(kept).toString();
  return `#${path}${search ? `?${search}` : ''}`;
}

export const route = makeStore(parse(globalThis.location?.hash ?? ''));

export function followAddress() {
  addEventListener('hashchange', () => route.set(parse(location.hash)));
}

export function go(name, params, query) {
  location.hash = href(name, params, query);
}

/** Change the query of the present view without another entry in the browser's history. */
export function changeQuery(changes) {
  const { name, params, query } = route.get();
  history.replaceState(null, '', href(name, params, { ...query, ...changes }));
  route.set(parse(location.hash));
}
