/** Who is signed in. The token is in memory and, until the tab closes, in sessionStorage. It is never in an address. */
import { makeStore } from './store.js';
import { tabStorage } from './storage.js';

const KEY = 'livemem.token';

/** `token`: the secret. `who`: the answer of `/v1/whoami`. `ended`: why the last session ended. */
export const session = makeStore({ token: tabStorage.get(KEY), who: undefined, ended: undefined });

export function signIn(token, who) {
  tabStorage.set(KEY, token);
  session.set({ token, who, ended: undefined });
}

export function signOut(ended) {
  tabStorage.set(KEY, undefined);
  session.set({ token: undefined, who: undefined, ended });
}

export function setWho(who) {
  session.set((now) => ({ ...now, who }));
}

/** Whether the token has a permission. The service decides; the page only leaves out what would be refused. */
export function may(permission, who = session.get().who) {
  return who?.permissions.includes(permission) ?? false;
}

/** Take a one-time code out of the address at once, so that neither history nor a copied link holds it. */
export function takeCode() {
  const found = /^#code=([\w.~-]+)$/.exec(location.hash);
  if (!found) return undefined;
  history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  return found[1];
}

/** Whether the token may correct the bank of this space and decide on its plans: an admin, or whoever may write if the space says so. */
export const canCorrect = (space) => may('admin') || (may('write') && space?.corrections === 'write');
