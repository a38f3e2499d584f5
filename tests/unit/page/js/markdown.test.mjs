/** Hostile Markdown becomes virtual nodes that can do nothing, and differences become two sides. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const core = new URL('../../../../functions/page/static/core/', import.meta.url);
const { Markdown, safeAddress, sectionsOf } = await import(new URL('markdown.js', core));
const { rowsOfTexts, rowsOfUnified, sizeOf } = await import(new URL('differences.js', core));

const ALLOWED = new Set(['div', 'p', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'hr', 'br', 'a', 'span', 'table', 'thead', 'tbody', 'tr', 'th', 'td']);
const SAFE = new Set(['class', 'title', 'href', 'rel', 'target', 'dir', 'start', 'role', 'aria-label', 'tabIndex', 'children']);

/** All elements of a tree, and its text. */
function walked(node, found = { nodes: [], text: '' }) {
  if (Array.isArray(node)) node.forEach((one) => walked(one, found));
  else if (typeof node === 'string' || typeof node === 'number') found.text += node;
  else if (node && typeof node === 'object') {
    found.nodes.push(node);
    walked(node.props.children, found);
  }
  return found;
}

const shown = (text) => walked(Markdown({ text }));

test('whatever a note says, only harmless elements with harmless properties come of it, and its words are all there', () => {
  const hostile = [
    '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '[x](javascript:alert(1))', '[x](  JaVaScRiPt:alert(1))', '[x](data:text/html,<b>)',
    '![picture](https://elsewhere.example/p.png)', '<a href="javascript:alert(1)">x</a>', '[x]: javascript:alert(1)\n\n[x]', '<javascript:alert(1)>', '[x](vbscript:x "title")',
    '> '.repeat(300) + 'deep', '- '.repeat(200) + 'deep', '*'.repeat(2000), '['.repeat(2000), '`'.repeat(999), '<!-- x --> <b>', '# <svg onload=alert(1)>',
    '| a |\n|---|\n' + '| <img onerror=x> |\n'.repeat(50), '[x](//elsewhere.example)', '[x](#/operate)', '[x](/docs)',
  ];
  for (const text of hostile) {
    for (const { type, props } of shown(text).nodes) {
      assert.ok(ALLOWED.has(type), `${type} of ${text.slice(0, 60)}`);
      for (const name of Object.keys(props)) assert.ok(SAFE.has(name), `${name} of ${text.slice(0, 60)}`);
      if (type === 'a') assert.match(props.href, /^(https?:|mailto:)/);
    }
  }
  assert.match(shown('<script>alert(1)</script>').text, /<script>alert\(1\)<\/script>/);
  assert.match(shown('&lt;b&gt; &amp;').text, /<b> &/);
});

test('links lead to http, https and mail alone, open outside and tell nobody where they were', () => {
  assert.equal(safeAddress('https://example.com/a b'), 'https://example.com/a%20b');
  for (const bad of ['javascript:x', 'JAVASCRIPT:x', 'java\nscript:x', 'data:x', 'file:///etc', '/docs', '#/x', '//x.y', 'x', '']) assert.equal(safeAddress(bad), undefined, bad);
  const [link] = shown('[a](https://example.com)').nodes.filter((node) => node.type === 'a');
  assert.deepEqual([link.props.rel, link.props.target], ['noopener noreferrer nofollow', '_blank']);
});

test('a table of 10,000 cells is cut, and says by how much', () => {
  const found = shown('|a|b|c|d|\n|-|-|-|-|\n' + '|1|2|3|4|\n'.repeat(2500));
  assert.ok(found.nodes.filter((node) => node.type === 'td').length <= 800);
  assert.match(found.text, /\+ 2300/);
});

test('letters that turn or hide text are shown by their number', () => {
  assert.match(shown('safe\u202Egnp.exe').text, /U\+202E/);
  assert.match(shown('`a\u{E0041}b`').text, /U\+E0041/);
});

test('a file is taken apart by its headings, as the service names them', () => {
  const sections = sectionsOf('before\n\n# A\n\ntext\n\n## B `x`\n\n- 1\n\n```\n# no heading\n```\n\n# C\n');
  assert.deepEqual(sections.map((one) => one.path), [[], ['A'], ['A', 'B `x`'], ['C']]);
  assert.deepEqual([...sections[2].above, sections[2].line], ['# A', '## B `x`']);
  assert.match(sections[2].raw, /# no heading/);
});

test('what an edit of a section replaces has the sections in it, and the comments that nobody sees', () => {
  const sections = sectionsOf('# A\n\ntext\n\n<!-- keep -->\n\n## B\n\n- 1\n\n### C\n\nx\n\n## D\n\ny\n\n# E\n');
  const below = Object.fromEntries(sections.map((one) => [one.title, one.below]));
  assert.equal(below.A, 'text\n\n<!-- keep -->\n\n## B\n\n- 1\n\n### C\n\nx\n\n## D\n\ny');
  assert.equal(below.B, '- 1\n\n### C\n\nx');
  assert.equal(below.D, 'y');
  assert.equal(below.E, '');
});

test('a unified diff has two sides with the numbers of lines, and words that differ are marked', () => {
  const rows = rowsOfUnified('--- a/x\n+++ b/x\n@@ -3,4 +3,4 @@\n same\n-the old word\n+the new word\n+another\n same\n@@ -20 +21 @@\n---- minus\n');
  assert.deepEqual(rows.map((row) => row.kind), ['gap', 'same', 'changed', 'come', 'same', 'gap', 'gone']);
  assert.deepEqual([rows[2].left.number, rows[2].right.number, rows[3].right.number], [4, 4, 5]);
  assert.deepEqual(rows[2].left.words.filter((word) => word.changed).map((word) => word.text), ['old']);
  assert.equal(rows[6].left.text, '--- minus');
  assert.deepEqual(sizeOf(rows), { come: 2, gone: 2 });
});

test('two texts that are the same have no rows, and far lines are left out', () => {
  assert.deepEqual(rowsOfTexts('a\nb\n', 'a\nb\n'), []);
  const before = Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n');
  const kinds = rowsOfTexts(before, before.replace('line 20', 'line twenty')).map((row) => row.kind);
  assert.deepEqual(kinds, ['gap', 'same', 'same', 'same', 'changed', 'same', 'same', 'same']);
});
