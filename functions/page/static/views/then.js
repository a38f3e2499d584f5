/** The bank as it stood after an earlier change, beside today: a slider over all changes. */
import { at, filePath } from '../core/api.js';
import { useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { changeQuery, href } from '../core/router.js';
import { t } from '../core/texts.js';
import { Answer, Choice, Empty, Heading, Panel, ProblemNote, Time } from '../parts/basic.js';
import { kindOf } from '../parts/changes.js';
import { Diff } from '../parts/diff.js';
import { useSettled } from '../parts/field.js';
import { html, useEffect, useState } from '../vendor/preact.js';

const nothing = (live) => live.problem?.status === 404;

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
  if (nothing(before) && nothing(now)) return html`<${Empty} title=${t('then.nowhere')} />`;
  if ((before.problem && !nothing(before)) || (now.problem && !nothing(now))) return html`<${ProblemNote} problem=${before.problem ?? now.problem} />`;
  if (mode === 'text') return nothing(before) ? html`<${Empty} title=${t('then.not.yet')} />` : html`<${Markdown} text=${before.data?.content ?? ''} />`;
  return html`<${Diff} before=${before.data?.content ?? ''} after=${now.data?.content ?? ''} title=${path} action=${t('then.to.now')} />`;
}

export default function Then({ params: { space }, query }) {
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
