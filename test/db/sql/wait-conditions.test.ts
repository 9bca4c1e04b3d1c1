import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { hasRequired } from '../../../db/transactions/events/chosen-effects.ts';
import { meetsWait, requiredData } from '../../../domain/filter/where.ts';
import { values } from '../../domain/filter/filter-values.ts';
import { useDatabase } from '../../support/servers.ts';

/**
 * Values that an event must have to end a wait: SQL looks at them before the conditions are
 * evaluated.
 */

const { db } = await useDatabase();

const contact = {
  email: 'ada@shop.example',
  subscribed: true,
  createdAt: new Date(),
  updatedAt: new Date(),
  data: null,
};

/** Also keys that look like a path, and one that objects inherit. */
const keys = ['order', 'a.b', '__proto__'];

const pairs = keys.flatMap((key) => {
  const datas = values.flatMap((value) => [
    Object.fromEntries([[key, value]]),
    Object.fromEntries([[key.slice(0, 1), { b: value }]]),
  ]);
  return values.flatMap((value) => {
    const where = [{ field: `event.${key}`, operator: 'equals' as const, value }];
    return datas.map((data) => ({
      where,
      data,
      isMet: meetsWait(where, { event: data, contact, context: null }),
    }));
  });
});

/** Returns the pairs that SQL skips. */
async function skipped(given: typeof pairs): Promise<typeof pairs> {
  const rows = given.map(({ where, data }) => ({ required: requiredData(where), data }));
  const { rows: found } = await sql<{ place: number }>`
    select place::int
      from (select place, pair -> 'data' as data, nullif(pair -> 'required', 'null') as required_data
        from jsonb_array_elements(${JSON.stringify(rows)}::jsonb) with ordinality as pairs(pair, place)) given
      where not ${hasRequired('given', 'given')}`.execute(db);
  return found.flatMap(({ place }) => given[place - 1] ?? []);
}

it('skips no wait that an event ends', async () => {
  const met = pairs.filter(({ isMet }) => isMet);
  expect(met.length).toBeGreaterThan(3 * values.length);
  expect(await skipped(met)).toEqual([]);
});

it('skips the waits for other orders', async () => {
  const texts = pairs.filter(
    ({ where: [item], data, isMet }) =>
      !isMet && item?.field === 'event.order' && typeof item.value === 'string' && 'order' in data,
  );
  const few = texts.filter((_, index) => index % 7 === 0);
  const share = (await skipped(few)).length / few.length;
  // Dates are left to the evaluation.
  expect(share).toBeGreaterThan(0.5);
});
