import { type Content, html, Html } from '../html/html.ts';
import { renderText } from './markdown.ts';

/** The parts of a JSON Schema that the reference shows. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

export const schemaUrl = (name: string) => `/docs/reference/schemas#${name}`;

/** Lists the fields of a schema. Nested fields can be expanded. */
export function fieldsView(schema: Schema): Html | null {
  const shown = variantsOf(schema).map(({ properties, required = [] }) =>
    properties ? fieldList(properties, required) : null,
  );
  const lists = shown.filter((list) => list !== null);
  return lists.length === 0 ? null : html`${lists}`;
}

function fieldList(properties: Record<string, Schema>, required: readonly string[]): Html {
  const rows = Object.entries(properties).map(([name, schema]) =>
    fieldView({ name, schema, isRequired: required.includes(name) }),
  );
  return html`<ul class="fields">
    ${rows}
  </ul>`;
}

/** Shows a field or parameter with its type and description. */
export function fieldView({
  name,
  schema,
  isRequired,
  description = schema.description,
}: {
  name: string;
  schema: Schema;
  isRequired: boolean;
  description?: string | undefined;
}): Html {
  const inner = fieldsView(schema);
  return html`<li>
    <code>${name}</code> <span class="soft">${typeView(schema)}${limitsOf(schema)}</span>
    ${isRequired ? html`<strong class="required">required</strong>` : null}
    ${description ? new Html(renderText(description)) : null}
    ${
      inner
        ? html`<details>
            <summary>Fields of ${name}</summary>
            ${inner}
          </details>`
        : null
    }
  </li>`;
}

/**
 * Returns the objects that a schema describes: the schema itself, its alternatives, or the items of
 * a list.
 */
function variantsOf(schema: Schema): Schema[] {
  const { anyOf, oneOf, allOf, items } = schema;
  if (schema.properties) return [schema];
  if (items) return variantsOf(items);
  return [...(anyOf ?? []), ...(oneOf ?? []), ...(allOf ?? [])].flatMap(variantsOf);
}

export function typeView(schema: Schema): Content {
  const { $ref, anyOf, oneOf, allOf, items, type, format } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return html`<a href="${schemaUrl(name)}">${name}</a>`;
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum) return joined(schema.enum.map((value) => html`<code>${String(value)}</code>`));
  if (anyOf ?? oneOf ?? allOf) return joined(onceEach(alternativesOf(schema).map(typeView)));
  if (items) return html`list of ${typeView(items)}`;
  const { additionalProperties: values } = schema;
  if (typeof values === 'object' && !schema.properties) return html`map to ${typeView(values)}`;
  if (format !== undefined) return format;
  return Array.isArray(type) ? type.join(' or ') : (type ?? 'any');
}

function alternativesOf(schema: Schema): Schema[] {
  const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  return alternatives ? alternatives.flatMap(alternativesOf) : [schema];
}

function onceEach(views: readonly Content[]): Content[] {
  return [...new Map(views.map((view) => [html`${view}`.text, view])).values()];
}

function joined(views: readonly Content[]): Content {
  return views.flatMap((view, at) => (at === 0 ? [view] : [' or ', view]));
}

function limitsOf(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems } = schema;
  const range = (from: number | undefined, to: number | undefined, unit: string) => {
    if (from === undefined && to === undefined) return [];
    if (to === undefined) return [`at least ${from}${unit}`];
    return [from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`];
  };
  const limits = [
    ...range(minLength, maxLength, ' characters'),
    ...range(minimum, maximum, ''),
    ...range(minItems, maxItems, ' items'),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
  return limits.map((limit) => `, ${limit}`).join('');
}
