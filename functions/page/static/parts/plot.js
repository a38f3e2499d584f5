/** A small plot of columns, as SVG. Its numbers are also a table, for readers who do not see it. */
import { t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { useMedia } from './diff.js';

const HIGH = 120;
const FOOT = 16;

/** A round number at or above the largest one, for the axis. */
export function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

/**
 * `columns`: [{key, label, parts: [numbers]}]; `names`: of the parts; `show(number)`: a number as text; `limit`: a line.
 */
export function Columns({ columns, names, show, limit, title }) {
  const wide = useMedia('(max-width: 620px)') ? 320 : 640;
  const [over, setOver] = useState(undefined);
  const sums = columns.map((column) => column.parts.reduce((sum, part) => sum + part, 0));
  const top = roundUp(Math.max(1, ...sums, limit !== undefined && limit < 3 * Math.max(...sums) ? limit : 0));
  const step = wide / Math.max(columns.length, 1);
  const bar = Math.min(step * 0.7, 28);
  const high = (value) => (value / top) * HIGH;
  const present = over !== undefined ? columns[over] : undefined;
  return html`<figure class="plot">
    <svg viewBox=${`-2 -14 ${wide + 4} ${HIGH + FOOT + 16}`} role="img" aria-label=${title} onMouseLeave=${() => setOver(undefined)}>
      ${[1, 0.5].map((part) => html`<g key=${part}><line class="grid" x1="0" x2=${wide} y1=${HIGH - HIGH * part} y2=${HIGH - HIGH * part} /><text class="axis" x="0" y=${HIGH - HIGH * part - 3}>${show(top * part)}</text></g>`)}
      <line class="ground" x1="0" x2=${wide} y1=${HIGH} y2=${HIGH} />
      ${columns.map((column, index) => {
        let from = HIGH;
        const x = index * step + (step - bar) / 2;
        return html`<g key=${column.key} class=${over === index ? 'over' : ''} onMouseEnter=${() => setOver(index)}>
          <rect class="catch" x=${index * step} y="-10" width=${step} height=${HIGH + FOOT + 10} />
          ${column.parts.map((part, which) => {
            const size = part > 0 ? Math.max(high(part), 1) : 0;
            from -= size;
            return html`<rect key=${which} class=${`part-${which}`} x=${x} y=${from} width=${bar} height=${size} rx="1.5" />`;
          })}
          ${(columns.length <= (wide > 320 ? 10 : 5) || index % Math.ceil(columns.length / (wide / 80)) === 0) && html`<text class="axis below" x=${index * step + step / 2} y=${HIGH + 13}>${column.label}</text>`}
        </g>`;
      })}
      ${limit !== undefined && limit <= top && html`<line class="limit" x1="0" x2=${wide} y1=${HIGH - high(limit)} y2=${HIGH - high(limit)} />`}
    </svg>
    <figcaption>
      ${names.map((name, index) => html`<span key=${name} class=${`key part-${index}`}>${name}${present && html` <b>${show(present.parts[index])}</b>`}</span>`)}
      ${present && html`<span class="quiet">${present.label}</span>`}
    </figcaption>
    <details class="numbers"><summary>${t('plot.numbers')}</summary>
      <table><thead><tr><th></th>${names.map((name) => html`<th key=${name}>${name}</th>`)}</tr></thead>
        <tbody>${columns.map((column) => html`<tr key=${column.key}><th>${column.label}</th>${column.parts.map((part, index) => html`<td key=${index}>${show(part)}</td>`)}</tr>`)}</tbody></table>
    </details>
  </figure>`;
}
