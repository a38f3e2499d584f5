/** Light or dark: as the system has it, or as the reader chose. */
import { longStorage } from './storage.js';
import { makeStore } from './store.js';

const KEY = 'livemem.colours';
export const choices = ['auto', 'light', 'dark'];
export const colours = makeStore('auto');

export function useColours(chosen = longStorage.get(KEY)) {
  const valid = choices.includes(chosen) ? chosen : 'auto';
  document.documentElement.dataset.colours = valid;
  colours.set(valid);
  longStorage.set(KEY, valid === 'auto' ? undefined : valid);
}
