import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns true if two texts are equal, in a time that does not depend on their content. */
export function isSame(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
