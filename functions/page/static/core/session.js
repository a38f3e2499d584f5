/** Who is signed in. The token is in memory and, until the tab closes, in sessionStorage. It is never in an address. */
import { makeStore } from './store.js';
import { tabStorage } from './storage.js';

const KEY = 'livemem.token';
const WHO = 'livemem.who';

/** `token`: the secret. `who`: the answer of `/v1/whoami`. `asked`: whether it is of this visit. `ended`: why the last session ended. */
export const session = makeStore({ token: tabStorage.get(KEY), who: tabStorage.get(WHO), ended: undefined });

export function signIn(token, who) {
  tabStorage.set(KEY, token);
  tabStorage.set(WHO, who);
  session.set({ token, who, asked: true, ended: undefined });
}

export function signOut(ended) {
  tabStorage.set(KEY, undefined);
  tabStorage.set(WHO, undefined);
  session.set({ token: undefined, who: undefined, ended });
}

/** What `/v1/whoami` says now. A view is drawn by the last answer meanwhile, so that it need not wait. */
export function setWho(who) {
  if (JSON.stringify(who) === JSON.stringify(session.get().who)) return;
  tabStorage.set(WHO, who);
  session.set((now) => ({ ...now, who }));
}

/** Whether the token has a permission. The service decides; the page only leaves out what would be refused. */
export function may(permission, who = session.get().who) {
  return who?.permissions.includes(permission) ?? false;
}

/** The one-time code of `livemem open` that waits to be exchanged for a token. */
export const pageCode = makeStore(undefined);

/** Take a one-time code out of the address at once, so that neither history nor a copied link holds it. */
export function takeCode() {
  const found = /^#code=([\w.~-]+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  pageCode.set(found[1]);
}

/** Whether the token may correct the bank of this space and decide on its plans: an admin, or whoever may write if the space says so. */
export const canCorrect = (space) => may('admin') || (may('write') && space?.corrections === 'write');
