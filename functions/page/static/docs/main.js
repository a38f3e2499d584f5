// The documentation of the API: operations by tag, schemas, and a search over both.
import { load, operations } from './document.js';
import { shownOperation, shownSchema } from './operation.js';
import { inline, make, words } from './parts.js';

const SCHEMAS = 'schemas';

function section(id, description, items) {
  const heading = make('h2', { textContent: id });
  return make('section', { id: `tag-${id}` }, heading, ...words(description), ...items);
}

function show(document_) {
  const all = operations(document_);
  const tags = document_.tags.filter((tag) => all.some((one) => one.tag === tag.name));
  const names = Object.keys(document_.components.schemas).sort();
  const sections = tags.map((tag) =>
    section(tag.name, tag.description, all.filter((one) => one.tag === tag.name).map((one) => shownOperation(document_, one))),
  );
  sections.push(section(SCHEMAS, 'Bodies and answers by their names.', names.map((name) => shownSchema(document_, name))));
  document.getElementById('about').append(
    ...inline(`Version \`${document_.info.version}\`, below \`${location.origin}/v1\`. `),
    make('a', { href: '/', textContent: 'The page of this service' }),
  );
  document.getElementById('tags').append(
    ...[...tags.map((tag) => tag.name), SCHEMAS].map((name) => make('li', {}, make('a', { href: `#tag-${name}`, textContent: name }))),
  );
  document.getElementById('content').append(...sections);
  return new Map([...all.map((one) => [one.id, one.text]), ...names.map((name) => [`schema-${name}`, name.toLowerCase()])]);
}

function search(texts, typed) {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [id, text] of texts) {
    const fits = wanted.every((word) => text.includes(word));
    document.getElementById(id).hidden = !fits;
    count += fits;
  }
  for (const one of document.querySelectorAll('main section')) one.hidden = !one.querySelector('details:not([hidden])');
  document.getElementById('found').textContent = wanted.length ? `${count} found` : `${count} operations and schemas`;
}

function openLinked() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!found) return;
  found.hidden = false;
  if (found.tagName === 'DETAILS') found.open = true;
  found.scrollIntoView();
}

try {
  const texts = show(await load());
  const wanted = document.getElementById('wanted');
  wanted.addEventListener('input', () => search(texts, wanted.value));
  search(texts, wanted.value);
  addEventListener('hashchange', openLinked);
  openLinked();
} catch (error) {
  document.getElementById('found').textContent = `The documentation could not be loaded. Load the page again. (${error.message})`;
}
