/** The client of the public API. The page calls nothing else. */
import { note, storeRequests } from './costs.js';
import { Problem, problemOf } from './problems.js';
import { session, signOut } from './session.js';
import { makeStore } from './store.js';

const KEPT_ANSWERS = 80;
const PATIENCE = 40_000;

/** Answers with an ETag, by address. An answer of 304 gives the same object again, so nothing is drawn anew. */
const answers = new Map();

/** Whether the last request reached the service, and since when none does. */
export const connection = makeStore({ lost: false, since: undefined });

/** The address of a route: `at('spaces', 'a b', 'notes')` → `/v1/spaces/a%20b/notes`. */
export function at(...parts) {
  return `/v1/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** A path of a bank file keeps its slashes. */
export function filePath(space, path) {
  return `${at('spaces', space, 'bank')}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

function withQuery(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return kept.length ? `${path}?${new URLSearchParams(kept)}` : path;
}

function keep(address, etag, data) {
  answers.delete(address);
  answers.set(address, { etag, data });
  if (answers.size > KEPT_ANSWERS) answers.delete(answers.keys().next().value);
}

export function forgetAnswers() {
  answers.clear();
}

function requestOf(method, address, { body, headers = {}, token }) {
  const sent = { Accept: 'application/json', ...headers };
  const secret = token ?? session.get().token;
  if (secret) sent.Authorization = `Bearer ${secret}`;
  const known = method === 'GET' ? answers.get(address) : undefined;
  if (known) sent['If-None-Match'] = known.etag;
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  return { known, init: { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', credentials: 'omit', redirect: 'error' } };
}

async function fetched(address, init, signal) {
  const signals = [AbortSignal.timeout(PATIENCE), ...(signal ? [signal] : [])];
  try {
    const response = await fetch(address, { ...init, signal: AbortSignal.any(signals) });
    if (connection.get().lost) connection.set({ lost: false, since: undefined });
    return response;
  } catch (error) {
    throw lost(error, address, signal);
  }
}

function lost(error, address, signal) {
  if (signal?.aborted) return error;
  connection.set((now) => (now.lost ? now : { lost: true, since: Date.now() }));
  return new Problem({ path: address });
}

/** The body of an answer and its length. It may break off after the headers came: then the connection is lost too. */
async function read(response, address, signal) {
  if (response.status === 204) return [undefined, 0];
  try {
    const text = await response.text();
    const json = (response.headers.get('Content-Type') ?? '').includes('json');
    return [json && text ? JSON.parse(text) : text, text.length];
  } catch (error) {
    throw lost(error, address, signal);
  }
}

/**
 * One request. Returns the parsed answer; throws a Problem.
 * `query`, `body`: what is sent; `token`: another secret than the session's, '' for none; `full`: the status and headers too.
 */
export async function call(method, path, { query, body, headers, signal, token, full = false } = {}) {
  const address = withQuery(path, query);
  const { known, init } = requestOf(method, address, { body, headers, token });
  const begun = performance.now();
  const log = (status, bytes, response) =>
    note({ method, path: address, status, bytes, ms: performance.now() - begun, store: storeRequests(response?.headers.get('Server-Timing')) });
  let response;
  try {
    response = await fetched(address, init, signal);
  } catch (error) {
    if (!signal?.aborted) log(0, 0);
    throw error;
  }
  if (response.status === 304 && known) {
    log(304, 0, response);
    return full ? { data: known.data, status: 304, headers: response.headers } : known.data;
  }
  if (!response.ok) {
    log(response.status, 0, response);
    const problem = await problemOf(response, address);
    if (problem.status === 401 && token === undefined && session.get().token) signOut('refused');
    throw problem;
  }
  const [data, bytes] = await read(response, address, signal);
  log(response.status, bytes, response);
  const etag = response.headers.get('ETag');
  if (method === 'GET' && etag) keep(address, etag, data);
  return full ? { data, status: response.status, headers: response.headers } : data;
}

export const get = (path, query, options) => call('GET', path, { query, ...options });
export const post = (path, body = {}, options) => call('POST', path, { body, ...options });
export const put = (path, body, options) => call('PUT', path, { body, ...options });
export const patch = (path, body, options) => call('PATCH', path, { body, ...options });
export const remove = (path, query, options) => call('DELETE', path, { query, ...options });
