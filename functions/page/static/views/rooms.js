/** Rooms with the messages that wait for a digest, and the digests on a time line of their zone. */
import { at, post } from '../core/api.js';
import { byHand, dueAt, firstsOfDays, knownZone, lateBy } from '../core/digests.js';
import { between, duration, moment } from '../core/format.js';
import { flat, goes, jobAt, nameIn } from '../core/jobs.js';
import { useAction, useLive } from '../core/live.js';
import { usePages } from '../core/pages.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Answer, Badge, Empty, Facts, Heading, Loading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { TypedFilter } from '../parts/filters.js';
import { Marked } from '../parts/found.js';
import { PagedList } from '../parts/list.js';
import { MemoryRow } from '../parts/memories.js';
import { toast } from '../parts/toast.js';
import { html } from '../vendor/preact.js';

const EVERY = 5000;
const WHILE_AT_WORK = 1000;
const TONES = { done: 'good', failed: 'bad', cancelled: 'bad', queued: 'accent', running: 'accent' };
const slotOf = (job) => job.subject;
const dayIn = (zone, when) => moment(when, { timeZone: zone, weekday: 'long', day: 'numeric', month: 'long' });
const clockIn = (zone, when) => moment(when, { timeZone: zone, hour: '2-digit', minute: '2-digit' });

/** The zone of a space, in which digests are due. */
function useZone(space) {
  const info = useLive(at('spaces', space));
  return knownZone(info.data?.timezone);
}

function Status({ digest }) {
  const dead = digest.dead_letters?.length ?? 0;
  return html`<span class="waits"><${Badge} tone=${digest.error ? 'bad' : TONES[digest.status]}>${digest.error && goes(digest) ? t('digest.waits') : t(`job.${digest.status}`)}</${Badge}>
    ${dead > 0 && html`<${Badge} tone="bad">${t('digest.dead', { n: dead })}</${Badge}>`}
    ${byHand(digest.subject) && html`<${Badge}>${t('digest.by.hand')}</${Badge}>`}</span>`;
}

/** What a digest made of how much. */
function Made({ digest }) {
  const { progress, usage } = digest;
  if (digest.new === undefined) return html`<p>${t('digest.takes', { n: digest.messages })}${progress?.total > 1 && html` <progress value=${progress.done} max=${progress.total} aria-label=${t('digest.progress')}></progress>`}</p>`;
  if (!digest.messages) return html`<p class="quiet">${t('digest.nothing')}</p>`;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  return html`<p>${t('digest.took', { n: digest.messages })} → <b>${t('digest.new', { n: digest.new })}</b>${digest.merged > 0 && html`, ${t('digest.merged', { n: digest.merged })}`}${digest.refused > 0 && html`, ${t('digest.refused', { n: digest.refused })}`}</p>
    <p class="meta">${tokens > 0 && html`<span>${t('run.tokens', { n: tokens })}</span>`}<span>${between(digest.started_at, digest.ended_at)}</span></p>`;
}

function DigestRow({ space, digest, zone, first }) {
  const due = dueAt(digest.subject);
  const late = lateBy(digest);
  return html`${first && html`<h2 class="day">${dayIn(zone, due)}</h2>`}
    <article class=${`change digest ${digest.status} ${digest.error ? 'in-trouble' : ''}`}>
      <div class="row"><a class="title" href=${href('digest', { space, slot: digest.subject })}>${clockIn(zone, due)}</a><${Status} digest=${digest} /><span class="quiet when"><${Time} at=${due} /></span></div>
      <${Made} digest=${digest} />
      ${late > 0 && html`<p class="late">${t('digest.late', { by: duration(late) })}</p>`}
      ${digest.error && html`<p class="late">${t('digest.error')} <code>${digest.error.code}</code></p>`}
    </article>`;
}

function Digests({ space, zone }) {
  const list = usePages('/v1/jobs', { query: { space_id: space, kind: 'digest' }, every: EVERY, idOf: slotOf });
  const firsts = firstsOfDays(list.pages.flat(), (job) => dueAt(job.subject), slotOf, zone);
  return html`<${Panel} title=${t('digests.title')} side=${t('digests.zone', { zone })} class="open">
    <${PagedList} class="changes" list=${list} idOf=${slotOf} mark=${`${zone} ${list.pages.flat().map((one) => `${one.status} ${one.progress?.done}`).join()}`}
      empty=${html`<${Empty} title=${t('digests.none')}><p>${t('digests.none.what')}</p></${Empty}>`}
      row=${(job) => html`<${DigestRow} space=${space} digest=${flat(job)} zone=${zone} first=${firsts.has(job.subject)} />`} />
  </${Panel}>`;
}

export function Rooms({ params: { space } }) {
  const zone = useZone(space);
  const rooms = useLive(at('spaces', space, 'rooms'), { every: EVERY });
  const waiting = rooms.data?.items.some((room) => room.has_messages);
  const [run, running] = useAction(async () => {
    const { job } = await post(at('spaces', space, 'digests'));
    go('digest', { space, slot: nameIn(job) });
  });
  return html`
    <${Heading} title=${t('nav.rooms')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      ${may('write') && waiting && html`<button onClick=${run} disabled=${running.busy}>${running.busy ? t('working') : t('digest.run')}</button>`}</${Heading}>
    <${ProblemNote} problem=${running.problem} />
    ${rooms.data?.next_digest_at && html`<p class="lead">${t('digest.next')} <${Time} at=${rooms.data.next_digest_at} /> (${dayIn(zone, rooms.data.next_digest_at)}, ${clockIn(zone, rooms.data.next_digest_at)})</p>`}
    <div class="columns"><${Digests} space=${space} zone=${zone} />
      <aside><${Panel} title=${t('rooms.title')}><${Answer} live=${rooms}>${({ items }) => (items.length
        ? html`<ul class="rows tight">${items.map((room) => html`<li key=${room.room} class="row"><a class="grow" href=${href('room', { space, room: room.room })}>${room.room}</a>
            ${room.has_messages ? html`<span class="quiet"><${Time} at=${room.newest} form="short" /></span>` : html`<span class="quiet">${t('rooms.digested')}</span>`}</li>`)}</ul>`
        : html`<${Empty} title=${t('rooms.none')}><p>${t('rooms.none.what')}</p></${Empty}>`)}</${Answer}></${Panel}></aside></div>`;
}

function Message({ message, zone, first, focus, highlights }) {
  return html`${first && html`<h2 class="day">${dayIn(zone, message.timestamp)}</h2>`}
    <article class=${`message ${focus ? 'focus' : ''}`}><p class="speaker"><b><${Words} text=${message.author} /></b>
      <time class="quiet" datetime=${message.timestamp} title=${moment(message.timestamp, { dateStyle: 'full', timeStyle: 'long' })}>${clockIn(zone, message.timestamp)}</time></p>
      <p><${Marked} text=${message.content ?? message.snippet} highlights=${highlights} /></p></article>`;
}

function FoundIn({ space, room, q, zone }) {
  const live = useLive(at('spaces', space, 'rooms', 'search'), { query: { q, room, limit: 50 } });
  return html`<${Answer} live=${live}>${({ items, nothing }) => (items.length
    ? html`<ul class="rows">${items.map((hit) => html`<li key=${hit.id}><${Message} message=${hit} zone=${zone} first=${true} highlights=${hit.highlights} /></li>`)}</ul>`
    : html`<${Empty} title=${t(`search.nothing.${nothing ?? 'no_match'}`)}><p>${t('rooms.search.none')} <a href=${href('search', { space }, { q })}>${t('nav.search')}</a></p></${Empty}>`)}</${Answer}>`;
}

export function Room({ params: { space, room }, query }) {
  const zone = useZone(space);
  const idOf = (message) => message.message_id;
  const list = usePages(at('spaces', space, 'rooms', room, 'messages'), { every: EVERY, idOf });
  const firsts = firstsOfDays(list.pages.flat(), (message) => message.timestamp, idOf, zone);
  const q = query.q?.trim();
  return html`
    <${Heading} title=${room} above=${html`<a href=${href('rooms', { space })}>${space} · ${t('nav.rooms')}</a>`} />
    <p class="lead">${t('rooms.room.lead', { zone })}</p>
    <div class="filters"><div class="wide"><${TypedFilter} name="q" label=${t('rooms.search')} value=${query.q} /></div></div>
    <${Panel}>${q ? html`<${FoundIn} space=${space} room=${room} q=${q} zone=${zone} />`
      : html`<${PagedList} class="messages" list=${list} idOf=${idOf} mark=${`${zone} ${query.message}`}
        empty=${html`<${Empty} title=${t('rooms.empty')}><p>${t('rooms.empty.what')} <a href=${href('memories', { space })}>${t('nav.memories')}</a></p></${Empty}>`}
        row=${(message) => html`<${Message} message=${message} zone=${zone} first=${firsts.has(message.message_id)} focus=${message.message_id === query.message} />`} />`}</${Panel}>`;
}

/** The memories that came of a digest, as far as they are among the newest. */
function Memories({ space, slot }) {
  const live = useLive(at('spaces', space, 'memories'), { query: { limit: 50 }, every: EVERY });
  const made = (live.data?.items ?? []).filter((memory) => memory.provenance.digest === slot);
  return html`<${Panel} title=${t('digest.memories')} side=${t('digest.memories.newest')}>
    ${live.loading && !live.data ? html`<${Loading} />` : html`<${ProblemNote} problem=${live.problem} />`}
    ${live.data && !made.length && html`<p class="quiet">${t('digest.memories.none')}</p>`}
    <ul class="rows">${made.map((memory) => html`<li key=${memory.memory_id}><${MemoryRow} space=${space} memory=${memory} /></li>`)}</ul></${Panel}>`;
}

function GivenUp({ space, digest, refresh }) {
  const [retry, retrying] = useAction(async () => {
    const { messages } = await post(at('spaces', space, 'digests'), { slot: digest.subject });
    toast({ text: t('digest.retried', { n: messages }), tone: 'good' });
    refresh();
  });
  return html`<${Panel} title=${t('digest.given.up')}><p>${t('digest.given.up.what')}</p>
    <ul class="rows">${digest.given_up.map((chunk) => html`<li key=${chunk.chunk}><p class="row"><a href=${href('room', { space, room: chunk.room })}>${chunk.room}</a> <span>${t('digest.took', { n: chunk.messages })}</span> <code>${chunk.code}</code> <span class="quiet"><${Time} at=${chunk.at} /></span></p><p class="quiet" lang="en"><${Words} text=${chunk.detail} /></p></li>`)}</ul>
    ${may('admin') && html`<div class="actions"><button onClick=${retry} disabled=${retrying.busy}>${t('digest.retry')}</button></div>`}<${ProblemNote} problem=${retrying.problem} /></${Panel}>`;
}

export function Digest({ params: { space, slot } }) {
  const zone = useZone(space);
  const live = useLive(jobAt(space, 'digest', slot), { every: (digest) => (digest && goes(digest) && !digest.error ? WHILE_AT_WORK : EVERY) });
  return html`<${Answer} live=${live}>${(job) => {
    const digest = flat(job);
    const late = lateBy(digest);
    return html`<${Heading} title=${t('digest.title', { when: moment(dueAt(slot), { timeZone: zone, dateStyle: 'medium', timeStyle: 'short' }) })} above=${html`<a href=${href('rooms', { space })}>${space} · ${t('nav.rooms')}</a>`}><${Status} digest=${digest} /></${Heading}>
      <${Panel}><${Made} digest=${digest} />
        ${digest.error && html`<div class="problem passing"><p class="what">${t('digest.error')}</p><p>${t('digest.error.do')}</p><p class="codes"><code>${digest.error.code}</code></p></div>`}
        <${Facts} items=${[
          [t('digest.due'), html`${moment(dueAt(slot), { timeZone: zone, dateStyle: 'full', timeStyle: 'short' })} (${zone})`],
          [t('digest.began'), digest.started_at && html`<${Time} at=${digest.started_at} />${late > 0 && ` · ${t('digest.late', { by: duration(late) })}`}`],
          [t('digest.ended'), digest.ended_at && html`<${Time} at=${digest.ended_at} />`],
          [t('digest.chunks'), digest.progress?.total > 0 && t('digest.chunks.of', { done: digest.progress.done, all: digest.progress.total })],
          [t('fact.calls'), digest.usage.calls > 0 && number(digest.usage.calls)],
          [t('fact.tokens'), digest.usage.prompt_tokens > 0 && t('fact.tokens.both', { input: number(digest.usage.prompt_tokens), output: number(digest.usage.completion_tokens) })],
        ]} /></${Panel}>
      ${digest.given_up?.length > 0 && html`<${GivenUp} space=${space} digest=${digest} refresh=${live.refresh} />`}
      ${(digest.new > 0 || digest.merged > 0 || goes(digest)) && html`<${Memories} space=${space} slot=${slot} />`}`;
  }}</${Answer}>`;
}
