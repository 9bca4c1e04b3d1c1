import type { KeyedKind } from './kinds.ts';

/** Makes the keys of objects that were not created from a file. */

/**
 * Maximum number of characters of a key made from a name, before the number that makes it unique.
 */
const madeChars = 40;

export interface KeylessObject {
  id: string;
  /** The text from which the key is made. */
  name: string;
}

/**
 * Makes a key from a name: without accents, in lower case, with a hyphen for every run of other
 * characters than `a` to `z` and digits. If the name has no such letter or digit, the key is the
 * kind.
 */
export function madeKey(kind: KeyedKind, name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, madeChars)
    .replace(/-$/, '');
  return plain === '' ? kind : plain;
}

/**
 * Returns a key for each object, in the given order. A key that is taken gets the first free number
 * from 2: `welcome-2`.
 * @param taken the keys of other objects of the kind; the new keys are added
 */
export function keysFor(
  kind: KeyedKind,
  objects: readonly KeylessObject[],
  taken: Set<string>,
): { id: string; key: string }[] {
  const numbers = new Map<string, number>();
  return objects.map(({ id, name }) => {
    const made = madeKey(kind, name);
    let number = numbers.get(made) ?? 1;
    let key = number === 1 ? made : `${made}-${number}`;
    while (taken.has(key)) {
      number += 1;
      key = `${made}-${number}`;
    }
    numbers.set(made, number);
    taken.add(key);
    return { id, key };
  });
}
