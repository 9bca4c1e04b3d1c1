import { z } from 'zod';

/**
 * Lists of the users of an object, such as the steps that use a template. Two responses contain the
 * lists: the response that shows the uses, and the error that refuses a deletion.
 */

/** Maximum number of items in one list, because a project may have very many. */
const listedMax = 100;

export const More = z
  .record(z.string(), z.int())
  .optional()
  .describe(
    'Number of further items of each list that shows only its first 100, by the name of the list; ' +
      'absent when all are listed',
  );

/**
 * Shortens the lists for a response. `more` has the number of omitted items, by the name of the
 * list.
 */
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
