import { hashText } from './hash.ts';

/**
 * Draws one of several items for a subject, by weighted rendezvous hashing: each item gets a score
 * from a hash, and the best score wins. Each item gets a share of the subjects in proportion to its
 * weight; weight 0 is never drawn. If a weight changes, subjects move only to or from that item.
 *
 * Source: the logarithmic method in Schindelhauer and Schomaker, "Weighted Distributed Hash
 * Tables", SPAA 2005.
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
    // The chance is greater than 0 and less than 1, so that its logarithm is finite and not 0.
    const chance = (hashText(JSON.stringify([salt, item.id, subject])) + 0.5) / 2 ** 32;
    const score = Math.log(chance) / item.weight;
    if (score <= best) continue;
    best = score;
    drawn = item;
  }
  return drawn;
}
