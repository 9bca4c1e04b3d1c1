import { hashText } from './hash.ts';

/**
 * Draws one of several items for a subject, by weighted rendezvous hashing: each item gets a score
 * from a hash, and the best score wins. So an item gets its weight's share of the subjects, and a
 * change of its weight moves subjects only to or from this item. Items of weight 0 are never drawn.
 *
 * Source: the logarithmic method in Schindelhauer and Schomaker, "Weighted Distributed Hash Tables",
 * SPAA 2005.
 * @returns null if all weights are 0
 */
export function drawWeighted<T extends { id: string; weight: number }>(
  items: readonly T[],
  salt: string,
  subject: string,
): T | null {
  let drawn: T | null = null;
  let best = -Infinity;
  for (const item of items) {
    if (item.weight <= 0) continue;
    // Between 0 and 1, but neither 0 nor 1.
    const chance = (hashText(JSON.stringify([salt, item.id, subject])) + 0.5) / 2 ** 32;
    const score = Math.log(chance) / item.weight;
    if (score <= best) continue;
    best = score;
    drawn = item;
  }
  return drawn;
}
