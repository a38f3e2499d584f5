/** Turns of a conversation as they were said, with the calls of tools folded. */
import { at, get } from '../core/api.js';
import { duration } from '../core/format.js';
import { useAction } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { usePages } from '../core/pages.js';
import { href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Badge, Empty, ProblemNote, Time, Words } from './basic.js';
import { erase } from './erasing.js';
import { PagedList } from './list.js';
import { LongText } from './notes.js';

const LONG = 1800;

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

function Side({ who, name, text, children }) {
  return html`<div class=${`said ${who}`}><p class="speaker"><b><${Words} text=${name} /></b></p>
    <div>${children}${text !== undefined && html`<${LongText} text=${text} longest=${LONG} open=${t('turn.whole')} />`}</div></div>`;
}

/** `focus`: the turn that a link leads to. */
export function Turn({ space, conversation, turn, focus = false }) {
  const path = at('spaces', space, 'conversations', conversation, 'turns', turn.turn_index);
  const lone = turn.role && turn.role !== 'assistant';
  // Each token that may write can name anybody.
  const writer = turn.written_by ?? (turn.user !== undefined && turn.user !== turn.author ? turn.author : undefined);
  const answer = turn.assistant_message !== undefined || turn.tool_calls?.length > 0;
  return html`<article class=${`turn ${focus ? 'focus' : ''}`} aria-label=${t('found.turn.said', { n: number(turn.turn_index) })}>
    <header class="meta"><a href=${href('conversation', { space, conversation }, { turn: turn.turn_index })}>${t('found.turn.said', { n: number(turn.turn_index) })}</a><${Time} at=${turn.said_at} />
      ${writer && html`<span>${t('turn.written.by', { name: writer })}</span>`}
      ${turn.open && html`<${Badge}>${t('turn.open')}</${Badge}>`}
      ${may('admin') && !turn.erased_on && html`<button class="plain grave-text" onClick=${() => erase(space, [`${conversation}/${turn.turn_index}`])}>${t('erase.button')}</button>`}</header>
    ${turn.erased_on && html`<p class="erased">${t('turn.erased', { day: turn.erased_on })}</p>`}
    ${turn.user_message !== undefined && html`<${Side} who="user" name=${lone ? turn.author : (turn.user ?? t('turn.user'))} text=${turn.user_message} />`}
    ${answer && html`<${Side} who="assistant" name=${turn.author} text=${turn.assistant_message}>${turn.tool_calls?.length > 0 && html`<${Tools} path=${path} calls=${turn.tool_calls} />`}</${Side}>`}
  </article>`;
}

/** The turns from one number to another, the oldest first. `focus`: one of them. */
export function Turns({ space, conversation, from, to, focus }) {
  const idOf = (turn) => turn.turn_index;
  const list = usePages(at('spaces', space, 'conversations', conversation, 'turns'), { query: { order: 'oldest', first: from, last: to }, idOf, limit: 20 });
  return html`<${PagedList} class="turns" list=${list} idOf=${idOf} empty=${html`<${Empty} title=${t('turns.none')} />`} row=${(turn) => html`<${Turn} space=${space} conversation=${conversation} turn=${turn} focus=${turn.turn_index === focus} />`} />`;
}
