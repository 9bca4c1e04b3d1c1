import { z } from 'zod';
import type { RowSize } from '../../db/expressions.ts';
import { planContactData, contactDataFault } from '../../domain/contact/data.ts';
import { type CursorForm, decodeCursor, encodeCursor, type Position } from '../../domain/cursor.ts';
import { fault, faultWithGiven, type FieldCode } from '../../domain/errors.ts';
import { normaliseEmail } from '../../domain/email-address.ts';
import { isUuid } from '../../domain/ids.ts';
import { instantOfText, isTimeInput } from '../../domain/filter/value.ts';
import { limits } from '../../domain/limits.ts';
import { selection } from '../../domain/filter/selection.ts';
import { cutText, findInvisible, withGiven } from '../../domain/text-rules.ts';
import { Answer } from './endpoint.ts';
import { choosing } from './validation.ts';

export { fault };

/** Schemas for all endpoints. A validation issue has its error code in `params.code`. */

/** An id in the canonical form: lower case. */
export const Uuid = z
  .string()
  .refine(isUuid, faultWithGiven('invalid_string', 'Must be a uuid.'))
  .transform((value) => value.toLowerCase())
  .meta({ format: 'uuid' });

export const ById = z.object({ id: Uuid });

/**
 * Reports an issue of a custom schema.
 * @returns the value that a transform must return to refuse its input
 */
export function addFault(
  context: z.core.$RefinementCtx,
  code: FieldCode,
  message: string,
  path: PropertyKey[] = [],
): never {
  context.addIssue({ code: 'custom', path, ...fault(code, message) });
  return z.NEVER;
}

/**
 * Returns the schema of a text that `read` converts. If `read` returns null, the text is refused
 * with this code, and the message shows the text.
 */
export function textRead<T>(read: (text: string) => T | null, code: FieldCode, message: string) {
  return z
    .string()
    .transform((text, context) => read(text) ?? addFault(context, code, withGiven(message, text)));
}

/**
 * An email address, trimmed and in lower case. The error message does not show an invalid address,
 * because the text may be a password.
 */
export const Email = z
  .string()
  .transform(
    (text, context) =>
      normaliseEmail(text) ?? addFault(context, 'invalid_string', 'Must be an email address.'),
  )
  .meta({ format: 'email' });

/** A name: 1 to 100 visible characters after trimming. */
export const Name = z
  .string()
  .transform((value) => value.trim())
  .pipe(
    z
      .string()
      .min(1)
      .max(limits.nameChars)
      .superRefine((name, context) => {
        const found = findInvisible(name);
        if (found === null) return;
        addFault(context, 'invalid_string', `Must not contain the invisible character ${found}.`);
      }),
  );

/** Cuts a name to the maximum length, but never within a surrogate pair. */
export function cutName(name: string): string {
  return cutText(name, limits.nameChars).trimEnd();
}

export function copyName(name: string): string {
  return cutName(`${name} (Copy)`);
}

export const Description = z.string().max(limits.descriptionChars).nullable();

const oneLine = fault('invalid_string', 'Must be one line, without line breaks.');

/** A text for a header: one line. */
export function line(maxChars: number) {
  return z
    .string()
    .max(maxChars)
    .refine((value) => !/[\r\n]/.test(value), oneLine);
}

export const Subject = line(limits.subjectChars).min(1);

export const SenderName = line(limits.nameChars);

/**
 * The sender of mail: an address, or `Name <address>`. The name may be quoted. The `name` of an
 * address alone is null.
 */
export const SenderText = z
  .string()
  .transform((text, context) => {
    const given = text.trim();
    const at = given.endsWith('>') ? given.lastIndexOf('<') : -1;
    const email = normaliseEmail(at < 0 ? given : given.slice(at + 1, -1));
    const name = at < 0 ? '' : unquoted(given.slice(0, at).trim());
    const parsed = SenderName.safeParse(name);
    if (email !== null && parsed.success) return { email, name: name === '' ? null : name };
    const message = 'Must be an email address, or `Name <address>` in one line.';
    return addFault(context, 'invalid_string', message);
  })
  .meta({ type: 'string', examples: ['The Shop <team@shop.example>'] });

/** Returns the columns of a sender. A name in a separate field overrides the name in the text. */
export function senderColumns<F extends z.output<typeof SenderText> | null | undefined>(
  from: F,
  fromName: string | null | undefined,
) {
  const fromEmail = (from ? from.email : from) as string | Exclude<F, object>;
  return { fromEmail, fromName: fromName ?? from?.name ?? fromName };
}

function unquoted(name: string): string {
  const isQuoted = name.length > 1 && name.startsWith('"') && name.endsWith('"');
  return isQuoted ? name.slice(1, -1).replace(/\\(.)/gs, '$1').trim() : name;
}

/** An object with the customer's own keys. */
export const JsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  fault('invalid_type', 'Must be an object.'),
);

/** Contact data of a request: an object or null; its `locale` must be text. */
export const ContactData = JsonObject.nullable()
  .optional()
  .superRefine((data, context) => {
    // Data that are too large alone are also too large after they are merged into a contact.
    const tooLarge = data ? contactDataFault(planContactData(data).set) : null;
    if (tooLarge) addFault(context, 'too_big', tooLarge);
    const { set, oneTime } = planContactData({ locale: data?.['locale'] });
    const locale = set['locale'] ?? oneTime['locale'];
    if (locale === undefined || locale === null || typeof locale === 'string') return;
    addFault(context, 'invalid_type', 'Must be text.', ['locale']);
  })
  .meta({ type: ['object', 'null'], additionalProperties: true });

/** An integer in a query, within bounds. */
export function queryInt(min: number, max: number, fallback: number) {
  return z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined) return fallback;
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(value))
        addFault(context, 'invalid_type', withGiven('Must be a whole number.', text));
      else if (value < min)
        addFault(context, 'too_small', `Must be at least ${min}, not ${value}.`);
      else if (value > max) addFault(context, 'too_big', `Must be at most ${max}, not ${value}.`);
      return value;
    })
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback });
}

export const queryBoolean = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A comma-separated list in a query, of some of these words, each at most once. */
export function commaList<Word extends string>(words: readonly Word[], message: string) {
  const read = (text: string) => {
    const asked = [...new Set(text.split(',').map((word) => word.trim() as Word))];
    return asked.every((word) => words.includes(word)) ? asked : null;
  };
  return textRead(read, 'invalid_enum_value', message);
}

export const pagePosition = {
  page: queryInt(1, Number.MAX_SAFE_INTEGER, 1),
  pageSize: queryInt(1, limits.pageSize, limits.pageSizeDefault),
};

/**
 * Returns the query schema of a list with page numbers. `sorts` are the values of `sort`; the first
 * is the default.
 */
export function pageQuery<const S extends [string, ...string[]]>(sorts: S) {
  return z.object({
    ...pagePosition,
    sort: z.enum(sorts).default(sorts[0] as never),
    dir: z.enum(['asc', 'desc']).default('desc'),
  });
}

/**
 * Returns the schema of an object that is a named component of the OpenAPI document, such as a
 * record.
 */
export function named<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.object(shape).meta({ id });
}

const nameOf = (schema: z.ZodType) => z.globalRegistry.get(schema)?.id ?? '';

/** Returns the response schema of a list with page numbers. `item` is a named schema. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return named(`${nameOf(item)}Page`, {
    data: z.array(item),
    total: z.int(),
    page: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
  });
}

/** Returns a page in the shape of `pageOf`. `total` counts the rows of all pages. */
export function presentPage<Item>(
  data: Item[],
  total: number,
  { page, pageSize }: { page: number; pageSize: number },
) {
  return { data, total, page, pageSize, totalPages: Math.ceil(total / pageSize) };
}

/**
 * Returns the response that `wrap` makes from a list. Large rows are read and sent a few megabytes
 * at a time, because a whole page would be in memory several times.
 */
export async function answerList<Item, Response>(
  rows: readonly RowSize[],
  read: (ids: readonly string[]) => Promise<Item[]>,
  wrap: (items: Item[]) => Response,
): Promise<Response | Answer<Response>> {
  const parts: string[][] = [];
  let bytes = Infinity;
  for (const row of rows) {
    if (bytes + row.bytes > limits.partBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(row.id);
    bytes += row.bytes;
  }
  const [first = [], ...more] = parts;
  if (more.length === 0) return wrap(first.length === 0 ? [] : await read(first));
  async function* readParts() {
    for (const ids of parts) yield wrap(await read(ids));
  }
  return new Answer(wrap([]), { parts: readParts() });
}

/** Returns the query schema of a list with a cursor and one order. */
export function cursorQuery(form: CursorForm) {
  return z.object({
    limit: queryInt(1, limits.pageSize, limits.pageSizeDefault),
    cursor: z
      .string()
      .transform((text, context) => decodeCursor(form, text) ?? addFault(context, ...cursorFault))
      .optional()
      .meta({ description: 'The `cursor` of the previous page' }),
  });
}

export const cursorFault = [
  'invalid_string',
  'Is not a cursor of this list. Use the cursor of the previous page, or none for the first page.',
] as const;

/** Returns the response schema of a list with a cursor. `item` is a named schema. */
export function cursorListOf<Item extends z.ZodType>(item: Item) {
  return named(`${nameOf(item)}List`, {
    data: z.array(item),
    cursor: z.string().optional(),
    hasMore: z.boolean(),
    total: z.int().describe('All matches, on the first page; 0 on later ones'),
  });
}

/**
 * Returns a page of a list with a cursor, in the shape of `cursorListOf`.
 * @param rows `limit` rows at most, and one further row if there is a next page.
 * @param list.position returns the position of a row in the order of `form`.
 */
export function presentCursorList<Row, Item>(
  rows: readonly Row[],
  list: {
    form: CursorForm;
    limit: number;
    total: number;
    position: (row: Row) => Position;
    present: (row: Row) => Item;
  },
) {
  const shown = rows.slice(0, list.limit);
  const last = shown.at(-1);
  const hasMore = rows.length > shown.length;
  return {
    data: shown.map(list.present),
    ...(hasMore && last ? { cursor: encodeCursor(list.form, list.position(last)) } : {}),
    hasMore,
    total: list.total,
  };
}

/**
 * The body of an action on many records of one kind. The action applies to all of these records or
 * to none.
 */
export const BulkUpdate = selection({
  ids: z.array(Uuid).min(1).max(limits.bulkIds),
  delete: z.boolean().optional(),
});

export const BulkUpdated = z.union([
  named('BulkDeleted', { deleted: z.int() }),
  named('BulkUnchanged', { updated: z.literal(0) }),
]);

/**
 * Runs a bulk action.
 * @param remove deletes all the records or none; with `delete: false`, only checks that all records
 * exist.
 */
export async function bulkUpdate(
  body: z.output<typeof BulkUpdate>,
  remove: (ids: string[], options: { delete: boolean }) => Promise<void>,
): Promise<z.output<typeof BulkUpdated>> {
  const ids = [...new Set(body.ids)];
  await remove(ids, { delete: body.delete ?? false });
  return body.delete ? { deleted: ids.length } : { updated: 0 };
}

export const bulkUpdateExample = {
  body: { ids: ['5d0f1c2b-3a49-4e58-9d67-7c6b5a4f3e21'], delete: true },
  response: { deleted: 1 },
};

/** Returns an example page with one record, for the documentation. */
export function pageExample<T>(record: T) {
  return { data: [record], total: 1, page: 1, pageSize: limits.pageSizeDefault, totalPages: 1 };
}

/** A timestamp in a response: ISO 8601 in UTC with milliseconds. */
export const Time = z.iso.datetime({ precision: 3 });

/** Reads an ISO 8601 date-time with an offset, or a date, which means its first moment in UTC. */
export function momentOf(text: string): Date | null {
  const instant = isTimeInput(text) ? instantOfText(text) : null;
  return instant === null ? null : new Date(instant);
}

/** A time in a request: see `momentOf`. */
export const Moment = textRead(
  momentOf,
  'invalid_date',
  'Must be a date-time with an offset, such as 2026-01-31T09:00:00Z.',
).meta({ type: 'string', format: 'date-time' });

/**
 * A time in a request that should be in the future: text, milliseconds since 1970, or null. Past
 * times are accepted here, because the handler refuses them with SCHEDULE_IN_PAST.
 * @param daysMax maximum number of days ahead.
 */
export function laterTime({ daysMax = Infinity }: { daysMax?: number } = {}) {
  return z
    .unknown()
    .transform((value, context): Date | null => {
      if (value === null) return null;
      if (value === undefined) {
        const params = { code: 'invalid_type', received: 'undefined' };
        context.addIssue({ code: 'custom', message: 'Is required.', params });
        return z.NEVER;
      }
      const at =
        typeof value === 'number' && Number.isSafeInteger(value)
          ? new Date(value)
          : typeof value === 'string'
            ? momentOf(value)
            : null;
      if (!at || Number.isNaN(at.getTime()) || at.getUTCFullYear() >= 10_000) {
        const message =
          'Must be a date-time with an offset, such as 2026-01-31T09:00:00Z, or milliseconds since 1970.';
        return addFault(context, 'invalid_date', withGiven(message, value));
      }
      if (at.getTime() - Date.now() <= daysMax * 86_400_000) return at;
      return addFault(context, 'too_big', `Must be at most ${daysMax} days in the future.`);
    })
    .meta({ type: ['string', 'number', 'null'] });
}

/** The last fields of most records. */
export const times = { createdAt: Time, updatedAt: Time };
export const ofProject = {
  projectId: z.uuid().meta({ examples: ['0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01'] }),
  ...times,
};

/** Formats a timestamp; null stays null. */
export function time(at: Date): string;
export function time(at: Date | null): string | null;
export function time(at: Date | null): string | null {
  return at === null ? null : at.toISOString();
}

/** Returns a body schema that ignores a field if the other fields make the field meaningless. */
export function ignoring<T extends z.ZodType>(
  field: string,
  isIdle: (others: Record<string, unknown>) => boolean,
  schema: T,
) {
  return z.preprocess((body) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
    const { [field]: _, ...others } = body as Record<string, unknown>;
    return isIdle(others) ? others : body;
  }, schema);
}

/**
 * Chooses a schema by the kind of the value, so that issues have exact positions. A plain union
 * would only report that no option matched.
 */
export function byKind<
  T extends z.ZodType,
  O extends z.ZodType = z.ZodNever,
  L extends z.ZodType = z.ZodNever,
>(kinds: { text: T; object: O; list?: L }) {
  type Kind = z.ZodType<z.output<T> | z.output<O> | z.output<L>>;
  const choose = (value: unknown) =>
    Array.isArray(value)
      ? (kinds.list ?? kinds.text)
      : typeof value === 'object' && value !== null
        ? kinds.object
        : kinds.text;
  return chosenBy(choose as (value: unknown) => Kind).meta({
    anyOf: [kinds.text, kinds.object, ...(kinds.list ? [kinds.list] : [])].map(inputSchema),
  });
}

/** Returns the JSON Schema of valid input, for the `meta` of a schema that Zod cannot describe. */
export function inputSchema(schema: z.ZodType) {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

/** Returns a schema that is chosen by the value itself. */
export function chosenBy<S extends z.ZodType>(choose: (value: unknown) => S) {
  const parse = (value: unknown, context: z.core.$RefinementCtx): z.output<S> => {
    const parsed = choose(value).safeParse(value, { reportInput: true });
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.issues.push(issue as never);
    return z.NEVER;
  };
  return z.unknown().transform(choosing(parse, choose));
}
