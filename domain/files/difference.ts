import { isJsonEqual } from '../filter/value.ts';
import { limits } from '../limits.ts';
import { cutText } from '../text-rules.ts';
import { cutPlace, placeIn } from './places.ts';

/** Differences between the values of two files, by place. */

/** A field that differs. A value is null where there is none, or where it is null. */
export interface FieldDifference {
  /** Dot path of the field: a step by its key, other items of a list by index. */
  at: string;
  before: unknown;
  after: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the first fields that differ, and the number of all. The order of steps and transitions
 * does not matter.
 * @param before null: there is no such file
 */
export function fileDifferences(
  before: Fields | null,
  after: Fields,
): { fields: FieldDifference[]; fieldCount: number } {
  const found: FieldDifference[] = [];
  const [one, other] = [named(before ?? {}), named(after)];
  if (isReordered(one['transitions'], other['transitions'])) {
    other['transitions'] = one['transitions'];
  }
  collect(found, '', one, other);
  // A new file has every field that is not null.
  const listed = before === null ? found.filter(({ after }) => after !== null) : found;
  const fields = listed.slice(0, limits.planFields).map(({ at, ...values }) => ({
    at,
    before: shown(values.before),
    after: shown(values.after),
  }));
  return { fields, fieldCount: listed.length };
}

/** Returns the fields of a file with the steps by their keys. */
function named(fields: Fields): Record<string, unknown> {
  const { steps } = fields;
  if (!Array.isArray(steps)) return { ...fields };
  const byKey = (steps as { key: string }[]).map((step) => [step.key, step]);
  return { ...fields, steps: Object.fromEntries(byKey) };
}

function isReordered(before: unknown, after: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(after)) return false;
  const sorted = (ways: readonly unknown[]) => ways.map(wayOf).toSorted();
  return isJsonEqual(sorted(before), sorted(after));
}

function wayOf(way: unknown): string {
  const { from, to, branch = null } = way as Fields;
  return JSON.stringify([from, to, branch]);
}

function collect(found: FieldDifference[], at: string, before: unknown, after: unknown): void {
  if (before === after) return;
  const [one, other] = [partsOf(before), partsOf(after)];
  if (one.size === 0 && other.size === 0) {
    // A field that is null can mean something else than a field that is left out.
    if (isJsonEqual(before, after)) return;
    found.push({ at, before: before ?? null, after: after ?? null });
    return;
  }
  if (isContainer(before) && isContainer(after) && Array.isArray(before) !== Array.isArray(after)) {
    collect(found, at, before, undefined);
    collect(found, at, undefined, after);
    return;
  }
  // A list or object in place of a text or number: both are listed.
  if (isScalar(before)) found.push({ at, before, after: null });
  if (isScalar(after)) found.push({ at, before: null, after });
  for (const name of new Set([...one.keys(), ...other.keys()])) {
    collect(found, at === '' ? cutPlace(name) : placeIn(at, name), one.get(name), other.get(name));
  }
}

function partsOf(value: unknown): ReadonlyMap<string, unknown> {
  if (!isContainer(value)) return new Map();
  return new Map(Object.entries(value).filter(([, part]) => part !== undefined));
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isScalar(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

function shown(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= limits.planValueChars) return value;
  return `${cutText(value, limits.planValueChars)}…`;
}
