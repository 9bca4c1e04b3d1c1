import type { z } from 'zod';

/**
 * A field of a body whose invalid parts were removed, so that the remaining parts can be checked.
 */
export interface CutField {
  name: string;
  /** The valid parts of the field, as its schema reads them. */
  value: unknown;
  /** For each list with removed items, by its path: the original indexes of the remaining items. */
  kept: Kept;
}

/** Fields whose parts refer to each other: without one part, the other parts would look invalid. */
const whole: ReadonlySet<string> = new Set(['graph', 'steps', 'transitions']);

/**
 * Maximum number of rounds. Each round removes invalid parts and parses the whole field again,
 * because other parts may need a removed part.
 */
const roundsMax = 8;

type Kept = ReadonlyMap<string, readonly number[]>;

interface Cut {
  rest: unknown;
  /** See `CutField.kept`. */
  kept: Kept;
}

/**
 * Removes the invalid parts of a field, as few as its schema allows.
 * @param issues the issues of the whole body
 * @returns null if no valid part is left, or no part that can be checked alone
 */
export function cutField(
  schema: z.ZodType,
  name: string,
  body: object,
  issues: readonly { path: readonly PropertyKey[] }[],
): CutField | null {
  if (whole.has(name) || !Object.hasOwn(body, name)) return null;
  const given = (body as Record<string, unknown>)[name];
  const taken: string[][] = [];
  let wrong: Cut = { rest: given, kept: new Map() };
  let paths = issues.flatMap(({ path }) => (path[0] === name ? [path.slice(1)] : []));
  for (let round = 0; round < roundsMax; round += 1) {
    for (const path of paths) {
      const keys = path.map(String);
      // If a part is missing, the object or list that needs it is removed.
      const part = has(wrong.rest, keys) ? keys : keys.slice(0, -1);
      if (part.length === 0) return null;
      taken.push(keysAsSent(part, name, wrong.kept));
    }
    wrong = cutOff(given, name, taken);
    const parsed = schema.safeParse(wrong.rest);
    if (parsed.success) return { name, value: parsed.data, kept: wrong.kept };
    paths = parsed.error.issues.map(({ path }) => path);
  }
  return null;
}

function has(value: unknown, [key, ...others]: readonly string[]): boolean {
  if (key === undefined) return true;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
  return has((value as Record<string, unknown>)[key], others);
}

/** Parts to remove from a value, by key; null: the whole part. */
type Parts = Map<string, Parts | null>;

function cutOff(given: unknown, name: string, paths: readonly string[][]): Cut {
  const parts: Parts = new Map();
  for (const path of paths) {
    let at: Parts = parts;
    for (const [index, key] of path.entries()) {
      const known = at.get(key);
      const below: Parts | null =
        known === null || index === path.length - 1 ? null : (known ?? new Map());
      at.set(key, below);
      if (!below) break;
      at = below;
    }
  }
  const kept = new Map<string, readonly number[]>();
  return { rest: without(given, parts, name, kept), kept };
}

function without(
  value: unknown,
  parts: Parts,
  place: string,
  kept: Map<string, readonly number[]>,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, part]) => {
    const below = parts.get(key);
    if (below === null) return [];
    return [[key, below ? without(part, below, `${place}.${key}`, kept) : part] as const];
  });
  if (!Array.isArray(value)) return Object.fromEntries(entries);
  kept.set(
    place,
    entries.map(([key]) => Number(key)),
  );
  return entries.map(([, part]) => part);
}

/** Returns the position in the original request of an error in a field whose parts were removed. */
export function placeAsSent(field: string, cut: readonly CutField[]): string {
  const [name = '', ...keys] = field.split('.');
  const kept = cut.find((one) => one.name === name)?.kept;
  return kept ? [name, ...keysAsSent(keys, name, kept)].join('.') : field;
}

function keysAsSent(keys: readonly string[], name: string, kept: Kept): string[] {
  let place = name;
  return keys.map((key) => {
    const sent = String(kept.get(place)?.[Number(key)] ?? key);
    place += `.${sent}`;
    return sent;
  });
}
