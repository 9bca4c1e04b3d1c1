import { nearest } from '../../../domain/text-rules.ts';

/** Returns ` Did you mean "…"?` with the most similar known word, or nothing. */
export function hintOf(word: string, known: Iterable<string>, prefix = ''): string {
  const meant = nearest(word, known, Math.max(2, Math.floor(word.length / 3)));
  return meant === undefined ? '' : ` Did you mean ${prefix}${meant}?`;
}
