/** Changes of the bank and the rules, as lists show them. */
import { post, at } from '../core/api.js';
import { href } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { Badge, Time } from './basic.js';
import { confirm } from './dialog.js';
import { toast } from './toast.js';

export const kindOf = (change) => (has(`kind.${change.kind}`) ? t(`kind.${change.kind}`) : change.kind);

/** Who or what made a change: the person, the agent, or the model. */
export const makerOf = (change) => change.author ?? change.approved_by ?? change.model ?? '';

export function ChangeLine({ space, change }) {
  return html`<div class="row"><a class="grow" href=${href('change', { space, number: change.number })}>${change.number} · ${kindOf(change)}</a>
    ${change.undone && html`<${Badge}>${t('change.undone')}</${Badge}>`}
    <span class="quiet"><${Time} at=${change.committed_at} style="short" /></span></div>`;
}

/** Notes in, files out, tokens, seconds. */
export function ChangeNumbers({ change }) {
  const { llm_tokens_used: tokens, duration_seconds: seconds } = change.metrics ?? {};
  return html`<div class="meta">
    ${change.notes_count > 0 && html`<span>${t('change.notes.in', { n: change.notes_count })}</span>`}
    <span>${t('change.files.out', { n: change.files.length })}</span>
    ${tokens > 0 && html`<span>${t('run.tokens', { n: tokens })}</span>`}
    ${seconds > 0 && html`<span>${t('seconds', { n: number(seconds, { maximumFractionDigits: 1 }) })}</span>`}
  </div>`;
}

/** Ask, and take a change back. Gives the change that did it, or undefined. */
export async function undo(space, change, then) {
  const made = await confirm({
    title: t('undo.title', { n: change.number }),
    body: html`<p>${t('undo.what', { n: change.notes_count })}</p><p>${t('undo.after')}</p>`,
    yes: t('undo.yes'),
    act: () => post(at('spaces', space, 'consolidations', change.number, 'undo')),
  });
  if (!made) return undefined;
  toast({ text: t('undo.done', { n: change.number }), tone: 'good', link: { href: href('change', { space, number: made.number }), label: t('undo.look') } });
  then?.(made);
  return made;
}
