/** One search over everything of a space, or of several: what was found, why, and why something was not. */
import { at, get } from '../core/api.js';
import { apart, byFloor, parametersOf, scopes, together, withNext, withScope } from '../core/found.js';
import { useAction, useLive } from '../core/live.js';
import { changeQuery, href } from '../core/router.js';
import { number, t } from '../core/texts.js';
import { Badge, Empty, Heading, Loading, Panel, ProblemNote } from '../parts/basic.js';
import { useMedia } from '../parts/diff.js';
import { Field, Tick } from '../parts/field.js';
import { CategoryFilter, DayFilter, TypedFilter, useTyped } from '../parts/filters.js';
import { useCanCorrect } from '../parts/fixing.js';
import { Hit, WhyNot } from '../parts/found.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';

/** Of several spaces an answer has no pages: one asks for more of it. */
const STEPS = [20, 50, 100];
const FURTHER = 50;

/** The box in which one asks. Enter asks at once; a pause asks too. */
function Asked({ query }) {
  const [text, setText, now] = useTyped('q', query.q, 450);
  const box = useRef();
  const submit = (event) => {
    event.preventDefault();
    now();
  };
  return html`<form class="search-box" role="search" onSubmit=${submit}>
    <input ref=${box} type="search" aria-label=${t('nav.search')} placeholder=${t('search.placeholder')} value=${text} onInput=${(event) => setText(event.target.value)} maxlength="4000" autofocus=${!query.q} />
    <button class="main">${t('nav.search')}</button>
  </form>`;
}

function Scopes({ scope, conversation }) {
  const on = (one) => !scope || scope.split(',').includes(one);
  // Only these scopes have conversations to limit.
  const choose = (next) => changeQuery({ scope: next, conversation: !next || ['conversations', ...apart].includes(next) ? conversation : undefined });
  const chip = (one, pressed) => html`<button key=${one} type="button" aria-pressed=${pressed} onClick=${() => choose(withScope(scope, one))}>${t(`scope.${one}`)}</button>`;
  return html`<div class="scopes">
    <div class="choice" role="group" aria-label=${t('search.where')}>
      <button type="button" aria-pressed=${!scope} onClick=${() => changeQuery({ scope: undefined })}>${t('scope.all')}</button>
      ${scopes.map((one) => chip(one, Boolean(scope) && on(one)))}
    </div>
    <div class="choice" role="group" aria-label=${t('search.apart')} title=${t('search.apart')}>${apart.map((one) => chip(one, scope === one))}</div>
    ${conversation && html`<button type="button" onClick=${() => changeQuery({ conversation: undefined })}>${t('search.one.conversation')} ×</button>`}
  </div>`;
}

/** Which spaces: this one, all that the token may see, or some of them. */
function SpacesChoice({ space, chosen }) {
  const all = useLive(chosen ? '/v1/spaces' : undefined, { query: { limit: 200 } });
  const several = chosen && chosen !== 'all';
  const on = new Set(several ? chosen.split(',') : []);
  const ids = (all.data?.items ?? []).map((one) => one.space_id);
  const toggle = (id) => {
    if (!on.delete(id)) on.add(id);
    changeQuery({ in: [...on].join(',') || 'all' });
  };
  const change = (value) => changeQuery({ in: value === 'some' ? space : value });
  return html`<${Field} label=${t('search.spaces')} value=${several ? 'some' : (chosen ?? '')} onChange=${change}
      options=${[['', t('search.spaces.this')], ['all', t('search.spaces.all')], ['some', t('search.spaces.some')]]} />
    ${several && html`<div class="spaces-ticks" role="group" aria-label=${t('search.spaces')}>${ids.map((id) => html`<${Tick} key=${id} label=${id} checked=${on.has(id)} onChange=${() => toggle(id)} />`)}</div>`}`;
}

const FILTERS = ['author', 'category', 'tag', 'since', 'until', 'newest', 'in'];

/** Folded where the window is narrow, so that what was found is seen first. */
function Filters({ space, query }) {
  const narrow = useMedia('(max-width: 860px)');
  const used = FILTERS.filter((name) => query[name]).length;
  return html`<details class="search-filters" open=${!narrow}><summary>${t('search.filters')}${used > 0 && html` <span class="count">${number(used)}</span>`}</summary><div class="filters">
    <${TypedFilter} name="author" label=${t('search.author')} value=${query.author} />
    <${CategoryFilter} value=${query.category} />
    <${TypedFilter} name="tag" label=${t('filter.tag')} value=${query.tag} />
    <${DayFilter} name="since" label=${t('filter.since')} value=${query.since} />
    <${DayFilter} name="until" label=${t('search.until')} value=${query.until} />
    <${Field} label=${t('search.order')} value=${query.newest ?? ''} onChange=${(newest) => changeQuery({ newest })} options=${[['', t('search.order.best')], ['1', t('search.order.newest')]]} />
    <${SpacesChoice} space=${space} chosen=${query.in} />
  </div></details>`;
}

/** What the search itself says of its answer: whether it knows everything, and whether it went by meaning too. */
function About({ answer, shown }) {
  return html`<p class="about-search" role="status">
    <b>${shown < answer.total ? t('search.found.some', { n: shown, total: answer.total }) : t('search.found', { n: shown })}</b> <span class="quiet">${t('search.of', { n: answer.view.documents })}</span>
    <span class="quiet">${t(`search.ranking.${answer.ranking}`)}</span>
    ${answer.unembedded > 0 && html`<span class="quiet">${t('search.unembedded', { n: answer.unembedded })}</span>`}
    ${answer.failure && html`<span class="quiet">(<code>${answer.failure}</code>)</span>`}
    ${answer.view.unread > 0 && html`<${Badge} tone="warn">${t('search.unread', { n: answer.view.unread })}</${Badge}>`}
  </p>
  ${(answer.failed_spaces ?? []).map((failed) => html`<div key=${failed.space_id} class="problem passing" role="alert"><p class="what">${t('search.failed', { space: failed.space_id })}</p><p class="detail" lang="en">${failed.detail}</p><p class="codes"><code>${failed.code}</code></p></div>`)}`;
}

const largest = (items) => Math.max(1, ...items.flatMap((hit) => Object.values(hit.explain ?? {})).map(Math.abs));

function Hits({ space, placed, most, near, done }) {
  const canEdit = useCanCorrect(space);
  return html`<ul class="rows hits">${placed.map(({ hit, place }) => html`<li key=${`${hit.space_id} ${hit.id}`}><${Hit} hit=${hit} space=${space} place=${place} most=${most} near=${near} canEdit=${canEdit} done=${done} /></li>`)}</ul>`;
}

/** Nothing passes: said plainly, with what is nearest if somebody wants to see it. */
function Nothing({ space, answer, path, parameters }) {
  const [near, setNear] = useState(false);
  const words = answer.floor?.words ?? [];
  const nearest = useLive(near ? path : undefined, { query: { ...parameters, everything: true, limit: 10 } });
  return html`<${Empty} title=${t(`search.nothing.${answer.nothing ?? 'no_match'}`)}>
      <p>${t(`search.nothing.${answer.nothing ?? 'no_match'}.do`)}</p>
      ${answer.elsewhere?.length > 0 && html`<p>${answer.elsewhere.map((scope) => html`<button key=${scope} onClick=${() => changeQuery({ scope })}>${t(`scope.${scope}`)}</button> `)}</p>`}
      ${words.length > 0 && html`<p class="quiet">${t('search.words')} ${words.map((word) => html`<code key=${word}>${word}</code> `)}</p>`}
      ${!near && words.length > 0 && html`<p><button onClick=${() => setNear(true)}>${t('search.nearest')}</button></p>`}
    </${Empty}>
    ${near && (nearest.loading && !nearest.data ? html`<${Loading} />` : html`<${ProblemNote} problem=${nearest.problem} />`)}
    ${nearest.data && html`<${Panel} title=${t('search.near')} side=${t('search.near.none.floor')}>${nearest.data.items.length
      ? html`<${Hits} space=${space} placed=${byFloor(nearest.data.items).answers} most=${largest(nearest.data.items)} near=${true} />`
      : html`<p class="quiet">${t('search.near.nothing')}</p>`}</${Panel}>`}`;
}

/** The pages of the answer, as they are asked for. They go with the question. */
function useFurther(path, parameters, first) {
  const key = JSON.stringify([path, parameters]);
  const [read, setRead] = useState({ key });
  const pages = (read.key === key && read.pages) || [first];
  const [load, loading] = useAction(async () => {
    setRead({ key, pages: await withNext(pages, (cursor) => get(path, { ...parameters, limit: FURTHER, cursor })) });
  });
  return { pages, more: pages.at(-1).next_cursor && load, loading };
}

function Found({ space, first, path, parameters, limit, setLimit, one, done }) {
  const further = useFurther(path, parameters, first);
  const answer = together(further.pages);
  const { answers, near } = byFloor(answer.items, answer.floor);
  const most = largest(answer.items);
  const next = one ? undefined : STEPS.find((step) => step > limit && answer.items.length >= limit);
  const more = further.more || (next && (() => setLimit(next)));
  return html`
    <${About} answer=${answer} shown=${answer.items.length} />
    ${!answer.items.length && html`<${Nothing} key=${JSON.stringify(parameters)} space=${space} answer=${answer} path=${path} parameters=${parameters} />`}
    ${answers.length > 0 && html`<${Panel}><${Hits} space=${space} placed=${answers} most=${most} done=${done} /></${Panel}>`}
    ${near.length > 0 && html`<${Panel} title=${t('search.near')} side=${t('search.near.what', { n: answer.floor.least_words, relevance: number(answer.floor.least_relevance ?? 0.35) })}><${Hits} space=${space} placed=${near} most=${most} near=${true} done=${done} /></${Panel}>`}
    <${ProblemNote} problem=${further.loading.problem} />
    ${more && html`<button class="more" disabled=${further.loading.busy} onClick=${more}>${t('more')}</button>`}
    ${!more && answer.items.length >= limit && answer.total > answer.items.length && html`<p class="quiet">${t('search.most', { n: answer.items.length })}</p>`}
    <${WhyNot} space=${space} parameters=${parameters} several=${!one} />`;
}

const Help = () => html`<div class="search-help">
  <p class="lead">${t('search.lead')}</p>
  <dl>${['phrase', 'without', 'begin'].map((name) => html`<div key=${name}><dt><code>${t(`search.help.${name}.form`)}</code></dt><dd>${t(`search.help.${name}`)}</dd></div>`)}</dl>
</div>`;

export default function Search({ params: { space }, query }) {
  const asked = query.q?.trim();
  const one = !query.in;
  const [limit, setLimit] = useState(STEPS[0]);
  const parameters = { ...parametersOf(query, limit), spaces: query.in && query.in !== 'all' ? query.in : undefined };
  const path = one ? at('spaces', space, 'search') : '/v1/search';
  const live = useLive(asked ? path : undefined, { query: parameters });
  const last = useRef(undefined);
  if (live.data) last.current = live.data;
  // The last answer stays until the next one is there: a list that vanishes at each letter cannot be read.
  const shown = live.data ?? (live.loading ? last.current : undefined);
  useEffect(() => setLimit(STEPS[0]), [asked, query.scope, query.in]);
  return html`
    <${Heading} title=${t('nav.search')} above=${html`<a href=${href('space', { space })}>${space}</a>`} />
    <${Asked} query=${query} />
    <${Scopes} scope=${query.scope} conversation=${query.conversation} />
    <${Filters} space=${space} query=${query} />
    ${!asked && html`<${Help} />`}
    ${asked && html`<div class="search-answer" aria-busy=${live.loading}>
      <${ProblemNote} problem=${live.problem} again=${live.refresh} />
      ${!shown && live.loading && html`<${Loading} lines=${8} />`}
      ${shown && html`<${Found} space=${space} first=${shown} path=${path} parameters=${parameters} limit=${limit} setLimit=${setLimit} one=${one} done=${live.refresh} />`}
    </div>`}`;
}
