/** A list by pages, of any length. Only the rows near the window are there, in units of a few; of others their height stays. */
import { makeStore, useStore } from '../core/store.js';
import { t } from '../core/texts.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { Empty, Loading, ProblemNote } from './basic.js';

const UNIT = 20;
/** Rows that are drawn at once: more would hold up a scroll. */
const STEP = 4;
/** Of the first page, so that the first view has its rows at once. */
const AT_ONCE = 12;
/** A list of so few rows keeps all that were drawn, with what was opened in them. */
const FEW = 200;
const NEAR = '1500px 0px';
const USUAL_HEIGHT = 90;

const cut = new WeakMap();

/** The units of a page. A page that stays the same array keeps them. */
export function unitsOf(items) {
  if (!cut.has(items)) cut.set(items, Array.from({ length: Math.ceil(items.length / UNIT) }, (_, index) => items.slice(index * UNIT, (index + 1) * UNIT)));
  return cut.get(items);
}

/** One piece of work in each frame, the newest first: a reader who scrolls by waits for where the scroll ends. Work that is not wanted any more says `false`. */
function makeQueue() {
  const waiting = [];
  const next = () => {
    while (waiting.length && !waiting.pop()());
    if (waiting.length) requestAnimationFrame(next);
  };
  return (work) => {
    waiting.push(work);
    if (waiting.length === 1) requestAnimationFrame(next);
  };
}

/** What the units of one list share: who is near the window, how rows are drawn, how high they are as a rule. */
function makeDrawing() {
  const told = new WeakMap();
  const vnodes = new WeakMap();
  let made = 0;
  const observer = new IntersectionObserver((entries) => entries.forEach((entry) => told.get(entry.target)?.(entry)), { rootMargin: NEAR });
  const drawing = {
    row: undefined,
    idOf: undefined,
    few: true,
    height: USUAL_HEIGHT,
    mark: makeStore(undefined),
    soon: makeQueue(),
    end: () => observer.disconnect(),
    watch(node, tell) {
      told.set(node, tell);
      observer.observe(node);
      return () => observer.unobserve(node);
    },
    /** The same node for the same items: nothing of it is compared again. The first page changes with each item that comes, and its units stay. */
    unit(items, page, index) {
      if (!vnodes.has(items)) vnodes.set(items, html`<${Unit} key=${page ? `more ${(made += 1)}` : index} items=${items} drawing=${drawing} first=${page + index === 0} />`);
      return vnodes.get(items);
    },
  };
  return drawing;
}

function useDrawing(row, idOf, mark, count) {
  const kept = useRef();
  kept.current ??= makeDrawing();
  Object.assign(kept.current, { row, idOf, few: count <= FEW });
  useEffect(() => kept.current.mark.set(mark), [mark]);
  useEffect(() => kept.current.end, []);
  return kept.current;
}

/** The rows of a unit that are drawn. A row is drawn again only if its item, or what `mark` names, changed. */
function Rows({ items, drawing }) {
  const mark = useStore(drawing.mark);
  const drawn = useMemo(() => new WeakMap(), [mark]);
  return items.map((item) => {
    if (!drawn.has(item)) drawn.set(item, html`<li key=${drawing.idOf(item)} role="listitem">${drawing.row(item)}</li>`);
    return drawn.get(item);
  });
}

function Unit({ items, drawing, first }) {
  const node = useRef();
  const near = useRef(first);
  const height = useRef(undefined);
  const [shown, setShown] = useState(first ? AT_ONCE : 0);
  const more = () => {
    if (near.current) setShown((now) => now + STEP);
    return near.current;
  };
  useEffect(() => drawing.watch(node.current, ({ isIntersecting, boundingClientRect }) => {
    if (isIntersecting === near.current) return;
    if (isIntersecting) {
      near.current = true;
      drawing.soon(more);
    } else if (!drawing.few && !node.current.contains(document.activeElement)) {
      near.current = false;
      // Of a unit that was not drawn whole the height is the one that was reserved.
      if (!node.current.style.minHeight) {
        height.current = boundingClientRect.height;
        drawing.height = height.current / node.current.children.length;
      }
      setShown(0);
    }
  }), []);
  useEffect(() => {
    if (shown && shown < items.length) drawing.soon(more);
  }, [shown, items]);
  const whole = shown >= items.length;
  useLayoutEffect(() => {
    node.current.style.minHeight = whole ? '' : `${height.current ?? items.length * drawing.height}px`;
  });
  return html`<ul class="page" role="presentation" ref=${node}>${shown > 0 && html`<${Rows} items=${whole ? items : items.slice(0, shown)} drawing=${drawing} />`}</ul>`;
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
 * A screen reader meets one list: the units are no lists of their own.
 * `list`: what `usePages` gave; `row(item)`: the nodes of one item; `idOf`; `empty`: nodes for an empty list;
 * `mark`: something that changes when rows have to be drawn again (a selection).
 */
export function PagedList({ list, row, idOf = (item) => item.id, empty, mark, class: kind = '' }) {
  const drawing = useDrawing(row, idOf, mark, list.count);
  if (list.loading) return html`<${Loading} lines=${6} />`;
  const units = list.pages.flatMap((items, page) => unitsOf(items).map((unit, index) => drawing.unit(unit, page, index)));
  return html`<div class=${`paged ${kind}`}>
    <${ProblemNote} problem=${list.problem} again=${list.refresh} />
    ${!list.problem && !list.count && !list.more && (empty ?? html`<${Empty} title=${t('empty')} />`)}
    ${units.length > 0 && html`<div role="list">${units}</div>`}
    ${list.more && html`<${More} load=${list.loadMore} busy=${list.loadingMore} />`}
  </div>`;
}
