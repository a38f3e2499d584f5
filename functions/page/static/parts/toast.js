/** Short messages at the edge of the page. One with `undo` takes the change back. */
import { wordsOf } from '../core/problems.js';
import { makeStore, useStore } from '../core/store.js';
import { has, t } from '../core/texts.js';
import { html } from '../vendor/preact.js';

const STAYS = 8_000;
const shown = makeStore([]);
let last = 0;

export function dismiss(id) {
  shown.set((now) => now.filter((toast) => toast.id !== id));
}

/** `text`; `tone`: good or bad; `undo`: async function, which brings a button; `link`: {href, label}. */
export function toast(message) {
  const id = ++last;
  shown.set((now) => [...now.slice(-3), { id, ...message }]);
  setTimeout(() => dismiss(id), message.undo || message.tone === 'bad' ? STAYS * 2 : STAYS);
}

/** Why something failed: in the reader's language, and what the service says of it. */
export function toastProblem(problem) {
  const what = `problem.${wordsOf(problem)}.what`;
  toast({ text: [has(what) && t(what), problem.detail].filter(Boolean).join(' ') || problem.message, tone: 'bad' });
}

async function takeBack(one) {
  dismiss(one.id);
  try {
    await one.undo();
    toast({ text: t('undone'), tone: 'good' });
  } catch (problem) {
    toastProblem(problem);
  }
}

/** Stands once in the page. */
export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${useStore(shown).map((one) => html`<div key=${one.id} class=${`toast ${one.tone ?? ''}`}>
      <span>${one.text}</span>
      ${one.link && html`<a href=${one.link.href} onClick=${() => dismiss(one.id)}>${one.link.label}</a>`}
      ${one.undo && html`<button class="plain" onClick=${() => takeBack(one)}>${t('undo')}</button>`}
      <button class="plain" aria-label=${t('close')} onClick=${() => dismiss(one.id)}>×</button>
    </div>`)}
  </div>`;
}
