/** The receipt of an erasure: where the words were, and what is left for a person to correct. It has none of the words. */
import { at } from '../core/api.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { Answer, Badge, Copy, Facts, Heading, Panel, Time } from '../parts/basic.js';
import { html } from '../vendor/preact.js';

const place = (name) => (has(`erased.${name}`) ? t(`erased.${name}`) : name.replace(/_/g, ' '));

export default function Erasure({ params: { space, erasure } }) {
  const live = useLive(at('spaces', space, 'erasures', erasure), { every: 1500 });
  return html`<${Heading} title=${t('erasure.title')} above=${html`<a href=${href('settings', { space })}>${space}</a>`} />
    <${Answer} live=${live} lines=${5}>${(receipt) => html`
      <${Panel} title=${t(`erasure.what.${receipt.status}`)} side=${html`<${Badge} tone=${receipt.status === 'done' ? 'good' : 'accent'}>${t(`erasure.${receipt.status}`)}</${Badge}>`}>
        <${Facts} items=${[
          [t('fact.by'), receipt.requested_by],
          [t('erasure.started'), html`<${Time} at=${receipt.started_at} exact=${true} />`],
          [t('fact.ended'), receipt.finished_at && html`<${Time} at=${receipt.finished_at} exact=${true} />`],
          [t('filter.agent'), receipt.agent],
          [t('fact.notes'), receipt.note_ids.length > 0 && receipt.note_ids.map((id) => html`<div key=${id}><code>${id}</code></div>`)],
          [t('erasure.memories'), receipt.memory_ids?.length > 0 && receipt.memory_ids.join(', ')],
          [t('erasure.turns'), receipt.turns?.length > 0 && receipt.turns.join(', ')],
          [t('erasure.versions'), receipt.versions && (has(`versions.${receipt.versions}`) ? t(`versions.${receipt.versions}`) : receipt.versions)],
          [t('erasure.receipt'), html`<${Copy} text=${receipt.erasure_id} />`],
        ]} /></${Panel}>
      <${Panel} title=${t('erasure.removed')}><table class="data"><tbody>${Object.entries(receipt.counts).map(([name, count]) => html`<tr key=${name}><td>${place(name)}</td><td class="right">${number(count)}</td></tr>`)}</tbody></table></${Panel}>
      ${receipt.sections.length > 0 && html`<${Panel} title=${t('erasure.sections', { n: receipt.sections.length })}><p class="spaced">${t('erasure.sections.what')}</p>
        <ul class="rows tight">${receipt.sections.map((one) => html`<li key=${`${one.path} ${one.heading}`}><a href=${href('file', { space, rest: one.path }, { section: one.section.map((line) => line.replace(/^#+ /, '')).join(' > ') })}>${one.path} › ${one.heading.replace(/^#+ /, '')}</a></li>`)}</ul></${Panel}>`}
      ${receipt.quoted_in.length > 0 && html`<${Panel} title=${t('erasure.quoted')}><ul class="rows tight">${receipt.quoted_in.map((one) => html`<li key=${one}><code>${one}</code></li>`)}</ul></${Panel}>`}
      ${receipt.not_reached.length > 0 && html`<${Panel} title=${t('erasure.not.reached')}><p class="spaced">${t('erasure.not.reached.what')}</p><ul class="rows tight">${receipt.not_reached.map((one) => html`<li key=${one}>${one}</li>`)}</ul></${Panel}>`}`}</${Answer}>`;
}
