/** The small parts of every view. */
import { ago, duration, moment } from '../core/format.js';
import { shownLetters } from '../core/letters.js';
import { session } from '../core/session.js';
import { makeStore, useStore } from '../core/store.js';
import { has, t } from '../core/texts.js';
import { wordsOf } from '../core/problems.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { visible } from '../core/markdown.js';

const minute = makeStore(0);
setInterval(() => document.hidden || minute.set((now) => now + 1), 20_000);

/** A time as "3 minutes ago", with the whole time as its title. `exact`: the whole time itself. */
export function Time({ at, exact = false, form = 'long' }) {
  useStore(minute);
  if (!at) return null;
  return html`<time datetime=${at} title=${moment(at, { dateStyle: 'full', timeStyle: 'long' })}>${exact ? moment(at) : ago(at, Date.now(), form)}</time>`;
}

/** The name of a view, which gets the focus when the view opens, and what belongs beside it. */
export function Heading({ title, above, children }) {
  const heading = useRef();
  useEffect(() => {
    document.title = `${shownLetters(title)} · Live Memory`;
  }, [title]);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('nav, header')) heading.current?.focus({ preventScroll: true });
  }, []);
  return html`<header class="view-head">
    <div>
      ${above && html`<p class="above">${above}</p>`}
      <h1 tabindex="-1" ref=${heading} class="words" dir="auto">${visible(title)}</h1>
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/** A part of a view with a title. `level`: of its heading. */
export function Panel({ title, side, children, class: kind = '', id }) {
  return html`<section class=${`panel ${kind}`} id=${id} aria-label=${title}>
    ${title && html`<div class="panel-head"><h2>${title}</h2>${side && html`<div class="side">${side}</div>`}</div>`}
    ${children}
  </section>`;
}

/** Nothing here yet: what this place is for, and how something comes into it. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children && html`<div>${children}</div>`}</div>`;
}

export function Loading({ lines = 3 }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="loading" role="status"><span class="unseen">${t('loading')}</span>${late && Array.from({ length: lines }, (_, index) => html`<i key=${index} />`)}</div>`;
}

/** What happened, and what to do. Passing problems are tried again by the view itself. */
export function ProblemNote({ problem, again }) {
  if (!problem) return null;
  if (!problem.status && !problem.code) throw problem;
  const words = wordsOf(problem);
  const known = has(`problem.${words}.what`);
  return html`<div class=${`problem ${problem.passing ? 'passing' : ''}`} role="alert">
    <p class="what">${known ? t(`problem.${words}.what`) : problem.detail}</p>
    ${known && html`<p>${t(`problem.${words}.do`, { wait: duration(problem.retryAfter ?? 5), name: session.get().who?.name ?? '' })}</p>`}
    ${problem.errors?.length > 0 && html`<ul>${problem.errors.map((error) => html`<li><code>${error.field}</code> ${error.message}</li>`)}</ul>`}
    ${known && problem.detail && !problem.errors?.length && html`<p class="detail" lang="en">${visible(problem.detail)}</p>`}
    <p class="codes">
      <code>${problem.status || ''} ${problem.code}</code>
      ${problem.requestId && html` · <code>${problem.requestId}</code>`}
      ${again && html` <button class="plain" onClick=${again}>${t('try.again')}</button>`}
    </p>
  </div>`;
}

/** The data of `useLive` when it is there; else what is known instead of it. */
export function Answer({ live, children, lines }) {
  if (live.data === undefined) {
    return live.problem ? html`<${ProblemNote} problem=${live.problem} again=${live.refresh} />` : html`<${Loading} lines=${lines} />`;
  }
  return html`${live.problem && html`<${ProblemNote} problem=${live.problem} again=${live.refresh} />`}${children(live.data)}`;
}

/** One answer of `useEach`, once it is there. */
export function One({ answer, lines = 2, children }) {
  if (!answer) return html`<${Loading} lines=${lines} />`;
  return answer.problem ? html`<${ProblemNote} problem=${answer.problem} />` : children(answer);
}

/** A word with a colour: `tone` is good, warn, bad, accent or nothing. */
export const Badge = ({ tone = '', children, title }) => html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`;

/** A category of notes: a dot and its name. */
export const Category = ({ name }) => html`<span class=${`category ${name}`}>${has(`category.${name}`) ? t(`category.${name}`) : name}</span>`;

/** Text of others, in one line or several, with its hidden letters shown. */
export const Words = ({ text }) => html`<span class="words" dir="auto">${visible(text ?? '')}</span>`;

/** Something to copy: a command, an id, a secret. */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1600);
    } catch {
      setDone(false);
    }
  };
  return html`<span class="copy"><code>${label ?? text}</code><button class="plain" onClick=${copy} aria-label=${`${t('copy')}: ${label ?? text}`}>${done ? t('copied') : t('copy')}</button></span>`;
}

/** Choices of which one holds, as buttons: [{value, label, count}]. */
export function Choice({ label, options, value, onChange }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map((option) => html`<button key=${option.value} type="button" aria-pressed=${option.value === value} onClick=${() => onChange(option.value)}>
      ${option.label}${option.count !== undefined && html` <span class="count">${option.count}</span>`}
    </button>`)}
  </div>`;
}

/** Links to the parts of a view; the present one is marked. */
export const Tabs = ({ label, items }) => html`<nav class="tabs" aria-label=${label}>
  ${items.map((item) => html`<a key=${item.href} href=${item.href} aria-current=${item.current ? 'page' : undefined}>${item.label}${item.count !== undefined && html` <span class="count">${item.count}</span>`}</a>`)}
</nav>`;

/** Names and values: [[name, value], ...]; those without a value are left out. */
export const Facts = ({ items }) => html`<dl class="facts">
  ${items.filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;
