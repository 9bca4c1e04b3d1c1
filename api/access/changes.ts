import { createHash } from 'node:crypto';
import type { Change } from '../../db/accounts/security-events.ts';
import type { NotedEvent } from './security-log.ts';

/** Maximum length of a text that is kept. Of longer texts, only the length and a hash are kept. */
const textChars = 200;
/** Shown in place of a secret value. */
const maskedValue = '•••';

/**
 * Returns the fields whose values differ.
 * @param fields the fields to compare, by default all
 * @param secret fields whose values must not be kept
 */
export function changesBetween(
  before: object,
  after: object,
  {
    fields = [...new Set([...Object.keys(before), ...Object.keys(after)])],
    secret = [],
  }: { fields?: readonly string[]; secret?: readonly string[] } = {},
): Change[] {
  return fields.flatMap((field) => {
    const [was, is] = [valueOf(before, field), valueOf(after, field)];
    if (sortedJson(was) === sortedJson(is)) return [];
    const shown = secret.includes(field) ? masked : shortened;
    return [{ field, before: shown(was), after: shown(is) }];
  });
}

/** Returns the target of an event about records of one type; for several records, their number. */
export function targetOf(
  type: string,
  ids: readonly string[],
): Pick<NotedEvent, 'target' | 'details'> {
  const [id] = ids;
  return id !== undefined && ids.length === 1
    ? { target: { type, id } }
    : { details: { count: ids.length } };
}

function valueOf(record: object, field: string): unknown {
  return (record as Record<string, unknown>)[field] ?? null;
}

function masked(value: unknown): unknown {
  return value === null ? null : maskedValue;
}

function shortened(value: unknown): unknown {
  const text = typeof value === 'string' ? value : sortedJson(value);
  if (text.length <= textChars) return value;
  return { length: text.length, sha256: createHash('sha256').update(text).digest('hex') };
}

/** Returns JSON with sorted keys, because PostgreSQL does not keep the order of keys. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
