/** The first view: the spaces that the token may see, what waits in each, and whether the service is well. */
import { nameIn } from '../core/jobs.js';
import { useLive } from '../core/live.js';
import { usePages } from '../core/pages.js';
import { href } from '../core/router.js';
import { may, session } from '../core/session.js';
import { useStore } from '../core/store.js';
import { t } from '../core/texts.js';
import { Badge, Empty, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { PagedList } from '../parts/list.js';
import { Connect, HealthLine, NewSpace, NoModel } from '../parts/service.js';
import { html, useState } from '../vendor/preact.js';

const MOST = 200;
const EVERY = 8000;
const idOf = (space) => space.space_id;

function Waiting({ space }) {
  const { notes_count: notes, next_run: next } = space.waiting;
  return html`<div class="waits">
    ${space.pending_plan && html`<a href=${href('review', { space: space.space_id, run: nameIn(space.pending_plan.job) })}><${Badge} tone="warn">${t('start.plan')}</${Badge}></a>`}
    ${(next.run_id && next.why !== 'review') && html`<a href=${href('run', { space: space.space_id, run: next.run_id })}><${Badge} tone="accent">${t(`next.${next.why}`)}</${Badge}></a>`}
    ${(next.why === 'paused' || next.why === 'after_failure') && html`<${Badge} tone="warn" title=${t(`next.${next.why}.what`, { detail: next.detail ?? '' })}>${t(`next.${next.why}`)}</${Badge}>`}
    ${notes > 0 && html`<${Badge}>${t('start.notes', { n: notes })}</${Badge}>`}
    ${notes === 0 && !space.pending_plan && html`<span class="quiet">${t('start.nothing')}</span>`}
    ${space.waiting.oldest_note_at && html`<span class="quiet" title=${t('start.oldest')}><${Time} at=${space.waiting.oldest_note_at} form="short" /></span>`}
  </div>`;
}

function SpaceRow({ space }) {
  return html`<div class="space-row">
    <div class="grow">
      <a class="space-name" href=${href('space', { space: space.space_id })}>${space.space_id}</a>
      ${space.description && html`<p class="quiet"><${Words} text=${space.description} /></p>`}
    </div>
    <${Waiting} space=${space} />
    <div class="last">
      ${space.last_consolidation
        ? html`<a href=${href('change', { space: space.space_id, number: space.changes })}>${t('start.change', { n: space.changes })}</a> <${Time} at=${space.last_consolidation} />`
        : html`<span class="quiet">${t('start.unchanged')}</span>`}
    </div>
  </div>`;
}

export default function Start() {
  const { who } = useStore(session);
  const spaces = usePages('/v1/spaces', { query: { waiting: true }, limit: MOST, every: EVERY, idOf });
  const first = spaces.pages[0]?.[0];
  const health = useLive('/v1/health', { every: 60_000 });
  const [making, setMaking] = useState(false);
  return html`
    <${Heading} title=${t('nav.start')}>
      ${may('write', who) && !making && html`<button onClick=${() => setMaking(true)}>${t('start.new')}</button>`}
    </${Heading}>
    ${making && html`<${Panel} title=${t('start.new')}><${NewSpace} close=${() => setMaking(false)} /></${Panel}>`}
    ${health.data ? html`<${HealthLine} health=${health.data} /><${NoModel} health=${health.data} />` : html`<${ProblemNote} problem=${health.problem} />`}
    ${spaces.first && !first
      ? html`<${Empty} title=${t('start.empty')}><p>${t('start.empty.what')}</p></${Empty}><${Connect} space="demo" />`
      : html`<${Panel}><${PagedList} class="spaces" list=${spaces} idOf=${idOf} row=${(space) => html`<${SpaceRow} space=${space} />`} /></${Panel}>
        ${first && html`<details class="connect-more"><summary>${t('start.connect')}</summary><${Connect} space=${first.space_id} /></details>`}`}`;
}
