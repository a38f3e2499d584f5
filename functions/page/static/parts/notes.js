/** A note, as lists of notes show it. */
import { Markdown, visible } from '../core/markdown.js';
import { href } from '../core/router.js';
import { t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Badge, Category, Time } from './basic.js';
import { Fixable } from './fixing.js';

const LONG = 700;
const TALL = 12;

/** The beginning of a text that a list shows. */
function beginning(text) {
  const lines = text.split('\n');
  const few = lines.length > TALL ? lines.slice(0, TALL).join('\n') : text;
  return few.length > LONG ? few.slice(0, LONG) : few;
}

/** Where a note comes from, if nobody wrote it here. */
function Origin({ note }) {
  const source = note.source;
  if (!source) return null;
  if (source.space_id) return html`<span>${t('note.passed.on', { space: source.space_id })}</span>`;
  const turns = (source.turns ?? []).join('–');
  return source.gone
    ? html`<span>${t('note.captured', { turns })}</span>`
    : html`<a href=${href('conversation', { space: note.space_id, conversation: source.conversation_id }, { turn: source.turns?.[0] })}>${t('note.captured', { turns })}</a>`;
}

/** Markdown of others; a long one is opened by a click. */
export function LongText({ text, open = t('note.whole'), longest = LONG }) {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > longest * 1.2;
  return html`<div class="note-text"><${Markdown} small=${true} text=${cut ? `${text.slice(0, longest)} …` : text} />
    ${cut && html`<button class="plain" onClick=${() => setAll(true)}>${open}</button>`}</div>`;
}

export function NoteMeta({ note, link = true }) {
  return html`<div class="meta">
    <${Category} name=${note.category} />
    <b class="agent">${visible(note.agent)}</b>
    ${note.author && note.author !== note.agent && html`<span>${t('note.author', { author: note.author })}</span>`}
    ${link ? html`<a class="when" href=${href('note', { space: note.space_id, note: note.note_id })}><${Time} at=${note.timestamp} /></a>` : html`<${Time} at=${note.timestamp} />`}
    ${note.tags.map((tag) => html`<span key=${tag} class="tag">${visible(tag)}</span>`)}
    ${note.consolidation && html`<a href=${href('change', { space: note.space_id, number: note.consolidation })}>${t('start.change', { n: note.consolidation })}</a>`}
    <${Origin} note=${note} />
    ${note.malformed && html`<${Badge} tone="warn">${t('note.malformed')}</${Badge}>`}
  </div>`;
}

/** `choose`: {has(id), toggle(id)} shows a box to choose the note with. */
export function Note({ note, fresh = false, choose }) {
  return html`<article class=${`note ${note.category} ${fresh ? 'fresh' : ''}`}>
    ${choose && html`<input type="checkbox" class="chooser" aria-label=${t('note.choose', { agent: note.agent })} checked=${choose.has(note.note_id)} onChange=${() => choose.toggle(note.note_id)} />`}
    ${choose ? html`<${NoteMeta} note=${note} /><${LongText} text=${note.content} />`
      : html`<${Fixable} space=${note.space_id} of=${{ kind: 'note', id: note.note_id, note }}><${NoteMeta} note=${note} /><${LongText} text=${note.content} /></${Fixable}>`}
  </article>`;
}
