/** Every change of the bank and the rules: as a line in time, one by one, and as a slider over the states between them. */
import { at, filePath } from '../core/api.js';
import { dayKey, weekday } from '../core/format.js';
import { flat } from '../core/jobs.js';
import { useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { usePages } from '../core/pages.js';
import { changeQuery, go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { Answer, Badge, Choice, Empty, Facts, Heading, Panel, ProblemNote, Tabs, Time } from '../parts/basic.js';
import { Diff } from '../parts/diff.js';
import { useSettled } from '../parts/field.js';
import { PagedList } from '../parts/list.js';
import { ChangeNumbers, kindOf, makerOf, PlanBody, RunRow, undo } from '../parts/records.js';
import { html, useEffect, useState } from '../vendor/preact.js';

const EVERY = 5000;

function ChangeRow({ space, change, first, newest, refresh }) {
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
    row=${(change) => html`<${ChangeRow} space=${space} change=${change} first=${firstOfDay.has(change.number)} newest=${change.number === newest} refresh=${list.refresh} />`} />`;
}

function Runs({ space }) {
  const list = usePages('/v1/jobs', { query: { space_id: space, kind: 'consolidation' }, every: EVERY, idOf: (job) => job.job, limit: 30 });
  return html`<${PagedList} list=${list} idOf=${(job) => job.job} row=${(job) => html`<${RunRow} run=${flat(job)} />`} empty=${html`<${Empty} title=${t('runs.none')} />`} />`;
}

export function History({ params: { space }, query }) {
  const runs = query.show === 'runs';
  return html`<${Heading} title=${t('nav.history')} above=${space}><a class="button" href=${href('then', { space })}>${t('then.title')}</a></${Heading}>
    <${Tabs} label=${t('nav.history')} items=${[
      { href: href('history', { space }), label: t('history.changes'), current: !runs },
      { href: href('history', { space }, { show: 'runs' }), label: t('history.runs'), current: runs },
    ]} />
    ${runs ? html`<${Runs} space=${space} />` : html`<${Changes} space=${space} />`}`;
}

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

export function Change({ params: { space, number: n } }) {
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

const isMissing = (live) => live.problem?.status === 404;

function Slider({ space, last, number, choose }) {
  const settled = useSettled(number, 180);
  const change = useLive(settled > 0 ? at('spaces', space, 'consolidations', settled) : undefined);
  return html`<${Panel}><div class="slider">
    <button aria-label=${t('then.back')} disabled=${number <= 1} onClick=${() => choose(number - 1)}>←</button>
    <input type="range" min="1" max=${last} value=${number} aria-label=${t('then.slider')} aria-valuetext=${t('start.change', { n: number })} onInput=${(event) => choose(Number(event.target.value))} />
    <button aria-label=${t('then.forth')} disabled=${number >= last} onClick=${() => choose(number + 1)}>→</button></div>
    <p class="slider-text"><a href=${href('change', { space, number })}>${t('start.change', { n: number })}</a> ${t('then.of', { n: last })}
      ${change.data?.number === number && html` · ${kindOf(change.data)} · <${Time} at=${change.data.committed_at} exact=${true} />`}</p></${Panel}>`;
}

function Compared({ space, path, number, mode }) {
  const before = useLive(filePath(space, path), { query: { at: number } });
  const now = useLive(filePath(space, path));
  if (before.loading || now.loading) return null;
  if (isMissing(before) && isMissing(now)) return html`<${Empty} title=${t('then.nowhere')} />`;
  if ((before.problem && !isMissing(before)) || (now.problem && !isMissing(now))) return html`<${ProblemNote} problem=${before.problem ?? now.problem} />`;
  if (mode === 'text') return isMissing(before) ? html`<${Empty} title=${t('then.not.yet')} />` : html`<${Markdown} text=${before.data?.content ?? ''} />`;
  return html`<${Diff} before=${before.data?.content ?? ''} after=${now.data?.content ?? ''} title=${path} action=${t('then.to.now')} />`;
}

export function Then({ params: { space }, query }) {
  const info = useLive(at('spaces', space));
  const last = info.data?.changes ?? 0;
  const [number, setNumber] = useState(Number(query.at) || 0);
  const present = number || last;
  const settled = useSettled(present, 180);
  const files = useLive(settled > 0 ? at('spaces', space, 'bank') : undefined, { query: { at: settled } });
  const today = useLive(at('spaces', space, 'bank'));
  useEffect(() => {
    if (number && String(settled) !== query.at) changeQuery({ at: settled });
  }, [settled]);
  const paths = [...new Set([...(files.data?.items ?? []), ...(today.data?.items ?? [])].map((file) => file.path))].sort();
  const path = query.file && paths.includes(query.file) ? query.file : paths[0];
  const mode = query.mode === 'text' ? 'text' : 'diff';
  return html`<${Heading} title=${t('then.title')} above=${html`<a href=${href('history', { space })}>${space} · ${t('nav.history')}</a>`} />
    <${Answer} live=${info}>${() => last === 0 ? html`<${Empty} title=${t('history.none')}><p>${t('history.none.what')}</p></${Empty}>` : html`
      <${Slider} space=${space} last=${last} number=${present} choose=${setNumber} />
      <${ProblemNote} problem=${files.problem} />
      <div class="bank"><nav class="file-list" aria-label=${t('nav.bank')}>${paths.map((one) => html`<a key=${one} href=${href('then', { space }, { ...query, at: settled, file: one })} aria-current=${one === path ? 'page' : undefined}>${one}</a>`)}</nav>
        <div><div class="actions spaced"><${Choice} label=${t('then.show')} value=${mode} onChange=${(one) => changeQuery({ mode: one })} options=${[{ value: 'diff', label: t('then.diff') }, { value: 'text', label: t('then.text') }]} /></div>
          ${path && settled > 0 && html`<${Compared} key=${path} space=${space} path=${path} number=${settled} mode=${mode} />`}</div></div>`}</${Answer}>`;
}
