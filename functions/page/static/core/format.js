/** Times, sizes and durations as people read them, in the chosen language. */
import { language, number } from './texts.js';

const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Infinity],
];

/** "3 minutes ago"; `now` in milliseconds. */
export function ago(when, now = Date.now(), style = 'long') {
  let distance = (new Date(when).getTime() - now) / 1000;
  if (Math.abs(distance) < 5) distance = 0;
  for (const [unit, size] of STEPS) {
    if (Math.abs(Math.round(distance)) < size) {
      return new Intl.RelativeTimeFormat(language.get(), { numeric: 'auto', style }).format(Math.round(distance), unit);
    }
    distance /= size;
  }
  return '';
}

export function moment(when, options = { dateStyle: 'medium', timeStyle: 'short' }) {
  const date = new Date(when);
  return Number.isNaN(date.getTime()) ? String(when ?? '') : new Intl.DateTimeFormat(language.get(), options).format(date);
}

export const day = (when) => moment(when, { dateStyle: 'medium' });
export const weekday = (when) => moment(when, { weekday: 'long', day: 'numeric', month: 'long' });
export const clock = (when) => moment(when, { hour: '2-digit', minute: '2-digit' });

/** The day of a time on the reader's calendar, as a key for groups. */
export function dayKey(when) {
  const date = new Date(when);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

export function bytes(size) {
  if (size < 1_000_000) return number(size / 1000, { style: 'unit', unit: 'kilobyte', maximumFractionDigits: size < 10_000 ? 1 : 0 });
  return number(size / 1_000_000, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 });
}

export function duration(secondsLong) {
  if (secondsLong < 1) return number(secondsLong * 1000, { style: 'unit', unit: 'millisecond', maximumFractionDigits: 0 });
  if (secondsLong < 90) return number(secondsLong, { style: 'unit', unit: 'second', maximumFractionDigits: 1 });
  if (secondsLong < 5400) return number(secondsLong / 60, { style: 'unit', unit: 'minute', maximumFractionDigits: 0 });
  return number(secondsLong / 3600, { style: 'unit', unit: 'hour', maximumFractionDigits: 1 });
}

export const between = (start, end) => (start && end ? duration((new Date(end) - new Date(start)) / 1000) : '');

export const short = (value) => number(value, { notation: 'compact', maximumFractionDigits: 1 });
