import { cutText } from '../../text-rules.ts';

/**
 * Keys of steps in a workflow's portable graph. A key is unique in the workflow, and stays when the
 * step's name changes.
 */

/** The key of the TRIGGER; no other step has it. */
export const triggerKey = 'trigger';

/**
 * Maximum number of characters of a key generated from a name, without the number that makes it
 * unique.
 */
const madeChars = 40;

interface NamedStep {
  key: string | null;
  type: string;
  name: string;
}

/**
 * Returns the key of each step. A step without a key gets one generated from its name, or from its
 * type if the name has no letter or digit. The same steps always get the same keys.
 * @param steps all steps of a workflow, in order of creation.
 */
export function keysOf(steps: readonly NamedStep[]): string[] {
  const taken = new Set([triggerKey, ...steps.flatMap(({ key }) => key ?? [])]);
  const numbers = new Map<string, number>();
  const free = (made: string): string => {
    const number = (numbers.get(made) ?? 0) + 1;
    numbers.set(made, number);
    const key = number === 1 ? made : `${made}-${number}`;
    return taken.has(key) ? free(made) : key;
  };
  return steps.map(({ key, type, name }) => {
    if (type === 'TRIGGER') return triggerKey;
    const known = key ?? free(readable(name) || readable(type));
    taken.add(known);
    return known;
  });
}

/** Returns the key of a new step, which differs from the keys of all other steps of its workflow. */
export function newKey(step: { type: string; name: string }, others: readonly NamedStep[]): string {
  return keysOf([...others, { ...step, key: null }]).at(-1) ?? '';
}

/** Lower case, without accents, words joined by hyphens. */
function readable(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '');
  const words = plain
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return cutText(words.replace(/^-/, ''), madeChars).replace(/-$/, '');
}
