/** The first view: the spaces that the token may see, what waits in each, and whether the service is well. */
import { at, get } from '../core/api.js';
import { useLive } from '../core/live.js';
import { href } from '../core/router.js';
import { may, session } from '../core/session.js';
import { useStore } from '../core/store.js';
import { t } from '../core/texts.js';
import { Answer, Badge, Empty, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { Connect, HealthLine, NewSpace } from '../parts/service.js';
import { html, useEffect, useState } from '../vendor/preact.js';

/** A list tells no numbers of notes, so the first spaces are asked one by one. */
const ASKED = 24;

function useDetails(spaces) {
  const [details, setDetails] = useState({});
  const key = (spaces ?? []).map((space) => `${space.space_id} ${space.version}`).join();
  useEffect(() => {
    const ended = new AbortController();
    const ask = async () => {
      for (const { space_id: id } of (spaces ?? []).slice(0, ASKED)) {
        const detail = await get(at('spaces', id), undefined, { signal: ended.signal }).catch(() => undefined);
        if (ended.signal.aborted) return;
        if (detail) setDetails((now) => ({ ...now, [id]: detail }));
      }
    };
    ask();
    return () => ended.abort();
  }, [key]);
  return details;
}

function Waiting({ space, detail }) {
  const notes = detail?.live.notes_count;
  const due = notes >= space.consolidation_threshold;
  return html`<div class="waits">
    ${space.pending_plan && html`<a href=${href('review', { space: space.space_id, run: space.pending_plan.run_id })}><${Badge} tone="warn">${t('start.plan')}</${Badge}></a>`}
    ${space.auto_paused && html`<${Badge} tone="warn" title=${t('start.paused.why')}>${t('start.paused')}</${Badge}>`}
    ${notes > 0 && html`<${Badge} tone=${due ? 'accent' : ''}>${t('start.notes', { n: notes })}</${Badge}>`}
    ${notes === 0 && !space.pending_plan && html`<span class="quiet">${t('start.nothing')}</span>`}
  </div>`;
}

function SpaceRow({ space, detail }) {
  return html`<li class="space-row">
    <div class="grow">
      <a class="space-name" href=${href('space', { space: space.space_id })}>${space.space_id}</a>
      ${space.description && html`<p class="quiet"><${Words} text=${space.description} /></p>`}
    </div>
    <${Waiting} space=${space} detail=${detail} />
    <div class="last">
      ${space.last_consolidation
        ? html`<a href=${href('change', { space: space.space_id, number: space.changes })}>${t('start.change', { n: space.changes })}</a> <${Time} at=${space.last_consolidation} />`
        : html`<span class="quiet">${t('start.unchanged')}</span>`}
    </div>
  </li>`;
}

export default function Start() {
  const { who } = useStore(session);
  const spaces = useLive('/v1/spaces', { query: { limit: 200 }, every: 8000 });
  const health = useLive('/v1/health', { every: 60_000 });
  const details = useDetails(spaces.data?.items);
  const [making, setMaking] = useState(false);
  return html`
    <${Heading} title=${t('nav.start')}>
      ${may('write', who) && !making && html`<button onClick=${() => setMaking(true)}>${t('start.new')}</button>`}
    </${Heading}>
    ${making && html`<${Panel} title=${t('start.new')}><${NewSpace} close=${() => setMaking(false)} /></${Panel}>`}
    ${health.data ? html`<${HealthLine} health=${health.data} />` : html`<${ProblemNote} problem=${health.problem} />`}
    <${Answer} live=${spaces} lines=${5}>${({ items, next_cursor: more }) => html`
      ${items.length === 0
        ? html`<${Empty} title=${t('start.empty')}><p>${t('start.empty.what')}</p></${Empty}><${Connect} space="demo" />`
        : html`<${Panel} title=${t('start.spaces')} side=${t('start.count', { n: items.length, plus: more ? '+' : '' })}><ul class="rows spaces">${items.map((space) => html`<${SpaceRow} key=${space.space_id} space=${space} detail=${details[space.space_id]} />`)}</ul></${Panel}>
          <details class="connect-more"><summary>${t('start.connect')}</summary><${Connect} space=${items[0].space_id} /></details>`}
    `}</${Answer}>`;
}
