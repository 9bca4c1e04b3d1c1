import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** The JSON Schemas of the OpenAPI document. */

export type JsonSchema = Record<string, unknown>;
/** The components, by name. */
export type Schemas = Record<string, JsonSchema>;

/**
 * Returns the JSON Schema of a schema. Schemas with an id become components, because client
 * generators name a type by its component. Objects in a union become components, too, because
 * generators could not name them otherwise.
 * @param name prefix of the names of the objects that become components
 */
export function jsonSchema(
  schema: z.ZodType,
  name: string,
  io: 'input' | 'output',
  schemas: Schemas,
): JsonSchema {
  // A named schema becomes a reference only inside another schema, so it is converted inside a
  // list.
  const listed = z.toJSONSchema(z.array(schema), { io, unrepresentable: 'any' });
  const text = JSON.stringify(listed).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { items, $defs } = JSON.parse(text) as { items: JsonSchema; $defs?: Schemas };
  return tidied({ ...items, ...($defs && { $defs }) }, { name, isOption: false }, schemas);
}

interface Place {
  name: string;
  /**
   * True for an option of a union, and for the items or values of an option. An object with
   * `isOption` becomes a component. For the properties of such an object, `isOption` is false.
   */
  isOption: boolean;
}

/**
 * Returns the schema without parts that clients do not need. The definitions in it become
 * components.
 */
function tidied(
  { $defs = {}, ...schema }: JsonSchema,
  { name, isOption }: Place,
  schemas: Schemas,
): JsonSchema {
  for (const [id, defined] of Object.entries($defs as Schemas)) {
    component(id, tidied(defined, { name: id, isOption: false }, schemas), schemas);
  }
  delete schema['$schema'];
  // The pattern is long and adds no information to the format.
  if (schema['format']) delete schema['pattern'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  const part = (given: unknown, place: Partial<Place>) =>
    isSchema(given) ? tidied(given, { name, isOption, ...place }, schemas) : given;
  const { properties, items, additionalProperties } = schema;
  if (isSchema(properties)) {
    const parts = Object.entries(properties).map(([key, value]) => {
      const place = { name: name + capitalised(key), isOption: false };
      return [key, part(value, place)] as const;
    });
    schema['properties'] = Object.fromEntries(parts);
  }
  if (items) schema['items'] = part(items, { name: `${name}Item` });
  if (additionalProperties) {
    schema['additionalProperties'] = part(additionalProperties, { name: `${name}Value` });
  }
  for (const word of ['anyOf', 'oneOf']) {
    const options = schema[word] as JsonSchema[] | undefined;
    if (!options) continue;
    schema[word] = options.map((option) =>
      part(option, { name: name + kindOf(option), isOption: true }),
    );
  }
  return isOption && properties ? component(name, schema, schemas) : schema;
}

/** Returns the word that distinguishes an option of a union from the others, or ''. */
function kindOf({ properties = {} }: JsonSchema): string {
  const { mode } = properties as { mode?: { const?: string } };
  return capitalised(mode?.const ?? '');
}

/**
 * Adds a component, and returns its reference. @throws Error when another component has the name
 */
export function component(name: string, schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (!isDeepStrictEqual((schemas[name] ??= schema), schema)) {
    throw new Error(`Two schemas are called ${name}.`);
  }
  return reference('schemas', name);
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null;

export const capitalised = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

export function reference(kind: 'parameters' | 'headers' | 'responses' | 'schemas', name: string) {
  return { $ref: `#/components/${kind}/${name}` };
}
