import { cutText } from '../../text-rules.ts';

/**
 * The keys of steps in a portable graph. A key is unique in its workflow, and does not change when
 * the step is renamed.
 */

/** The key of the TRIGGER step, and of no other step. */
export const triggerKey = 'trigger';

/**
 * Maximum number of characters of a key made from a name, without the number that makes the key
 * unique.
 */
const madeChars = 40;

interface NamedStep {
  key: string | null;
  type: string;
  name: string;
}

/**
 * Returns the key of each step. A step without a key gets one made from its name, or from its type
 * if the name has no letter or digit. The same steps always get the same keys.
 * @param steps all steps of a workflow, in order of creation
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

/** Returns a key for a new step that no other step of the workflow has. */
export function newKey(step: { type: string; name: string }, others: readonly NamedStep[]): string {
  return keysOf([...others, { ...step, key: null }]).at(-1) ?? '';
}

/** Returns a name in lower case, without accents, with its words joined by hyphens. */
function readable(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '');
  const words = plain
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return cutText(words.replace(/^-/, ''), madeChars).replace(/-$/, '');
}
