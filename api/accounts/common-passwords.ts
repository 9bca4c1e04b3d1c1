import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** How many of the list are refused: what is guessed first, by whoever guesses. */
const refusedMax = 10_000;

/** Passwords shorter than this are refused for their length and need not be remembered. */
export const passwordCharsMin = 8;

let common: Set<string> | undefined;

/** True for a password that is, in any case, among the 10,000 most common. */
export function isCommonPassword(password: string): boolean {
  common ??= readCommonPasswords();
  return common.has(password.toLowerCase());
}

/**
 * The list that zxcvbn estimates the strength of passwords with: passwords of published leaks in
 * lower case, the most common first. Read at first use, once; about a third of it is kept.
 */
function readCommonPasswords(): Set<string> {
  const require = createRequire(import.meta.url);
  const file = require.resolve('@zxcvbn-ts/language-common/src/passwords.json');
  const ranked = JSON.parse(readFileSync(file, 'utf8')) as string[];
  return new Set(ranked.slice(0, refusedMax).filter(({ length }) => length >= passwordCharsMin));
}
