/** A chat with the agent that answers from the memory: its answer, what it looked up, its sources, and what it cost. */
import { at, get, post } from '../core/api.js';
import { askedIn, askedOf, isFinal, keepAsked, lookups } from '../core/asked.js';
import { between, duration } from '../core/format.js';
import { linkOf } from '../core/found.js';
import { flat, jobAt } from '../core/jobs.js';
import { useLive, waitOf } from '../core/live.js';
import { Markdown, visible } from '../core/markdown.js';
import { usePages } from '../core/pages.js';
import { href } from '../core/router.js';
import { may, session } from '../core/session.js';
import { useStore } from '../core/store.js';
import { has, t } from '../core/texts.js';
import { Badge, Heading, ProblemNote, Time, Words } from '../parts/basic.js';
import { Field, useDraft } from '../parts/field.js';
import { PagedList } from '../parts/list.js';
import { NoModel } from '../parts/service.js';
import { html, useEffect, useRef, useState } from '../vendor/preact.js';

const ASK_AGAIN = 1000;
const SOURCE_KINDS = new Set(['fact', 'self', 'goal']);

/** One question until its answer is final. A question that was not sent yet, or whose answer was lost, is sent again by the same key. */
function useAnswer(space, question, sent) {
  const [state, setState] = useState({});
  useEffect(() => {
    const ended = new AbortController();
    let timer;
    let failures = 0;
    const read = async (id) => {
      try {
        const answer = flat(id
          ? await get(jobAt(space, 'question', id), undefined, { signal: ended.signal })
          : await post(at('spaces', space, 'ask'), { message: question.message, room: question.room || undefined }, { headers: { 'Idempotency-Key': question.key }, signal: ended.signal }));
        failures = 0;
        if (!id) sent(question.key, answer.id);
        setState({ answer });
        if (!isFinal(answer)) timer = setTimeout(() => read(answer.id), waitOf(ASK_AGAIN, { hidden: document.hidden }));
      } catch (problem) {
        if (ended.signal.aborted) return;
        setState((now) => ({ ...now, problem }));
        if (!problem.passing) return;
        failures += 1;
        timer = setTimeout(() => read(id), waitOf(ASK_AGAIN * 2, { failures, retryAfter: problem.retryAfter }));
      }
    };
    read(question.id);
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [question.key]);
  return state;
}

function Source({ space, source }) {
  const link = linkOf(space, source.id);
  const kind = SOURCE_KINDS.has(source.kind) ? t(`memory.kind.${source.kind}`) : has(`found.kind.${source.kind}`) ? t(`found.kind.${source.kind}`) : source.kind;
  return html`<li class="source"><p class="meta"><a href=${link}>${kind}</a><${Time} at=${source.at} /></p><p><${Words} text=${source.excerpt} /></p></li>`;
}

function Lookups({ calls }) {
  if (!calls.length) return null;
  return html`<details class="folded"><summary>${t('ask.lookups', { n: calls.length })}</summary>
    <ul class="lookups">${calls.map((call, index) => html`<li key=${index}><b>${has(`ask.tool.${call.name}`) ? t(`ask.tool.${call.name}`) : call.name}</b> <${Words} text=${askedOf(call)} />${' '}
      <span class="quiet">${call.error ? visible(call.error) : t('ask.results', { n: call.results })} · ${duration(call.ms / 1000)}</span></li>`)}</ul></details>`;
}

function Waiting({ since }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<p class="thinking" role="status"><i></i>${t('ask.works')} <span class="quiet" aria-hidden="true">${duration(Math.max(0, Math.round((Date.now() - since) / 1000)))}</span></p>`;
}

function Answered({ space, answer }) {
  const { usage } = answer;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  return html`
    ${answer.message && html`<${Markdown} text=${answer.message} />`}
    ${answer.error && html`<div class="problem"><p class="what">${t('ask.failed')}</p><p class="detail" lang="en"><${Words} text=${answer.error.detail} /></p><p class="codes"><code>${answer.error.code}</code></p></div>`}
    ${answer.sources?.length > 0 ? html`<p class="sources-title">${t('ask.sources', { n: answer.sources.length })}</p><ul class="sources">${answer.sources.map((source) => html`<${Source} key=${source.id} space=${space} source=${source} />`)}</ul>`
      : answer.status === 'done' && html`<p class="quiet">${t('ask.sources.none')}</p>`}
    <${Lookups} calls=${lookups(answer)} />
    <p class="meta cost"><span>${between(answer.created_at, answer.ended_at)}</span><span>${t('ask.calls', { n: usage.calls })}</span><span>${t('run.tokens', { n: tokens })}</span>
      ${answer.session && html`<a href=${href('conversation', { space, conversation: answer.session }, { level: 'turns' })}>${t('ask.session')}</a>`}
      ${answer.redacted && html`<${Badge} tone="warn">${t('ask.redacted')}</${Badge}>`}</p>`;
}

function Exchange({ space, question, who, sent, drop }) {
  const { answer, problem } = useAnswer(space, question, sent);
  const final = isFinal(answer);
  return html`<article class="exchange">
    <div class="said user"><p class="speaker"><b>${who}</b></p><div><p class="question-text"><${Words} text=${question.message} /></p><p class="meta"><${Time} at=${new Date(question.at).toISOString()} />${question.room && html`<span>${question.room}</span>`}
      ${(final || problem) && html`<button class="plain" onClick=${() => drop(question.key)}>${t('ask.hide')}</button>`}</p></div></div>
    <div class="said assistant"><p class="speaker"><b>${t('ask.agent')}</b></p><div>
      ${!final && !(problem && !problem.passing) && html`<${Waiting} since=${question.at} />`}
      <${ProblemNote} problem=${!final && problem} />
      ${final && html`<${Answered} space=${space} answer=${answer} />`}</div></div>
  </article>`;
}

/** One that was asked before: its answer opens below it. */
function Before({ space, question }) {
  const [open, setOpen] = useState(false);
  return html`<div class="row"><button class="plain grow" aria-expanded=${open} onClick=${() => setOpen(!open)}><${Words} text=${question.question} /></button>
      <span class="quiet"><${Words} text=${question.user} /></span><span class="quiet"><${Time} at=${question.created_at} /></span>
      ${question.status !== 'done' && html`<${Badge} tone=${question.status === 'failed' ? 'bad' : 'accent'}>${t(`job.${question.status}`)}</${Badge}>`}</div>
    ${open && html`<div class="exchange said"><span></span><div>${isFinal(question) ? html`<${Answered} space=${space} answer=${question} />` : html`<p class="quiet">${t('ask.works')}</p>`}</div></div>`}`;
}

/** The questions of the space, of any tab and day. They are read when somebody opens the list. */
function Earlier({ space, opened }) {
  const [open, setOpen] = useState(opened);
  const list = usePages(open ? '/v1/jobs' : undefined, { query: { space_id: space, kind: 'question' }, idOf: (one) => one.job, limit: 20 });
  return html`<details class="panel" open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>${t('ask.before')}</summary>
    ${open && html`<${PagedList} list=${list} idOf=${(one) => one.job} row=${(one) => html`<${Before} space=${space} question=${flat(one)} />`} empty=${html`<p class="quiet">${t('ask.before.none')}</p>`} />`}</details>`;
}

function AskForm({ space, ask }) {
  const [text, setText, forget] = useDraft(`ask.${space}`);
  const [room, setRoom] = useDraft(`ask.${space}.room`);
  const rooms = useLive(at('spaces', space, 'rooms'));
  const names = (rooms.data?.items ?? []).map((one) => one.room);
  const send = () => {
    if (!text.trim()) return;
    ask(text.trim(), names.includes(room) ? room : undefined);
    forget();
  };
  const submit = (event) => {
    event.preventDefault();
    send();
  };
  const keyed = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return html`<form class="ask-form" onSubmit=${submit}>
    <${Field} label=${t('ask.question')} rows="2" value=${text} onChange=${setText} onKeyDown=${keyed} placeholder=${t('ask.placeholder')} hint=${t('ask.hint')} />
    <div class="ask-side">${names.length > 0 && html`<${Field} label=${t('ask.room')} value=${room} onChange=${setRoom} options=${[['', t('ask.room.none')], ...names.map((name) => [name, name])]} />`}
      <button class="main" disabled=${!text.trim()}>${t('nav.ask')}</button></div>
  </form>`;
}

function Beginning({ ask }) {
  return html`<div class="search-help"><p class="lead">${t('ask.lead')}</p>
    <div class="actions">${[t('ask.example.decided'), t('ask.example.open'), t('ask.example.failed')].map((one) => html`<button key=${one} onClick=${() => ask(one)}>${one}</button>`)}</div>
    ${!may('write') && html`<p class="quiet">${t('ask.read.only')}</p>`}</div>`;
}

export default function Ask({ params: { space } }) {
  const { who } = useStore(session);
  const [asked, setAsked] = useState(() => askedIn(space, who.name));
  const end = useRef();
  const change = (make) => setAsked((now) => {
    const next = make(now);
    keepAsked(space, who.name, next);
    return next;
  });
  const ask = (message, room) => {
    change((now) => [...now, { key: crypto.randomUUID(), message, room, at: Date.now() }]);
    setTimeout(() => end.current?.scrollIntoView({ block: 'end', behavior: 'smooth' }), 50);
  };
  const sent = (key, id) => change((now) => now.map((one) => (one.key === key ? { ...one, id } : one)));
  const drop = (key) => change((now) => now.filter((one) => one.key !== key));
  return html`
    <${Heading} title=${t('nav.ask')} above=${html`<a href=${href('space', { space })}>${space}</a>`}>
      <a class="button" href=${href('search', { space }, { scope: 'questions' })}>${t('ask.earlier')}</a></${Heading}>
    <${NoModel} />
    ${asked.length ? html`<div class="chat">${asked.map((question) => html`<${Exchange} key=${question.key} space=${space} question=${question} who=${who.name} sent=${sent} drop=${drop} />`)}</div>` : html`<${Beginning} ask=${ask} />`}
    <div ref=${end} class="spaced"><${AskForm} space=${space} ask=${ask} /></div>
    <${Earlier} space=${space} opened=${!asked.length} />`;
}
