/** A list by pages. The browser draws only what is near the window; a page that did not change is not compared again. */
import { t } from '../core/texts.js';
import { html, useEffect, useMemo, useRef } from '../vendor/preact.js';
import { Empty, Loading, ProblemNote } from './basic.js';

/** One page: drawn again only if its items, or what `mark` names, changed. */
function Page({ items, row, idOf, mark }) {
  return useMemo(() => html`<ul class="page">${items.map((item) => html`<li key=${idOf(item)}>${row(item)}</li>`)}</ul>`, [items, mark]);
}

function More({ load, busy }) {
  const button = useRef();
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && load(), { rootMargin: '600px' });
    watch.observe(button.current);
    return () => watch.disconnect();
  });
  return html`<button class="more" ref=${button} onClick=${load} disabled=${busy}>${busy ? t('loading') : t('more')}</button>`;
}

/**
 * `list`: what `usePages` gave; `row(item)`: the nodes of one item; `idOf`; `empty`: nodes for an empty list;
 * `mark`: something that changes when rows have to be drawn again (a selection).
 */
export function PagedList({ list, row, idOf = (item) => item.id, empty, mark, class: kind = '' }) {
  if (list.loading) return html`<${Loading} lines=${6} />`;
  return html`<div class=${`paged ${kind}`}>
    <${ProblemNote} problem=${list.problem} again=${list.refresh} />
    ${!list.problem && !list.count && !list.more && (empty ?? html`<${Empty} title=${t('empty')} />`)}
    ${list.pages.map((items, index) => items.length > 0 && html`<${Page} key=${index} items=${items} row=${row} idOf=${idOf} mark=${mark} />`)}
    ${list.more && html`<${More} load=${list.loadMore} busy=${list.loadingMore} />`}
  </div>`;
}
