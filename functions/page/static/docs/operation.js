// An operation and a schema, as they are shown once somebody opens them.
import { curl, resolved, typeOf } from './document.js';
import { code, inline, make, opening, table, words } from './parts.js';

const NEEDS = { any: 'any valid token', nothing: 'no token', rotation: 'any valid token' };

/** An operation: one line, and what it takes and answers when it is opened. */
export function shownOperation(document, one) {
  const line = [
    make('span', { className: `method ${one.method.toLowerCase()}`, textContent: one.method }),
    make('code', { className: 'path', textContent: one.path }),
    make('span', { className: 'summary', textContent: one.summary }),
  ];
  return opening(one.id, line, () => [
    ...words(one.description),
    make('p', {}, 'Needs: ', NEEDS[one.needs] ?? make('code', { textContent: one.needs }), '. Operation ', make('code', { textContent: one.id }), '.'),
    ...(one.parameters.length ? [parameters(one)] : []),
    ...one.body.flatMap((body) => contents(document, 'Body', body)),
    ...one.responses.flatMap((answer) => answered(document, answer)),
    make('h3', { textContent: 'Try it' }),
    code(curl(one, location.origin), 'A line of curl'),
  ]);
}

/** A schema: its name, and its fields when it is opened. */
export function shownSchema(document, name) {
  const told = document.components.schemas[name];
  return opening(`schema-${name}`, [make('code', { className: 'path', textContent: name })], () => [
    ...words(told.description ?? ''),
    ...fields(document, name, told),
  ]);
}

function parameters(one) {
  const rows = one.parameters.map((each) => [
    make('code', { textContent: each.name }),
    [each.in, each.required ? ', required' : ''].join(''),
    type(each.schema),
    inline(each.description ?? ''),
  ]);
  return table('Parameters', ['name', 'where', 'type', 'meaning'], rows);
}

function answered(document, answer) {
  const failed = Number(answer.status) >= 400;
  const heading = make('h3', {}, `${answer.status} `, ...inline(answer.description.split('\n')[0]));
  return [heading, ...(failed ? [] : answer.content.flatMap((one) => contents(document, answer.status, one)))];
}

function contents(document, name, one) {
  const shown = [make('p', {}, `${name}, `, make('code', { textContent: one.type }), ': ', type(one.schema))];
  shown.push(...fields(document, `${name} (${one.type})`, resolved(document, one.schema)));
  if (one.example) shown.push(code(one.example, `Example of ${name}`));
  return shown;
}

function fields(document, name, told) {
  const properties = Object.entries(told?.properties ?? {});
  if (!properties.length) return [];
  const rows = properties.map(([field, schema]) => [
    make('code', { textContent: field }),
    told.required?.includes(field) ? 'required' : '',
    type(schema),
    inline(schema.description ?? resolved(document, schema)?.description ?? ''),
  ]);
  return [table(`Fields of ${name}`, ['name', 'needed', 'type', 'meaning'], rows)];
}

function type(schema) {
  return typeOf(schema).map((part) =>
    part.schema ? make('a', { href: `#schema-${part.schema}`, textContent: part.schema }) : part,
  );
}
