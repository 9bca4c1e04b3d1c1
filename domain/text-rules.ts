// With the flag u, a pair of surrogates is one character, so the class Cs matches only lone
// surrogates.
const forbidden = /[\0\p{Cs}]/u;
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Returns true for text that PostgreSQL cannot store: it contains NUL or a lone surrogate. */
export function hasForbiddenText(text: string): boolean {
  return forbidden.test(text);
}

/**
 * Returns true if JSON may contain text that PostgreSQL cannot store. `JSON.stringify` writes NUL
 * and lone surrogates as escapes.
 */
export function mayHaveForbiddenText(json: string): boolean {
  return /\\u(?:0000|d[89a-f])/.test(json);
}

/** Replaces characters that PostgreSQL cannot store by U+FFFD, the replacement character. */
export function storableText(text: string): string {
  return hasForbiddenText(text) ? text.replace(/[\0\p{Cs}]/gu, '\u{fffd}') : text;
}

/** Cuts a text to a length, never within a surrogate pair. */
export function cutText(text: string, chars: number): string {
  return text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * Returns the path of the first string or key, in reading order, that cannot be stored; null when
 * there is none. The search is not recursive, so JSON may be nested to any depth.
 */
export function findForbiddenText(value: unknown): (string | number)[] | null {
  if (typeof value === 'string') return hasForbiddenText(value) ? [] : null;
  const frames = [frameOf(value)];
  while (frames.length > 0) {
    const frame = frames.at(-1)!;
    const at = frame.next++;
    if (at >= frame.size) {
      frames.pop();
      continue;
    }
    const key = frame.keys ? frame.keys[at]! : at;
    const item = frame.items[key];
    const isFault =
      (typeof key === 'string' && hasForbiddenText(key)) ||
      (typeof item === 'string' && hasForbiddenText(item));
    if (isFault) return frames.map(({ keys, next }) => (keys ? keys[next - 1]! : next - 1));
    if (typeof item === 'object' && item !== null) frames.push(frameOf(item));
  }
  return null;
}

interface Frame {
  items: Record<string | number, unknown>;
  /** Absent for an array. */
  keys: string[] | undefined;
  size: number;
  next: number;
}

function frameOf(value: unknown): Frame {
  const isContainer = typeof value === 'object' && value !== null;
  const items = isContainer ? (value as Frame['items']) : {};
  const keys = Array.isArray(value) ? undefined : Object.keys(items);
  return { items, keys, size: Array.isArray(value) ? value.length : keys!.length, next: 0 };
}

/**
 * Returns the first control character or invisible formatting character of a text, such as
 * `U+200B`; null: there is none. Such characters make two names look the same, or change the
 * direction of the text around them.
 */
export function findInvisible(text: string): string | null {
  const code = invisible.exec(text)?.[0].codePointAt(0);
  return code === undefined ? null : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Returns a text on one line in which mail programs find no link, because web, mail and host
 * addresses are split into words. `Visit https://evil.example` becomes `Visit https evil example`;
 * `St. Mary's Inc.` stays.
 */
export function withoutLinks(text: string): string {
  return (
    text
      // Browsers treat full-width and other variants of these characters alike, so replace them
      // first.
      .normalize('NFKC')
      .replace(/[@\\]|[.:\u3002](?=\S)|\/{2,}/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  );
}

/** Maximum number of characters of a word that `distance` compares. */
const charsMax = 100;

/** Returns how many letters to insert, delete or replace to turn one word into the other. */
export function distance(one: string, other: string): number {
  const [a, b] = [one.slice(0, charsMax), other.slice(0, charsMax)];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = row[j]! + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/**
 * Returns the most similar known word, or the first of several; undefined when none is within
 * `distanceMax` changes of a letter.
 */
export function nearest(
  word: string,
  known: Iterable<string>,
  distanceMax = Infinity,
): string | undefined {
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const apart = distance(word, candidate);
    if (apart <= distanceMax && (!best || apart < best.distance)) {
      best = { word: candidate, distance: apart };
    }
  }
  return best?.word;
}

/** Returns the error text for an unknown key. It suggests the known key that was probably meant. */
export function unknownKeyText(key: string, known: readonly string[]): string {
  const meant = nearest(key, known, Math.max(2, Math.floor(key.length / 3)));
  const all = known.length === 0 ? '' : ` Known fields: ${known.join(', ')}.`;
  return `There is no such field here.${meant === undefined ? all : ` Did you mean "${meant}"?`}`;
}

/** Longest given text that an error repeats. */
const shownChars = 60;

/**
 * Adds the given value to an error text: `Must be a uuid.` becomes `Must be a uuid, not "abc".` A
 * long text is not repeated, nor one that looks like a key.
 */
export function withGiven(message: string, given: unknown): string {
  const isShown =
    typeof given === 'string'
      ? given.length <= shownChars && !/^(sk|pk|whsec)_/.test(given)
      : typeof given === 'number' || typeof given === 'boolean';
  return isShown ? message.replace(/\.$/, () => `, not ${JSON.stringify(given)}.`) : message;
}

/** Returns words as alternatives: `a or b`, `one of a, b, c`. */
export function oneOf(values: readonly string[]): string {
  return values.length <= 2 ? values.join(' or ') : `one of ${values.join(', ')}`;
}

/**
 * Returns a name in lower case with `-` for spaces, reduced to letters, digits, `_` and `-`: `VIP
 * Customers!` becomes `vip-customers`. The result may be empty.
 */
export function slugOf(name: string): string {
  return (
    name
      .normalize('NFC')
      .toLowerCase()
      // Combining marks stay, because each belongs to the letter before it.
      .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
      .replaceAll(/[\s-]+/g, '-')
      .replaceAll(/^-|-$/g, '')
  );
}
