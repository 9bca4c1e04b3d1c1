import { z } from 'zod';
import { snakeCase, type SnakeCase } from '../../db/columns.ts';

/** Records: the API's form of rows, and their examples in the documentation. */

/** The type of a column in a response: timestamps become text. */
type Answered<Column> = Column extends Date ? string : Column;

/**
 * The type that the column of a field may have. For an enum, any text is accepted, because a
 * database constraint guarantees the value.
 */
type Accepted<Field> = Field extends string ? string : Field;

/**
 * The fields that have a column with the same name and a matching type. `projectId` is not read
 * from its column, because the row id of a reset project differs from the public id.
 */
type Read<S extends z.ZodObject, Row> = {
  [K in Exclude<keyof z.input<S> & string, 'projectId'>]: SnakeCase<K> extends keyof Row
    ? [Answered<Row[SnakeCase<K>]>] extends [Accepted<z.input<S>[K]>]
      ? K
      : never
    : never;
}[Exclude<keyof z.input<S> & string, 'projectId'>];

/**
 * The fields that the caller of `present` passes. Fields without a matching column are required.
 * Fields that replace a column are optional.
 */
type Others<S extends z.ZodObject, Row> = Omit<z.input<S>, Read<S, Row>> & Partial<z.input<S>>;

/**
 * Returns the record of a row. Each field is read from the column of its name, for example `sentAt`
 * from `sent_at`. Timestamps become text, in UTC with milliseconds; JSON columns are returned
 * unchanged.
 * @param others fields without a column of their name and type, and fields that replace a column.
 */
export function present<S extends z.ZodObject, Row extends object>(
  schema: S,
  row: Row,
  ...[others]: object extends Others<S, Row> ? [others?: Others<S, Row>] : [others: Others<S, Row>]
): z.input<S> {
  const record: Record<string, unknown> = {};
  for (const [field, column] of columnsRead(schema)) {
    const value: unknown = row[column as keyof Row];
    record[field] = value instanceof Date ? value.toISOString() : value;
  }
  return Object.assign(record, others) as z.input<S>;
}

const known = new WeakMap<z.ZodObject, [field: string, column: string][]>();

function columnsRead(schema: z.ZodObject): [field: string, column: string][] {
  const before = known.get(schema);
  if (before) return before;
  const read = Object.keys(schema.shape)
    .filter((field) => field !== 'projectId')
    .map((field): [string, string] => [field, snakeCase(field)]);
  known.set(schema, read);
  return read;
}

/**
 * Returns an example value of a schema, for the documentation: the first of a field's `examples`,
 * otherwise null or the simplest value. Optional fields are left out.
 * @throws Error for a schema without examples and without a simplest value, such as a union.
 */
export function exampleOf<S extends z.ZodType>(schema: S): z.input<S> {
  return valueOf(schema) as z.input<S>;
}

function valueOf(schema: z.core.$ZodType): unknown {
  const examples = z.globalRegistry.get(schema)?.['examples'];
  if (Array.isArray(examples)) return examples[0];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const fields = Object.entries(def.shape).filter(([, field]) => !field._zod.optin);
      return Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field)]));
    }
    case 'string':
      if ('format' in def && def.format === 'datetime') return '2026-11-20T10:00:00.000Z';
      throw new Error('A text in a schema has no example. Add one with `meta({ examples: […] })`.');
    case 'null':
    case 'nullable':
      return null;
    case 'array':
      return [];
    case 'boolean':
      return false;
    case 'number':
      return 0;
    case 'enum':
      return Object.values(def.entries)[0];
    case 'literal':
      return def.values[0];
    case 'record':
    case 'custom':
      return {};
    default:
      throw new Error(
        `A value of the type ${def.type} has no example. Add one with \`meta({ examples: […] })\`.`,
      );
  }
}
