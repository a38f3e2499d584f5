/** Every change of the bank and the rules as a line in time; the runs that led to them, failed ones too. */
import { at } from '../core/api.js';
import { dayKey, weekday } from '../core/format.js';
import { usePages } from '../core/pages.js';
import { href } from '../core/router.js';
import { may } from '../core/session.js';
import { has, t } from '../core/texts.js';
import { Badge, Empty, Heading, Tabs, Time } from '../parts/basic.js';
import { ChangeNumbers, kindOf, makerOf, undo } from '../parts/changes.js';
import { PagedList } from '../parts/list.js';
import { RunRow } from '../parts/runs.js';
import { html } from '../vendor/preact.js';

const EVERY = 5000;

function Change({ space, change, first, newest, refresh }) {
  return html`${first && html`<h2 class="day">${weekday(change.committed_at)}</h2>`}
    <article class=${`change ${change.kind} ${change.undone ? 'taken-back' : ''}`}>
      <div class="row"><a class="title" href=${href('change', { space, number: change.number })}>${change.number} · ${kindOf(change)}${change.undoes && html` ${t('change.of', { n: change.undoes })}`}</a>
        ${change.undone && html`<${Badge}>${t('change.undone')}</${Badge}>`}
        <span class="quiet">${makerOf(change)}</span><span class="quiet when"><${Time} at=${change.committed_at} /></span></div>
      <${ChangeNumbers} change=${change} />
      <p class="files">${change.files.map((file) => html`<span key=${file.path} class=${`file-mark ${file.action}`} title=${has(`file.${file.action}`) ? t(`file.${file.action}`) : file.action}>${file.path}</span>`)}</p>
      ${newest && may('admin') && html`<button class="plain" onClick=${() => undo(space, change, refresh)}>${t('undo.button')}</button>`}
    </article>`;
}

function Changes({ space }) {
  const list = usePages(at('spaces', space, 'consolidations'), { every: EVERY, idOf: (change) => change.number, limit: 30 });
  const all = list.pages.flat();
  const firstOfDay = new Set(all.filter((change, index) => index === 0 || dayKey(all[index - 1].committed_at) !== dayKey(change.committed_at)).map((change) => change.number));
  const newest = all.find((change) => !change.undone && change.kind !== 'undo')?.number;
  return html`<${PagedList} class="changes" list=${list} idOf=${(change) => change.number} mark=${`${newest} ${all.filter((one) => one.undone).length}`}
    empty=${html`<${Empty} title=${t('history.none')}><p>${t('history.none.what')}</p></${Empty}>`}
    row=${(change) => html`<${Change} space=${space} change=${change} first=${firstOfDay.has(change.number)} newest=${change.number === newest} refresh=${list.refresh} />`} />`;
}

function Runs({ space }) {
  const list = usePages(at('spaces', space, 'runs'), { every: EVERY, idOf: (run) => run.run_id, limit: 30 });
  return html`<${PagedList} list=${list} idOf=${(run) => `${run.run_id} ${run.status} ${run.step ?? ''}`} row=${(run) => html`<${RunRow} run=${run} />`} empty=${html`<${Empty} title=${t('runs.none')} />`} />`;
}

export default function History({ params: { space }, query }) {
  const runs = query.show === 'runs';
  return html`<${Heading} title=${t('nav.history')} above=${space}><a class="button" href=${href('then', { space })}>${t('then.title')}</a></${Heading}>
    <${Tabs} label=${t('nav.history')} items=${[
      { href: href('history', { space }), label: t('history.changes'), current: !runs },
      { href: href('history', { space }, { show: 'runs' }), label: t('history.runs'), current: runs },
    ]} />
    ${runs ? html`<${Runs} space=${space} />` : html`<${Changes} space=${space} />`}`;
}
