// Makes elements: of texts and other elements alone, never of HTML.

/** An element with properties and children; a child that is null is left out. */
export function make(name, properties = {}, ...children) {
  const { attributes = {}, ...own } = properties;
  const element = Object.assign(document.createElement(name), own);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/** A description: paragraphs, with code between backquotes. */
export function words(text) {
  return text
    .split(/\n\n+/)
    .filter(Boolean)
    .map((paragraph) => make('p', {}, inline(paragraph)));
}

/** A text in one line, with code between backquotes. */
export function inline(text) {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? make('code', { textContent: part }) : part));
}

/** Code that may be wider than the page. */
export function code(text, name) {
  return make('pre', { tabIndex: 0, attributes: { role: 'group', 'aria-label': name } }, make('code', { textContent: text }));
}

/** A table with these headings; each row is a list of cells. */
export function table(caption, headings, rows) {
  const head = make('tr', {}, headings.map((text) => make('th', { textContent: text, scope: 'col' })));
  const body = rows.map((row) => make('tr', {}, row.map((cell) => make('td', {}, [cell].flat()))));
  const made = make('table', {}, make('caption', { textContent: caption }), make('thead', {}, head), make('tbody', {}, body));
  return make('div', { className: 'wide', tabIndex: 0, attributes: { role: 'group', 'aria-label': caption } }, made);
}

/** Something that opens; its content is made when it is opened first. */
export function opening(id, summary, content) {
  const element = make('details', { id }, make('summary', {}, summary));
  element.addEventListener('toggle', () => element.open && element.childElementCount === 1 && element.append(...content()));
  return element;
}
