import { cutText } from '../../text-rules.ts';

/**
 * Keys: what the steps of a workflow are called in its portable graph. Unique in the workflow, and
 * not changed by a new name of the step.
 */

/** The key of the TRIGGER; no other step has it. */
export const triggerKey = 'trigger';

/** Most characters of a key that is made from a name, without the number that makes it unique. */
const madeChars = 40;

/**
 * The key of each of the steps, which are all of a workflow, in order of creation. Those without one
 * get one that is made from the name, or from the type where the name has neither letter nor digit:
 * always the same for the same steps.
 */
export function keysOf(
  steps: readonly { key: string | null; type: string; name: string }[],
): string[] {
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

/** Lower case, without accents, words joined by hyphens. */
function readable(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '');
  const words = plain
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return cutText(words.replace(/^-/, ''), madeChars).replace(/-$/, '');
}
