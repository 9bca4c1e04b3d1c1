/**
 * Generates the types of the client (`client/api.ts`) from the OpenAPI document: the request and
 * response of each path, by method. Pages, redirects, images and files are left out, because they
 * are for browsers.
 */

interface Schema {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  not?: Schema;
  description?: string;
}

interface Content {
  content?: Record<string, { schema: Schema }>;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: Schema;
}

interface Operation {
  summary: string;
  parameters: Parameter[];
  requestBody?: Content & { required: boolean };
  responses: Record<string, Content>;
}

/** The parts of an OpenAPI 3.1 document from which the types are generated. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** New names for components that would hide types of JavaScript. */
const renamed: Record<string, string> = { Error: 'ErrorAnswer' };

/** Returns the source of `client/api.ts`. @throws Error for a schema without a known type */
export function clientTypes({ paths, components }: OpenApi): string {
  const named = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `${comment(schema.description)}export type ${nameOf(name)} = ${typeOf(schema)};`,
  );
  const methods = ['get', 'post', 'put', 'patch', 'delete'].map((method) => {
    const entries = Object.entries(paths).flatMap(([path, operations]) => {
      const operation = operations[method];
      const answer = operation && answerOf(operation);
      return operation && answer
        ? [
            `${comment(operation.summary)}${quoted(path)}: {
              request: ${requestOf(operation)};
              answer: ${answer};
            };`,
          ]
        : [];
    });
    return `${method}: {\n${entries.join('\n')}\n};`;
  });
  return indented(
    `// Made from the OpenAPI document by \`npm run golden\`: not to be edited.

/** The request and the answer of each path, by method. */
export interface Api {
${methods.join('\n')}
}

${named.join('\n\n')}
`,
  );
}

/** Returns the fields of a request: those of path, query and body together. */
function requestOf({ parameters, requestBody }: Operation): string {
  const fields = ['path', 'query'].flatMap((place) => {
    const own = parameters.filter((parameter) => parameter.in === place);
    if (own.length === 0) return [];
    const mark = own.some(({ required }) => required) ? '' : '?';
    const properties = Object.fromEntries(
      own.map(({ name, description, schema }) => [name, { ...schema, description }]),
    );
    const required = own.filter((parameter) => parameter.required).map(({ name }) => name);
    return [`${place}${mark}: ${typeOf({ type: 'object', properties, required })};`];
  });
  if (requestBody) {
    const { 'application/json': json } = requestBody.content ?? {};
    const mark = requestBody.required ? '' : '?';
    fields.push(`body${mark}: ${json ? typeOf(json.schema) : 'FormData'};`);
  }
  const takes = (header: string) => parameters.some(({ $ref }) => $ref?.endsWith(`/${header}`));
  if (takes('IdempotencyKey')) fields.push('idempotencyKey?: string;');
  if (takes('IfMatch')) fields.push('ifMatch?: string;');
  return braced(fields);
}

/** Returns the type of a successful response; undefined for content that only browsers use. */
function answerOf({ responses }: Operation): string | undefined {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content = {} }]) => {
      if (status === '204') return ['undefined'];
      if (content['application/json']) return [typeOf(content['application/json'].schema)];
      return content['image/svg+xml'] ? ['string'] : [];
    });
  return types.length === 0 ? undefined : [...new Set(types)].join(' | ');
}

function typeOf(schema: Schema): string {
  const { $ref, type } = schema;
  if ($ref !== undefined) return nameOf($ref.split('/').at(-1) ?? '');
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  // Other keywords restrict the type by rules that TypeScript cannot express, so they are ignored.
  if (type !== undefined) return union([type].flat().map((one) => typeNamed(one, schema)));
  if (schema.anyOf ?? schema.oneOf) return union(alternatives(schema).map(typeOf));
  if (schema.not && Object.keys(schema.not).length === 0) return 'never';
  const said = Object.keys(schema).filter((key) => !annotations.has(key));
  if (said.length > 0) throw new Error(`No type is known for ${JSON.stringify(schema)}.`);
  return 'unknown';
}

/** Returns the alternatives of a schema, nested ones included. */
function alternatives(schema: Schema): Schema[] {
  const joined = schema.type === undefined ? (schema.anyOf ?? schema.oneOf) : undefined;
  return joined ? joined.flatMap(alternatives) : [schema];
}

const annotations = new Set(['$schema', 'title', 'description', 'default', 'examples']);

function typeNamed(type: string, schema: Schema): string {
  if (type === 'array') return `Array<${typeOf(schema.items ?? {})}>`;
  if (type === 'object') return objectOf(schema);
  if (type === 'integer') return 'number';
  return type;
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, property]) => {
    const isRequired = required.includes(name);
    // Without its own `valueOf`, an object inherits one, which must fit the type of the property.
    const type = !isRequired && name in Object.prototype ? 'unknown' : typeOf(property);
    return `${comment(property.description)}${quoted(name)}${isRequired ? '' : '?'}: ${type};`;
  });
  if (fields.length === 0 && typeof additionalProperties === 'object') {
    return `Record<string, ${typeOf(additionalProperties)}>`;
  }
  if (fields.length === 0 && additionalProperties !== false) return 'Record<string, unknown>';
  // An index signature of a narrower type would also apply to the named fields.
  return braced(additionalProperties ? [...fields, '[key: string]: unknown;'] : fields);
}

const nameOf = (name: string) => renamed[name] ?? name;
const literal = (value: unknown) =>
  typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value);
const union = (types: string[]) => [...new Set(types)].join(' | ');
const quoted = (name: string) => (/^[a-z_]\w*$/i.test(name) ? name : literal(name));
const braced = (fields: string[]) => (fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`);
const comment = (text: string | undefined) =>
  text ? `/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n` : '';

/** Indents the lines by two spaces for each open brace. */
function indented(source: string): string {
  let depth = 0;
  const lines = source.split('\n').map((line) => {
    const text = line.trim();
    if (text.startsWith('/')) return ' '.repeat(2 * depth) + text;
    const closes = /^[}\])>]/.test(text);
    const before = closes ? depth - 1 : depth;
    for (const sign of text.replaceAll(/'[^']*'/g, '')) {
      if (sign === '{') depth++;
      if (sign === '}') depth--;
    }
    return text === '' ? '' : ' '.repeat(2 * before) + text;
  });
  return lines.join('\n');
}
