/** Markdown as virtual nodes. Text of agents is hostile: no HTML is made of it, no link but to http(s) and mail, no image is loaded. */
import { Lexer } from '../vendor/marked.js';
import { h } from '../vendor/preact.js';
import { hides, pieces } from './letters.js';

export const LARGEST = 400_000;
const ROWS = 200;
const DEEPEST = 40;
const ALLOWED = new Set(['http:', 'https:', 'mailto:']);

/** The address of a link, if a page may have it: absolute, and of a scheme that runs nothing. */
export function safeAddress(text) {
  try {
    const address = new URL(String(text).trim());
    return ALLOWED.has(address.protocol) ? address.href : undefined;
  } catch {
    return undefined;
  }
}

/** Text with its hidden letters made visible. */
export function visible(text) {
  if (!hides(text)) return text;
  return pieces(text).map((piece) =>
    typeof piece === 'string'
      ? piece
      : h('span', { class: 'hidden-letters', title: piece.names.join(' ') }, piece.count > 1 ? `${piece.hidden} ×${piece.count}` : piece.hidden),
  );
}

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', '#39': "'" };

/** The parser escapes some letters for HTML. A virtual node needs them as they were written. */
export const unescaped = (text) => text.replace(/&(#?\w+);/g, (whole, name) => ENTITIES[name] ?? whole);

function link(token, inner) {
  const address = safeAddress(token.href);
  if (!address) return h('span', { class: 'dead-link', title: token.href }, inner);
  return h('a', { href: address, rel: 'noopener noreferrer nofollow', target: '_blank', title: address }, inner);
}

function inline(tokens = [], depth = 0) {
  if (depth > DEEPEST) return tokens.map((token) => visible(token.raw));
  return tokens.map((token) => {
    const inner = () => inline(token.tokens, depth + 1);
    switch (token.type) {
      case 'strong': return h('strong', null, inner());
      case 'em': return h('em', null, inner());
      case 'del': return h('del', null, inner());
      case 'codespan': return h('code', null, visible(token.text));
      case 'br': return h('br');
      case 'link': return link(token, inner());
      case 'image': return h('span', { class: 'no-image', title: token.href }, visible(token.text || token.href));
      case 'escape': return visible(token.text);
      case 'text': return token.tokens ? inner() : visible(unescaped(token.text));
      default: return visible(token.raw);
    }
  });
}

function list(token, depth) {
  const items = token.items.map((item) =>
    h('li', { class: item.task ? 'task' : undefined },
      item.task && h('span', { class: 'box', role: 'img', 'aria-label': item.checked ? '☑' : '☐' }, item.checked ? '☑' : '☐'),
      blocks(item.tokens.filter((inner) => inner.type !== 'checkbox'), depth + 1)),
  );
  return token.ordered ? h('ol', { start: token.start || undefined }, items) : h('ul', null, items);
}

function table(token) {
  const cell = (name, one, column) => h(name, { class: token.align[column] ? `align-${token.align[column]}` : undefined }, inline(one.tokens));
  const rows = token.rows.slice(0, ROWS);
  const left = token.rows.length - rows.length;
  return h('div', { class: 'table-scroll', tabIndex: 0, role: 'group' },
    h('table', null,
      h('thead', null, h('tr', null, token.header.map((one, column) => cell('th', one, column)))),
      h('tbody', null, rows.map((row) => h('tr', null, row.map((one, column) => cell('td', one, column)))))),
    left > 0 && h('p', { class: 'cut' }, `+ ${left}`));
}

function blocks(tokens = [], depth = 0, heading = undefined) {
  if (depth > DEEPEST) return tokens.map((token) => visible(token.raw));
  return tokens.map((token) => {
    switch (token.type) {
      case 'space': case 'def': return null;
      case 'heading': return heading ? heading(token, inline(token.tokens)) : h(`h${Math.min(token.depth + 1, 6)}`, null, inline(token.tokens));
      case 'paragraph': return h('p', null, inline(token.tokens));
      case 'text': return token.tokens ? inline(token.tokens) : visible(unescaped(token.text));
      case 'code': return h('pre', { tabIndex: 0 }, h('code', null, visible(token.text)));
      case 'blockquote': return h('blockquote', null, blocks(token.tokens, depth + 1));
      case 'list': return list(token, depth);
      case 'table': return table(token);
      case 'hr': return h('hr');
      case 'checkbox': return null;
      default: return h('p', null, visible(token.raw));
    }
  });
}

const lexed = (text) => new Lexer({ gfm: true, breaks: false }).lex(text);

/** A comment of HTML says nothing to a reader. */
const isShown = (token) => !(token.type === 'html' && /^<!--[\s\S]*-->\s*$/.test(token.raw));

/** The tokens of a text that are shown. */
export const tokensOf = (text) => lexed(text).filter(isShown);

/** A text as virtual nodes. A very large one is shown as it was written, which costs nothing to read. */
export function Markdown({ text, small = false }) {
  const body = text.length > LARGEST ? h('pre', null, visible(text)) : blocks(tokensOf(text));
  return h('div', { class: small ? 'prose small' : 'prose', dir: 'auto' }, body);
}

/**
 * The sections of a text: {path: headings from the outermost, above: their lines, depth, title, line (the heading as written), raw, below}.
 * `raw` is its own text, `below` all below its heading, with the sections in it and comments: what an edit replaces.
 * What stands before the first heading is a section with an empty path.
 */
export function sectionsOf(text) {
  if (text.length > LARGEST) return [{ path: [], depth: 0, title: '', raw: text, below: text }];
  const found = [];
  /** The sections that the present token is in, from the outermost. */
  const open = [];
  let present = { path: [], depth: 0, title: '', tokens: [], below: '' };
  const end = () => (present.path.length || present.tokens.some((one) => one.type !== 'space')) && found.push(present);
  for (const token of lexed(text)) {
    const begins = token.type === 'heading';
    while (begins && open.length && open.at(-1).depth >= token.depth) open.pop();
    for (const section of open) section.below += token.raw;
    if (!begins) {
      present.tokens.push(token);
      continue;
    }
    end();
    const title = unescaped(token.text);
    const line = token.raw.split('\n')[0].trim();
    present = { path: [...open.map((one) => one.title), title], above: open.map((one) => one.line), depth: token.depth, title, line, tokens: [], below: '', heading: inline(token.tokens) };
    open.push(present);
  }
  end();
  return found.map(({ tokens, below, ...section }) => ({
    ...section,
    raw: tokens.map((token) => token.raw).join('').trim(),
    below: below.trim(),
  }));
}
