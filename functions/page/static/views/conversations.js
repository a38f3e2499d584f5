/** Conversations: their list, and one of them from its highest summaries down to the words that were said. */
import { at, post, remove } from '../core/api.js';
import { goes } from '../core/jobs.js';
import { useAction, useLive } from '../core/live.js';
import { visible } from '../core/markdown.js';
import { usePages } from '../core/pages.js';
import { changeQuery, go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Answer, Badge, Choice, Empty, Facts, Heading, Panel, ProblemNote, Tabs, Time, Words } from '../parts/basic.js';
import { confirm } from '../parts/dialog.js';
import { TypedFilter } from '../parts/filters.js';
import { PagedList } from '../parts/list.js';
import { Summary, summaryId } from '../parts/summaries.js';
import { toast } from '../parts/toast.js';
import { Turn, Turns } from '../parts/turns.js';
import { html, useState } from '../vendor/preact.js';

const EVERY = 6000;
const AROUND = 2;
const LEVELS = [3, 2, 1];
const idOf = (one) => one.conversation_id;

/** Hooks give the client and an id, which says nothing. */
export const titleOf = ({ title }) => title?.replace(/^(\S+ session) \S+$/, '$1') || t('conversation.untitled');

function Row({ space, one }) {
  const newest = useLive(at('spaces', space, 'conversations', one.conversation_id, 'summaries'), { query: { level: 1, limit: 1 } });
  const told = newest.data?.items[0]?.summary || one.last_message;
  return html`<article class="talk">
    <div class="row"><a class="grow talk-title" href=${href('conversation', { space, conversation: one.conversation_id })}>${visible(titleOf(one))}</a>
      <span class="quiet">${t('conversation.turns', { n: one.turn_count })}</span></div>
    ${told && html`<p class="last-words"><${Words} text=${told} /></p>`}
    <div class="meta"><${Time} at=${one.last_activity} />
      ${one.cwd && html`<button class="plain folder" onClick=${() => changeQuery({ cwd: one.cwd })}>${visible(one.cwd)}</button>`}
      ${one.host && html`<span>${visible(one.host)}</span>`}</div>
  </article>`;
}

export function Conversations({ params: { space }, query }) {
  const list = usePages(at('spaces', space, 'conversations'), { query: { cwd: query.cwd, host: query.host }, every: EVERY, idOf });
  const empty = query.cwd || query.host
    ? html`<${Empty} title=${t('conversations.none.match')}><p>${t('conversations.none.match.what')}</p></${Empty}>`
    : html`<${Empty} title=${t('conversations.none')}><p>${t('conversations.none.what')}</p></${Empty}>`;
  return html`
    <${Heading} title=${t('nav.conversations')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      <a class="button" href=${href('search', { space }, { scope: 'conversations' })}>${t('conversations.search')}</a></${Heading}>
    <div class="filters"><${TypedFilter} name="cwd" label=${t('conversation.folder')} value=${query.cwd} /><${TypedFilter} name="host" label=${t('conversation.host')} value=${query.host} /></div>
    <${Panel}><${PagedList} list=${list} idOf=${idOf} empty=${empty} row=${(one) => html`<${Row} space=${space} one=${one} />`} /></${Panel}>`;
}

/** What has a summary and what waits for one, with the work that makes them. */
function Levels({ space, talk, refresh }) {
  const base = at('spaces', space, 'conversations', talk.conversation_id);
  const jobs = useLive('/v1/jobs', { query: { space_id: space, kind: 'summaries', subject: talk.conversation_id, limit: 1 }, every: EVERY });
  const job = jobs.data?.items[0];
  const [make, making] = useAction(async () => {
    const { status } = await post(`${base}/summaries/update`, { strategy: 'incremental' });
    toast({ text: t(`levels.update.${status === 'nothing_to_do' || status === 'done' ? 'done' : 'begun'}`), tone: 'good' });
    jobs.refresh();
    refresh();
  });
  const [close, closing] = useAction(async () => {
    await post(`${base}/close`);
    toast({ text: t('conversation.closed'), tone: 'good' });
    refresh();
  });
  const works = job && goes(job);
  return html`<${Panel} title=${t('levels.title')} side=${works && html`<${Badge} tone="accent">${t(`job.${job.status}`)}</${Badge}>`}>
    <table class="data"><thead><tr><th>${t('levels.level')}</th><th class="right">${t('levels.made')}</th><th class="right">${t('levels.pending')}</th></tr></thead>
      <tbody>${[...talk.levels].reverse().map((one) => html`<tr key=${one.level}><th scope="row">${t('summary.level', { level: one.level })}</th><td class="right">${number(one.summarised)}${one.sealed > one.summarised && html` / ${number(one.sealed)}`}</td><td class="right">${number(one.pending)}</td></tr>`)}</tbody></table>
    ${talk.open_turns > 0 && html`<p class="quiet">${t('levels.open', { n: talk.open_turns })}</p>`}
    ${talk.building && html`<p class="quiet">${t('levels.building', { n: talk.building })}</p>`}
    ${job?.error && html`<div class="problem passing"><p class="what">${t('levels.failed')}</p><p class="detail" lang="en"><${Words} text=${job.error.detail} /></p><p class="codes"><code>${job.error.code}</code></p></div>`}
    <${ProblemNote} problem=${making.problem ?? closing.problem} />
    ${may('write') && html`<div class="actions"><button onClick=${make} disabled=${making.busy || works}>${t('levels.update')}</button>
      ${talk.open_turns > 0 && html`<button onClick=${close} disabled=${closing.busy} title=${t('conversation.close.what')}>${t('conversation.close')}</button>`}</div>`}
  </${Panel}>`;
}

async function drop(space, talk) {
  const gone = await confirm({
    title: t('conversation.delete.title', { title: titleOf(talk) }),
    body: html`<p>${t('conversation.delete.what')}</p>`,
    yes: t('conversation.delete.yes'),
    grave: true,
    typed: space,
    act: () => remove(at('spaces', space, 'conversations', talk.conversation_id)),
  });
  if (!gone) return;
  toast({ text: t('conversation.deleted'), tone: 'good' });
  go('conversations', { space });
}

function About({ space, talk }) {
  return html`<${Panel} title=${t('conversation.about')}><${Facts} items=${[
    [t('conversation.folder'), talk.cwd && html`<a href=${href('conversations', { space }, { cwd: talk.cwd })}>${visible(talk.cwd)}</a>`],
    [t('conversation.host'), talk.host && html`<${Words} text=${talk.host} />`],
    [t('conversation.author'), talk.author],
    [t('conversation.begun'), html`<${Time} at=${talk.created_at} />`],
    [t('conversation.last'), html`<${Time} at=${talk.last_activity} />`],
    [t('conversation.profile'), t(`profile.${talk.profile}`)],
    [t('conversation.capture'), t(`capture.${talk.capture}`)],
  ]} />
    ${may('admin') && html`<div class="actions"><button class="plain grave-text" onClick=${() => drop(space, talk)}>${t('conversation.delete')}</button></div>`}</${Panel}>`;
}

function Summaries({ space, id, level, query }) {
  const list = usePages(at('spaces', space, 'conversations', id, 'summaries'), { query: { level }, every: EVERY, idOf: summaryId, limit: 20 });
  return html`<${PagedList} class="summaries" list=${list} idOf=${summaryId} mark=${query.summary} empty=${html`<${Empty} title=${t('summaries.none')}><p>${t('summaries.none.what')}</p></${Empty}>`}
    row=${(one) => html`<${Summary} space=${space} conversation=${id} summary=${one} focus=${String(one.number) === query.summary} changed=${list.refresh} />`} />`;
}

function AllTurns({ space, id, query }) {
  const order = query.order === 'oldest' ? 'oldest' : 'newest';
  const list = usePages(at('spaces', space, 'conversations', id, 'turns'), { query: { order }, every: order === 'newest' ? EVERY : 0, idOf: (turn) => turn.turn_index, limit: 20 });
  return html`<div class="row turns-order"><${Choice} label=${t('search.order')} value=${order} onChange=${(value) => changeQuery({ order: value === 'newest' ? undefined : value })} options=${[{ value: 'newest', label: t('turns.newest') }, { value: 'oldest', label: t('turns.oldest') }]} /></div>
    <${PagedList} class="turns" list=${list} idOf=${(turn) => turn.turn_index} empty=${html`<${Empty} title=${t('turns.none')} />`} row=${(turn) => html`<${Turn} space=${space} conversation=${id} turn=${turn} />`} />`;
}

/** A turn that a link leads to, with those around it. */
function AroundTurn({ space, id, count, n }) {
  const [reach, setReach] = useState([AROUND, AROUND]);
  const from = Math.max(1, n - reach[0]);
  const to = Math.min(count, n + reach[1]);
  return html`${from > 1 && html`<button class="more" onClick=${() => setReach([reach[0] + 5, reach[1]])}>${t('turns.earlier')}</button>`}
    <${Turns} space=${space} conversation=${id} from=${from} to=${to} focus=${n} />
    ${to < count && html`<button class="more" onClick=${() => setReach([reach[0], reach[1] + 5])}>${t('turns.later')}</button>`}`;
}

function Parts({ space, talk, query }) {
  const id = talk.conversation_id;
  const has = (level) => talk.levels.find((one) => one.level === level)?.sealed ?? 0;
  const highest = LEVELS.find((level) => has(level) > 0);
  const turn = Number(query.turn) || undefined;
  const level = turn || query.level === 'turns' ? undefined : Number(query.level) || highest;
  const to = (value) => href('conversation', { space, conversation: id }, { level: value });
  return html`<${Tabs} label=${t('levels.title')} items=${[
      ...LEVELS.filter((one) => has(one) > 0).map((one) => ({ href: to(one), label: t('summary.level', { level: one }), count: number(has(one)), current: one === level })),
      { href: to('turns'), label: t('turns.all'), count: number(talk.turn_count), current: !turn && level === undefined },
      ...(turn ? [{ href: href('conversation', { space, conversation: id }, { turn }), label: t('turns.around', { n: number(turn) }), current: true }] : []),
    ]} />
    ${turn ? html`<${AroundTurn} key=${turn} space=${space} id=${id} count=${talk.turn_count} n=${Math.min(turn, talk.turn_count)} />`
      : level ? html`<${Summaries} key=${level} space=${space} id=${id} level=${level} query=${query} />`
        : html`<${AllTurns} space=${space} id=${id} query=${query} />`}`;
}

export function Conversation({ params: { space, conversation: id }, query }) {
  const live = useLive(at('spaces', space, 'conversations', id), { every: EVERY });
  return html`<${Answer} live=${live} lines=${8}>${(talk) => html`
    <${Heading} title=${titleOf(talk)} above=${html`<a href=${href('conversations', { space })}>${space} · ${t('nav.conversations')}</a>`}>
      <a class="button" href=${href('search', { space }, { scope: 'conversations', conversation: id })}>${t('conversation.search')}</a></${Heading}>
    <div class="columns"><div><${Parts} space=${space} talk=${talk} query=${query} /></div>
      <aside><${Levels} space=${space} talk=${talk} refresh=${live.refresh} /><${About} space=${space} talk=${talk} /></aside></div>`}</${Answer}>`;
}
