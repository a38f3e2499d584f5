// Reads the OpenAPI document of the service: operations, schemas, and what a schema is called in one line.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const JSON_TYPE = 'application/json';

/** The document that belongs to this version of the page. */
export async function load() {
  const answer = await fetch(new URL('./openapi.json', import.meta.url));
  if (!answer.ok) throw new Error(`The document did not come: ${answer.status}`);
  return answer.json();
}

/** What a reference within the document stands for; anything else as it is. */
export function resolved(document, node) {
  if (!node?.$ref) return node;
  return merged(document, node.$ref.slice(2).split('/').reduce((found, name) => found[name], document));
}

/** A schema with the fields of those that it adds to. */
function merged(document, schema) {
  const above = (schema.allOf ?? []).map((part) => resolved(document, part));
  if (!above.length) return schema;
  const properties = Object.assign({}, ...above.map((one) => one.properties), schema.properties);
  return { ...schema, properties, required: [...above, schema].flatMap((one) => one.required ?? []) };
}

/** The name of a schema that a node refers to. */
export function referred(node) {
  return node?.$ref?.startsWith('#/components/schemas/') ? node.$ref.split('/').pop() : null;
}

/** All operations, in the order of the document. */
export function operations(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => operation(document, method, path, methods[method])),
  );
}

function operation(document, method, path, told) {
  const body = told.requestBody?.content ?? {};
  const text = [told.operationId, method, path, told.summary, told.description, ...told.tags].join(' ').toLowerCase();
  return {
    id: told.operationId,
    method: method.toUpperCase(),
    path,
    summary: told.summary,
    description: told.description ?? '',
    tag: told.tags[0],
    needs: told['x-needs'],
    parameters: (told.parameters ?? []).map((one) => resolved(document, one)),
    body: content(body),
    responses: Object.entries(told.responses).map(([status, one]) => ({ status, ...answer(resolved(document, one)) })),
    text,
  };
}

function answer(told) {
  return { description: told.description ?? '', content: content(told.content ?? {}) };
}

function content(types) {
  return Object.entries(types).map(([type, told]) => ({ type, schema: told.schema, example: example(type, told) }));
}

function example(type, told) {
  const value = told.example ?? Object.values(told.examples ?? {})[0]?.value;
  if (value === undefined) return null;
  return type === JSON_TYPE || typeof value !== 'string' ? JSON.stringify(value, null, 2) : value;
}

/** The type of a schema in one line, as parts: texts, and { schema } for a link to one. */
export function typeOf(node) {
  if (!node) return ['any'];
  const name = referred(node);
  if (name) return [{ schema: name }];
  const choices = node.anyOf ?? node.oneOf;
  if (choices) return choices.flatMap((one, index) => [...(index ? [' or '] : []), ...typeOf(one)]);
  if (node.allOf?.length === 1) return typeOf(node.allOf[0]);
  if (node.enum) return [node.enum.map((one) => JSON.stringify(one)).join(', ')];
  if (node.const !== undefined) return [JSON.stringify(node.const)];
  if (node.type === 'array') return ['list of ', ...typeOf(node.items)];
  if (node.type === 'object' && typeof node.additionalProperties === 'object')
    return ['object of ', ...typeOf(node.additionalProperties)];
  return [[node.type ?? 'any', node.format && `(${node.format})`].filter(Boolean).join(' ')];
}

/** The line of curl that sends the operation to this service. */
export function curl(one, origin) {
  const value = (parameter) => encodeURIComponent(parameter.example ?? parameter.schema?.examples?.[0] ?? parameter.name);
  const placed = one.parameters.filter((parameter) => parameter.in === 'path');
  const path = placed.reduce((text, parameter) => text.replace(`{${parameter.name}}`, value(parameter)), one.path);
  const asked = one.parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const query = asked.map((parameter) => `${parameter.name}=${value(parameter)}`).join('&');
  const [body] = one.body;
  const parts = ['curl -sS'];
  if (one.method !== 'GET') parts.push(`-X ${one.method}`);
  if (one.needs !== 'nothing') parts.push('-H "Authorization: Bearer $TOKEN"');
  if (body?.example) parts.push(`-H 'Content-Type: ${body.type}'`, `-d '${body.example.replaceAll("'", "'\\''")}'`);
  return [...parts, `'${origin}${path}${query && `?${query}`}'`].join(' ');
}
