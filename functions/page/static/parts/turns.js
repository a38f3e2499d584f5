/** Turns of a conversation as they were said, with the calls of tools folded. */
import { at, get, post } from '../core/api.js';
import { duration } from '../core/format.js';
import { useAction, useEach } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Badge, One, ProblemNote, Time, Words } from './basic.js';
import { confirm } from './dialog.js';
import { LongText } from './notes.js';

const LONG = 1800;
const STEP = 5;

const written = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** A large result is cut in a list; the single turn has it whole. */
function Result({ path, call, index }) {
  const [whole, setWhole] = useState(undefined);
  const [read, reading] = useAction(async () => setWhole((await get(path)).tool_calls[index].result));
  const cut = call.result_size !== undefined && whole === undefined;
  return html`<pre tabindex="0">${visible(written(whole ?? call.result) ?? '')}</pre>
    ${cut && html`<button class="plain" onClick=${read} disabled=${reading.busy}>${t('turn.result.whole', { n: call.result_size })}</button>`}<${ProblemNote} problem=${reading.problem} />`;
}

function Tools({ path, calls }) {
  const failed = calls.filter((call) => call.success === false).length;
  return html`<details class="folded tools"><summary>${t('turn.tools', { n: calls.length })}: <span class="quiet">${visible([...new Set(calls.map((call) => call.name))].join(', '))}</span>
      ${failed > 0 && html` <${Badge} tone="bad">${t('turn.tools.failed', { n: failed })}</${Badge}>`}</summary>
    ${calls.map((call, index) => html`<section key=${index}>
      <p class="row"><code>${visible(call.name)}</code>${call.success === false && html`<${Badge} tone="bad">${t('job.failed')}</${Badge}>`}${call.duration_ms !== undefined && html`<span class="quiet">${duration(call.duration_ms / 1000)}</span>`}</p>
      ${call.arguments !== undefined && html`<pre tabindex="0">${visible(written(call.arguments))}</pre>`}
      ${call.result !== undefined && html`<${Result} path=${path} call=${call} index=${index} />`}
    </section>`)}
  </details>`;
}

async function erase(space, conversation, turn) {
  const receipt = await confirm({
    title: t('turn.erase.title', { n: turn.turn_index }),
    body: html`<p>${t('turn.erase.what')}</p><p>${t('erase.never')}</p>`,
    yes: t('erase.yes'),
    grave: true,
    typed: space,
    act: () => post(at('spaces', space, 'conversations', conversation, 'turns', turn.turn_index, 'erase')),
  });
  if (receipt) go('erasure', { space, erasure: receipt.erasure_id });
}

function Side({ who, name, text, children }) {
  return html`<div class=${`said ${who}`}><p class="speaker"><b><${Words} text=${name} /></b></p>
    <div>${children}${text !== undefined && html`<${LongText} text=${text} longest=${LONG} open=${t('turn.whole')} />`}</div></div>`;
}

/** `focus`: the turn that a link leads to. */
export function Turn({ space, conversation, turn, focus = false }) {
  const path = at('spaces', space, 'conversations', conversation, 'turns', turn.turn_index);
  const lone = turn.role && turn.role !== 'assistant';
  const answer = turn.assistant_message !== undefined || turn.tool_calls?.length > 0;
  return html`<article class=${`turn ${focus ? 'focus' : ''}`} aria-label=${t('found.turn.said', { n: number(turn.turn_index) })}>
    <header class="meta"><a href=${href('conversation', { space, conversation }, { turn: turn.turn_index })}>${t('found.turn.said', { n: number(turn.turn_index) })}</a><${Time} at=${turn.said_at} />
      ${turn.written_by && html`<span>${t('turn.written.by', { name: turn.written_by })}</span>`}
      ${turn.open && html`<${Badge}>${t('turn.open')}</${Badge}>`}
      ${may('admin') && !turn.erased_on && html`<button class="plain grave-text" onClick=${() => erase(space, conversation, turn)}>${t('erase.button')}</button>`}</header>
    ${turn.erased_on && html`<p class="erased">${t('turn.erased', { day: turn.erased_on })}</p>`}
    ${turn.user_message !== undefined && html`<${Side} who="user" name=${lone ? turn.author : (turn.user ?? t('turn.user'))} text=${turn.user_message} />`}
    ${answer && html`<${Side} who="assistant" name=${turn.author} text=${turn.assistant_message}>${turn.tool_calls?.length > 0 && html`<${Tools} path=${path} calls=${turn.tool_calls} />`}</${Side}>`}
  </article>`;
}

/** The turns from one number to another, read when they are shown, a few at once. `focus`: one of them. */
export function Turns({ space, conversation, from, to, focus, first = STEP }) {
  const [more, setMore] = useState(0);
  const shown = first + more;
  const last = Math.min(to, from + shown - 1);
  const numbers = Array.from({ length: Math.max(0, last - from + 1) }, (_, index) => from + index);
  const pathOf = (n) => at('spaces', space, 'conversations', conversation, 'turns', n);
  const found = useEach(numbers.map(pathOf));
  return html`<div class="turns">${numbers.map((n) => html`<${One} key=${n} answer=${found[pathOf(n)]}>${(turn) => html`<${Turn} space=${space} conversation=${conversation} turn=${turn} focus=${n === focus} />`}</${One}>`)}
    ${last < to && html`<button class="more" onClick=${() => setMore(more + STEP)}>${t('turns.more', { n: to - last })}</button>`}</div>`;
}
