/** One dialog at a time: a question before something that is hard to take back. */
import { makeStore, useStore } from '../core/store.js';
import { t } from '../core/texts.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { visible } from '../core/markdown.js';
import { ProblemNote } from './basic.js';
import { toastProblem } from './toast.js';

const open = makeStore(undefined);

/**
 * Ask, and do. Returns a promise of what `act` gave, or undefined if the person did not agree.
 * `title`, `body` (text or nodes), `yes` (the button), `grave` (red), `typed` (a word that has to be typed),
 * `reason` ('optional' or 'required': a text that `act` gets), `act` (async; its Problem is shown in the dialog).
 */
export function confirm(question) {
  return new Promise((done) => open.set({ ...question, done }));
}

function hide(question) {
  if (open.get() === question) open.set(undefined);
}

function close(question, answer) {
  hide(question);
  question.done(answer);
}

function Question({ question }) {
  const box = useRef();
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [state, setState] = useState({ busy: false });
  const busy = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    // A question belongs to its view. One that is being carried out still tells its answer.
    const leave = () => (busy.current ? hide(question) : close(question, undefined));
    addEventListener('hashchange', leave);
    return () => {
      removeEventListener('hashchange', leave);
      if (open.get() === question) leave();
      if (before?.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  const ready = (!question.typed || typed.trim() === question.typed) && (question.reason !== 'required' || reason.trim());
  const submit = async (event) => {
    event.preventDefault();
    if (!ready || state.busy) return;
    busy.current = true;
    setState({ busy: true });
    try {
      const answer = await question.act?.(reason.trim() || undefined);
      close(question, answer ?? true);
    } catch (problem) {
      busy.current = false;
      if (open.get() === question) {
        setState({ busy: false, problem });
      } else {
        question.done(undefined);
        toastProblem(problem);
      }
    }
  };
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(event) => {
    event.preventDefault();
    if (!state.busy) close(question, undefined);
  }}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${visible(question.title)}</h2>
      <div class="dialog-body">${question.body}</div>
      ${question.reason && html`<label class="field"><span>${t('reason')}${question.reason === 'optional' && html` <small>${t('optional')}</small>`}</span>
        <textarea rows="2" maxlength="500" value=${reason} onInput=${(event) => setReason(event.target.value)} /></label>`}
      ${question.typed && html`<label class="field"><span>${t('type.to.confirm', { word: question.typed })}</span>
        <input autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>`}
      <${ProblemNote} problem=${state.problem} />
      <div class="dialog-buttons">
        <button type="button" onClick=${() => close(question, undefined)} disabled=${state.busy}>${t('cancel')}</button>
        <button type="submit" class=${question.grave ? 'grave' : 'main'} disabled=${!ready || state.busy}>${state.busy ? t('working') : question.yes}</button>
      </div>
    </form>
  </dialog>`;
}

/** Stands once in the page. */
export function DialogHost() {
  const question = useStore(open);
  return question ? html`<${Question} key=${question.title} question=${question} />` : null;
}
