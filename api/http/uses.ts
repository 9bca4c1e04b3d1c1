import { z } from 'zod';

/** The users of an object in responses: on its own page, and when its deletion is refused. */

/** Maximum number of listed users of one kind, because a project may have very many. */
const listedMax = 100;

export const More = z
  .record(z.string(), z.int())
  .optional()
  .describe('Number of users beyond the 100 in a list, by its name; absent when all are listed');

/** Cuts lists of users for a response. `more` counts the users that a list leaves out. */
export function listed<L extends Record<string, readonly unknown[]>>(
  lists: L,
): L & { more?: Record<string, number> } {
  const entries = Object.entries(lists);
  const more = entries
    .filter(([, list]) => list.length > listedMax)
    .map(([name, list]) => [name, list.length - listedMax]);
  const short = entries.map(([name, list]) => [name, list.slice(0, listedMax)]);
  return {
    ...(Object.fromEntries(short) as L),
    ...(more.length > 0 && { more: Object.fromEntries(more) as Record<string, number> }),
  };
}
