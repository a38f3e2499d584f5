/** Two sides of a change beside each other; one column where the window is narrow. */
import { rowsOfTexts, rowsOfUnified, sizeOf } from '../core/differences.js';
import { visible } from '../core/markdown.js';
import { t } from '../core/texts.js';
import { html, useEffect, useMemo, useState } from '../vendor/preact.js';

const FIRST = 400;

/** Whether a media query holds now. */
export function useMedia(query) {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const watched = matchMedia(query);
    const follow = () => setHolds(watched.matches);
    follow();
    watched.addEventListener('change', follow);
    return () => watched.removeEventListener('change', follow);
  }, [query]);
  return holds;
}

const Side = ({ side }) =>
  side?.words
    ? side.words.map((word, index) => (word.changed ? html`<mark key=${index}>${visible(word.text)}</mark>` : visible(word.text)))
    : visible(side?.text ?? '');

function Beside({ rows }) {
  return rows.map((row, index) =>
    row.kind === 'gap'
      ? html`<tr key=${index} class="gap"><td colspan="4">⋯</td></tr>`
      : html`<tr key=${index} class=${row.kind}>
          <td class="number">${row.left?.number}</td><td class=${`side ${row.left && row.kind !== 'same' ? 'gone' : ''} ${row.left ? '' : 'none'}`}><${Side} side=${row.left} /></td>
          <td class="number">${row.right?.number}</td><td class=${`side ${row.right && row.kind !== 'same' ? 'come' : ''} ${row.right ? '' : 'none'}`}><${Side} side=${row.right} /></td>
        </tr>`,
  );
}

/** In one column, the lines of a block that went stand before those that came. */
function oneColumn(rows) {
  const lines = [];
  let come = [];
  const flush = () => {
    lines.push(...come);
    come = [];
  };
  for (const row of rows) {
    if (row.kind === 'same' || row.kind === 'gap') {
      flush();
      lines.push(row.kind === 'gap' ? { kind: 'gap' } : { kind: 'same', sign: ' ', side: row.right });
      continue;
    }
    if (row.left) lines.push({ kind: 'gone', sign: '−', side: row.left });
    if (row.right) come.push({ kind: 'come', sign: '+', side: row.right });
  }
  flush();
  return lines;
}

const Below = ({ rows }) =>
  oneColumn(rows).map((line, index) =>
    line.kind === 'gap'
      ? html`<tr key=${index} class="gap"><td colspan="3">⋯</td></tr>`
      : html`<tr key=${index} class=${line.kind}><td class="number">${line.side.number}</td><td class="sign">${line.sign}</td><td class=${`side ${line.kind === 'same' ? '' : line.kind}`}><${Side} side=${line.side} /></td></tr>`,
  );

/** `diff`: a unified diff; or `before` and `after`: whole texts. `title`: the path of the file. */
export function Diff({ diff, before, after, title, side, action }) {
  const narrow = useMedia('(max-width: 860px)');
  const [all, setAll] = useState(false);
  const rows = useMemo(() => (diff !== undefined ? rowsOfUnified(diff) : rowsOfTexts(before ?? '', after ?? '')), [diff, before, after]);
  const size = sizeOf(rows);
  const shown = all ? rows : rows.slice(0, FIRST);
  const whole = size.gone === 0 || size.come === 0;
  return html`<figure class="diff">
    ${title && html`<figcaption><code>${title}</code>${action && html`<span class="action">${action}</span>`}<span class="sizes"><b class="come">+${size.come}</b> <b class="gone">−${size.gone}</b></span>${side}</figcaption>`}
    ${rows.length === 0
      ? html`<p class="quiet">${t('diff.same')}</p>`
      : html`<div class="diff-scroll" tabindex="0" role="group" aria-label=${title}><table class=${narrow || whole ? 'below' : 'beside'}>
          ${narrow || whole ? html`<colgroup><col class="number" /><col class="sign" /><col /></colgroup>` : html`<colgroup><col class="number" /><col /><col class="number" /><col /></colgroup>`}<tbody>
          ${narrow || whole ? html`<${Below} rows=${shown} />` : html`<${Beside} rows=${shown} />`}
        </tbody></table></div>`}
    ${rows.length > shown.length && html`<button class="more" onClick=${() => setAll(true)}>${t('diff.all', { n: rows.length })}</button>`}
  </figure>`;
}
