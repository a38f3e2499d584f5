/** Fields of forms. What is typed survives a reload of the tab, until it is sent. */
import { tabStorage } from '../core/storage.js';
import { t } from '../core/texts.js';
import { html, useEffect, useId, useRef, useState } from '../vendor/preact.js';

/** A text that sessionStorage keeps under `key`. Returns [text, setText, forget]. Never for a secret. */
export function useDraft(key, initial = '') {
  const name = `livemem.draft.${key}`;
  const [text, setText] = useState(() => tabStorage.get(name) ?? initial);
  const present = useRef(name);
  useEffect(() => {
    if (present.current === name) return;
    present.current = name;
    setText(tabStorage.get(name) ?? initial);
  }, [name]);
  const change = (next) => {
    setText(next);
    tabStorage.set(name, next === initial ? undefined : next);
  };
  const forget = () => {
    tabStorage.set(name, undefined);
    setText(initial);
  };
  return [text, change, forget];
}

/** A value that follows another one after a pause: for searches while somebody types. */
export function useSettled(value, pause = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}

/**
 * `label`, `value`, `onChange(text)`; `hint`; `error` (of a Problem: `problem.fieldError('name')`);
 * `rows` makes it several lines; `type`, `options` ([value, label] pairs) make it another one.
 */
export function Field({ label, value, onChange, hint, error, rows, type = 'text', options, optional, ...more }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
  const shared = { id, value, 'aria-describedby': described, 'aria-invalid': error ? 'true' : undefined, onInput: (event) => onChange(event.target.value), ...more };
  const input = options
    ? html`<select ...${shared} onChange=${(event) => onChange(event.target.value)}>${options.map(([name, text]) => html`<option key=${name} value=${name} selected=${name === value}>${text}</option>`)}</select>`
    : rows
      ? html`<textarea rows=${rows} ...${shared} />`
      : html`<input type=${type} ...${shared} />`;
  return html`<div class=${`field ${error ? 'wrong' : ''}`}>
    <label for=${id}>${label}${optional && html` <small>${t('optional')}</small>`}</label>
    ${input}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}

/** A box to tick. */
export function Tick({ label, checked, onChange, ...more }) {
  return html`<label class="tick"><input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${more} /><span>${label}</span></label>`;
}
