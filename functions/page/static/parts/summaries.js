/** Summaries of conversations: each opens what it covers, down to the turns, and the notes that were captured there. */
import { at, post } from '../core/api.js';
import { useAction, useLive } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { usePages } from '../core/pages.js';
import { may } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Answer, Badge, Facts, ProblemNote, Time, Words } from './basic.js';
import { PagedList } from './list.js';
import { LongText, Note } from './notes.js';
import { toast } from './toast.js';
import { Turns } from './turns.js';

export const summaryId = (summary) => `${summary.level}/${summary.number}`;
const range = ([first, last]) => (first === last ? number(first) : `${number(first)}–${number(last)}`);
const covered = ({ covers: { turns } }) => ({ turns: range(turns), n: turns[1] - turns[0] + 1 });

/** The summaries of the level below that a summary covers, the newest first. */
function Below({ space, conversation, summary }) {
  const [first, last] = summary.children;
  const list = usePages(at('spaces', space, 'conversations', conversation, 'summaries'), { query: { level: summary.level - 1, first, last }, idOf: summaryId, limit: 20 });
  return html`<${PagedList} class="below" list=${list} idOf=${summaryId} row=${(one) => html`<${Summary} space=${space} conversation=${conversation} summary=${one} />`} />`;
}

function Captured({ space, ids }) {
  const live = useLive(at('spaces', space, 'notes'), { query: { ids: ids.join() } });
  return html`<div class="source-notes"><${Answer} live=${live}>${({ items }) => items.map((note) => html`<${Note} key=${note.note_id} note=${note} />`)}</${Answer}></div>`;
}

const joined = (list) => list?.length > 0 && html`<${Words} text=${list.join(', ')} />`;

function Details({ summary }) {
  const entities = Object.values(summary.entities ?? {}).flat();
  return html`<${Facts} items=${[
    [t('summary.topics'), joined(summary.topics)],
    [t('summary.files'), summary.files_mentioned?.length > 0 && html`<code>${visible(summary.files_mentioned.join(', '))}</code>`],
    [t('summary.names'), joined(entities)],
    [t('summary.signals'), joined(summary.signals)],
    [t('summary.written.for'), joined(summary.written_for?.map((one) => t('summary.said.by', one)))],
    [t('summary.tools'), joined(summary.tools_used)],
    [t('fact.made'), summary.generated_at && html`<${Time} at=${summary.generated_at} />`],
    [t('fact.model'), summary.model],
    [t('summary.size'), t('summary.size.of', { text: (summary.summary ?? '').length, source: summary.source_chars })],
  ]} />`;
}

/** `focus`: the summary that a link leads to. */
export function Summary({ space, conversation, summary, focus = false, changed }) {
  const [open, setOpen] = useState(undefined);
  const toggle = (what) => setOpen(open === what ? undefined : what);
  const [redo, redoing] = useAction(async () => {
    await post(at('spaces', space, 'conversations', conversation, 'summaries', summary.level, summary.number, 'redo'));
    toast({ text: t('summary.redo.done'), tone: 'good' });
    changed?.();
  });
  const below = summary.level === 1 ? t('summary.open.turns', covered(summary)) : t('summary.open.below', { n: summary.children[1] - summary.children[0] + 1 });
  const tab = (what, label) => html`<button class="plain" aria-expanded=${open === what} onClick=${() => toggle(what)}>${label}</button>`;
  return html`<article class=${`summary ${focus ? 'focus' : ''}`}>
    <header class="meta"><b>${t('summary.turns', covered(summary))}</b><span>${t('summary.level', { level: summary.level })}</span><${Time} at=${summary.range_end} />
      ${summary.state === 'pending' && html`<${Badge} tone="warn">${t('summary.pending')}</${Badge}>`}
      ${(summary.flaws ?? []).map((flaw) => html`<${Badge} key=${flaw} tone="warn">${has(`summary.flaw.${flaw}`) ? t(`summary.flaw.${flaw}`) : flaw}</${Badge}>`)}</header>
    ${summary.summary ? html`<${LongText} text=${summary.summary} longest=${1200} open=${t('turn.whole')} />` : html`<p class="quiet">${t('summary.pending.what')}</p>`}
    ${summary.key_findings?.length > 0 && html`<details class="folded"><summary>${t('summary.findings', { n: summary.key_findings.length })}</summary><ul class="findings">${summary.key_findings.map((finding, index) => html`<li key=${index}><${Words} text=${finding} /></li>`)}</ul></details>`}
    <div class="actions">${tab('below', below)}
      ${summary.notes?.length > 0 && tab('notes', t('summary.notes', { n: summary.notes.length }))}
      ${summary.summary && tab('details', t('summary.details'))}
      ${may('admin') && summary.summary && html`<button class="plain" onClick=${redo} disabled=${redoing.busy}>${t('summary.redo')}</button>`}</div>
    <${ProblemNote} problem=${redoing.problem} />
    ${open === 'details' && html`<div class="told-text"><${Details} summary=${summary} /></div>`}
    ${open === 'notes' && html`<${Captured} space=${space} ids=${summary.notes} />`}
    ${open === 'below' && (summary.level === 1
      ? html`<div class="below"><${Turns} space=${space} conversation=${conversation} from=${summary.covers.turns[0]} to=${summary.covers.turns[1]} /></div>`
      : html`<${Below} space=${space} conversation=${conversation} summary=${summary} />`)}
  </article>`;
}
