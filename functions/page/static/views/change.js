/** One change: each file before and after, its notes, what it cost, and the way back. */
import { at } from '../core/api.js';
import { useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Answer, Badge, Facts, Heading, Panel, Time } from '../parts/basic.js';
import { kindOf, undo } from '../parts/changes.js';
import { PlanBody } from '../parts/plan.js';
import { html } from '../vendor/preact.js';

function Details({ space, change }) {
  const seconds = change.metrics?.duration_seconds;
  return html`<${Facts} items=${[
    [t('fact.when'), html`<${Time} at=${change.committed_at} exact=${true} />`],
    [t('fact.by'), change.author],
    [t('fact.approved'), change.approved_by && html`${change.approved_by}, <${Time} at=${change.approved_at} />`],
    [t('fact.model'), change.model],
    [t('fact.notes'), change.notes_count > 0 && number(change.notes_count)],
    [t('fact.tokens'), change.usage?.prompt_tokens > 0 && t('fact.tokens.both', { input: number(change.usage.prompt_tokens), output: number(change.usage.completion_tokens) })],
    [t('fact.calls'), change.usage?.calls > 0 && number(change.usage.calls)],
    [t('fact.seconds'), seconds > 0 && t('seconds', { n: number(seconds, { maximumFractionDigits: 1 }) })],
    [t('fact.run'), change.run_id && html`<a href=${href('run', { space, run: change.run_id })}>${change.run_id}</a>`],
    [t('fact.prompt'), change.prompt_version && html`<code>${change.prompt_version.slice(0, 12)}</code>`],
  ]} />`;
}

export default function Change({ params: { space, number: n } }) {
  const live = useLive(at('spaces', space, 'consolidations', n), { every: 20_000 });
  const info = useLive(at('spaces', space));
  return html`<${Answer} live=${live} lines=${8}>${(change) => html`
    <${Heading} title=${`${t('start.change', { n: change.number })}: ${kindOf(change)}`} above=${html`<a href=${href('history', { space })}>${space} · ${t('nav.history')}</a>`}>
      ${change.undone && html`<${Badge}>${t('change.undone')}</${Badge}>`}
      <a class="button" href=${href('then', { space }, { at: change.number })}>${t('change.then')}</a>
      ${may('admin') && !change.undone && html`<button onClick=${() => undo(space, change, (made) => go('change', { space, number: made.number }))}>${t('undo.button')}</button>`}</${Heading}>
    <${Panel}><${Details} space=${space} change=${change} /></${Panel}>
    <${PlanBody} plan=${change} />
    <nav class="neighbours">${change.number > 1 && html`<a href=${href('change', { space, number: change.number - 1 })}>← ${t('start.change', { n: change.number - 1 })}</a>`}
      ${info.data && change.number < info.data.changes && html`<a href=${href('change', { space, number: change.number + 1 })}>${t('start.change', { n: change.number + 1 })} →</a>`}</nav>`}</${Answer}>`;
}
