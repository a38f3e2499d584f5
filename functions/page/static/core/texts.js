/** The words of the page in English and French. Only the chosen language is loaded. */
import { longStorage } from './storage.js';
import { makeStore } from './store.js';

export const languages = ['en', 'fr'];
const KEY = 'livemem.language';

let words = {};
let plurals = new Intl.PluralRules('en');

/** The language in use. Components that watch it are drawn again when it changes. */
export const language = makeStore(undefined);

function preferred() {
  const kept = longStorage.get(KEY);
  if (languages.includes(kept)) return kept;
  const asked = (navigator.languages ?? ['en']).map((tag) => tag.slice(0, 2).toLowerCase());
  return asked.find((tag) => languages.includes(tag)) ?? 'en';
}

export async function speak(chosen = preferred()) {
  const module = await import(`../texts/${chosen}.js`);
  words = module.default;
  plurals = new Intl.PluralRules(chosen);
  document.documentElement.lang = chosen;
  language.set(chosen);
}

export function chooseLanguage(chosen) {
  longStorage.set(KEY, chosen);
  return speak(chosen);
}

/** The text of a key. `{name}` is replaced by the value of that name; a text with forms is chosen by `n`. */
export function t(key, values = {}) {
  const found = words[key];
  if (found === undefined) return key;
  const form = typeof found === 'string' ? found : (found[plurals.select(values.n)] ?? found.other);
  return form.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(typeof values[name] === 'number' ? number(values[name]) : values[name]) : whole));
}

/** Whether there is a text of this key: for codes that the service may add. */
export const has = (key) => key in words;

export function number(value, options) {
  return new Intl.NumberFormat(language.get(), options).format(value);
}
