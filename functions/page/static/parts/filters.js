/** Filters of lists: what is typed or chosen stands in the address, so that each state has a link. */
import { useLive } from '../core/live.js';
import { changeQuery } from '../core/router.js';
import { has, t } from '../core/texts.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { Field, useSettled } from './field.js';

/** The categories of notes that the service has, as options. */
export const useCategories = (value) => (useLive('/v1/about').data?.categories ?? [value].filter(Boolean))
  .map((name) => [name, has(`category.${name}`) ? t(`category.${name}`) : name]);

/** A parameter of the address that somebody types: it follows after a pause. Returns [text, setText, now]. */
export function useTyped(name, value = '', pause = 300) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const settled = useSettled(text, pause);
  const send = (typed) => {
    if (typed === sent.current) return;
    sent.current = typed;
    changeQuery({ [name]: typed });
  };
  // A link or the browser's way back may change the address too; what is being typed does not give way to its own past.
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (settled === text) send(settled);
  }, [settled]);
  return [text, setText, () => send(text)];
}

export function TypedFilter({ name, label, value, ...more }) {
  const [text, setText, now] = useTyped(name, value);
  // Who goes on to another filter has ended this one: the list never shows the one without the other.
  return html`<${Field} label=${label} value=${text} onChange=${setText} onBlur=${() => now()} type="search" ...${more} />`;
}

/** A category of notes, or any. */
export const CategoryFilter = ({ value }) => html`<${Field} label=${t('filter.category')} value=${value ?? ''} onChange=${(category) => changeQuery({ category })}
  options=${[['', t('filter.any')], ...useCategories(value)]} />`;

/** A day on the reader's calendar. */
export const DayFilter = ({ name, label, value }) => html`<${Field} label=${label} type="date" value=${value ?? ''} onChange=${(day) => changeQuery({ [name]: day })} />`;
