import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { findCampaignWork } from '../../db/campaigns/emails.ts';
import { findNextDue } from '../../db/emails/emails.ts';
import { useDatabase } from '../support/servers.ts';
import { millisecondsUntil } from '../../db/expressions.ts';

const { db } = await useDatabase();

const until = async (moment: string) => {
  const text = sql`(${sql.lit(moment)})::timestamptz`;
  const { rows } = await sql<{
    ms: number | null;
  }>`select ${millisecondsUntil(text)} as ms`.execute(db);
  return rows[0]!.ms;
};

it('the time until a moment is 0 when it is past, and exact however far ahead', async () => {
  expect(await until('2020-01-01')).toBe(0);
  const ahead = new Date(Date.now() + 400 * 86_400_000);
  expect((await until(ahead.toISOString()))! / 86_400_000).toBeCloseTo(400, 1);
});

it('the time until no moment is null, not 0, which would be waited for without a pause', async () => {
  const { rows } = await sql`select ${millisecondsUntil(sql`null::timestamptz`)} as ms`.execute(db);
  expect(rows).toEqual([{ ms: null }]);
  expect(await findNextDue(db, randomUUID())).toBeNull();
  expect((await findCampaignWork(db, randomUUID())).nextDueMs).toBeNull();
});
