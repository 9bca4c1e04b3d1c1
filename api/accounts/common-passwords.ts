import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Number of leaked passwords that are refused: the most common ones, which attackers try first. */
const refusedMax = 10_000;

/**
 * Minimum number of characters of a password. The list has no shorter passwords, because they are
 * refused for their length.
 */
export const passwordCharsMin = 8;

let common: Set<string> | undefined;

/** Returns true if a password, in lower case, is among the 10,000 most common. */
export function isCommonPassword(password: string): boolean {
  common ??= readCommonPasswords();
  return common.has(password.toLowerCase());
}

/**
 * Reads zxcvbn's list of leaked passwords (lower case, the most common first). About a third of the
 * first `refusedMax` have the minimum length and are kept.
 */
function readCommonPasswords(): Set<string> {
  const require = createRequire(import.meta.url);
  const file = require.resolve('@zxcvbn-ts/language-common/src/passwords.json');
  const ranked = JSON.parse(readFileSync(file, 'utf8')) as string[];
  return new Set(ranked.slice(0, refusedMax).filter(({ length }) => length >= passwordCharsMin));
}
