import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  returnSendingTokens,
  type SendingRates,
  takeSendingTokens,
} from '../../../db/delivery/send-rate.ts';
import { useDatabase } from '../../support/servers.ts';

const { db } = await useDatabase({ poolMax: 20 });
beforeEach(() => db.deleteFrom('token_bucket').execute());

/** Rates with a limit for each project only. */
const perProject = (rate: number): SendingRates => ({ perSecond: 0, perProjectPerSecond: rate });

/** Takes tokens as if no time had passed since the buckets were last touched. */
async function takeAtOnce(rates: SendingRates, id: string, wanted: number) {
  await elapse(-60_000);
  return takeSendingTokens(db, rates, id, wanted);
}

/** Takes tokens as if `ms` (and the few this needs) had passed since the last time. */
async function takeAfter(ms: number, rates: SendingRates, id: string, wanted: number) {
  await elapse(ms);
  return takeSendingTokens(db, rates, id, wanted);
}

const elapse = (ms: number) =>
  sql`update token_bucket set refilled_at = clock_timestamp()
    - make_interval(secs => ${ms / 1000}::float8)`.execute(db);

describe('a bucket', () => {
  it('holds what one second allows, less one, and says how long an empty one takes', async () => {
    const id = randomUUID();
    expect(await takeAtOnce(perProject(10), id, 100)).toEqual({ granted: 9, waitMs: 0 });
    expect(await takeAtOnce(perProject(10), id, 100)).toEqual({ granted: 0, waitMs: 100 });
  });

  it('gives no more than is wanted, and keeps the rest', async () => {
    const id = randomUUID();
    expect((await takeAtOnce(perProject(10), id, 4)).granted).toBe(4);
    expect((await takeAtOnce(perProject(10), id, 0)).granted).toBe(0);
    expect((await takeAtOnce(perProject(10), id, 100)).granted).toBe(5);
  });

  it('fills at its rate, never over its brim', async () => {
    const id = randomUUID();
    await takeAtOnce(perProject(10), id, 9);
    expect(await takeAtOnce(perProject(10), id, 9)).toMatchObject({ granted: 0 });
    expect((await takeAfter(310, perProject(10), id, 3)).granted).toBe(3);
    expect((await takeAfter(60_000, perProject(10), id, 100)).granted).toBe(9);
  });

  it('has a token after the wait it names, and not half that time before', async () => {
    const id = randomUUID();
    const slow = perProject(0.01);
    await takeAtOnce(slow, id, 1);
    const { waitMs } = await takeAtOnce(slow, id, 1);
    expect(waitMs).toBe(100_000);
    const half = await takeAfter(waitMs / 2, slow, id, 1);
    expect(half.granted).toBe(0);
    expect(half.waitMs).toBeLessThanOrEqual(waitMs / 2);
    expect((await takeAfter(half.waitMs, slow, id, 1)).granted).toBe(1);
  });

  it('slower than one a second still holds one', async () => {
    const id = randomUUID();
    expect(await takeAtOnce(perProject(0.5), id, 10)).toEqual({ granted: 1, waitMs: 0 });
    expect(await takeAtOnce(perProject(0.5), id, 10)).toEqual({ granted: 0, waitMs: 2000 });
  });

  it('shrinks at once when the operator lowers its rate', async () => {
    const id = randomUUID();
    await takeAtOnce(perProject(100), id, 1);
    expect((await takeAtOnce(perProject(5), id, 100)).granted).toBe(4);
  });

  it('without a limit is not asked', async () => {
    const taken = await takeAtOnce(perProject(0), randomUUID(), 1_000_000);
    expect(taken).toEqual({ granted: 1_000_000, waitMs: 0 });
  });

  it('belongs to one project', async () => {
    await takeAtOnce(perProject(5), randomUUID(), 4);
    expect((await takeAtOnce(perProject(5), randomUUID(), 5)).granted).toBe(4);
  });
});

describe('the buckets of server and project', () => {
  /** The server's bucket holds 10, that of each project 6. */
  const rates = { perSecond: 11, perProjectPerSecond: 7 };

  it('hold together: the emptier one decides, both pay', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    expect((await takeAtOnce(rates, first, 100)).granted).toBe(6);
    expect((await takeAtOnce(rates, second, 100)).granted).toBe(4);
  });

  it('cost nothing when the other one is empty', async () => {
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    await takeAtOnce(rates, first, 6);
    for (let i = 0; i < 5; i += 1) expect((await takeAtOnce(rates, first, 1)).granted).toBe(0);
    expect((await takeAtOnce(rates, second, 100)).granted).toBe(4);
    expect((await takeAtOnce(rates, third, 1)).granted).toBe(0);
    expect((await takeAtOnce(perProject(7), third, 100)).granted).toBe(6);
  });

  it('name the longer wait of the two', async () => {
    for (const slow of [
      { perSecond: 0.5, perProjectPerSecond: 2 },
      { perSecond: 2, perProjectPerSecond: 0.5 },
    ]) {
      const id = randomUUID();
      await db.deleteFrom('token_bucket').execute();
      expect((await takeAtOnce(slow, id, 1)).granted).toBe(1);
      expect((await takeAtOnce(slow, id, 1)).waitMs).toBe(2000);
    }
  });
});

describe('urgent mail', () => {
  const slow = perProject(1);
  const urgent = { urgent: true };

  it('takes the next token before it is there, and all others wait until it was used', async () => {
    const id = randomUUID();
    await takeAtOnce(slow, id, 1);
    await elapse(-60_000);
    const first = await takeSendingTokens(db, slow, id, 5, urgent);
    expect(first).toEqual({ granted: 1, waitMs: 1000 });
    await elapse(-60_000);
    const second = await takeSendingTokens(db, slow, id, 5, urgent);
    expect(second).toEqual({ granted: 1, waitMs: 2000 });
    expect(await takeAtOnce(slow, id, 5)).toEqual({ granted: 0, waitMs: 3000 });
  });

  it('takes in advance what is missing, and leaves nothing to the others until then', async () => {
    const id = randomUUID();
    await takeAtOnce(perProject(10), id, 8);
    await elapse(-60_000);
    const taken = await takeSendingTokens(db, perProject(10), id, 5, urgent);
    expect(taken).toEqual({ granted: 2, waitMs: 100 });
    expect((await takeAfter(90, perProject(10), id, 5)).granted).toBe(0);
  });

  it('does not wait while there are tokens', async () => {
    const id = randomUUID();
    expect(await takeSendingTokens(db, perProject(10), id, 4, urgent)).toEqual({
      granted: 4,
      waitMs: 0,
    });
  });
});

it('tokens that were not used can be given back', async () => {
  const id = randomUUID();
  await takeAtOnce(perProject(10), id, 9);
  await elapse(-60_000);
  await returnSendingTokens(db, perProject(10), id, 6);
  expect((await takeAtOnce(perProject(10), id, 100)).granted).toBe(6);
});

describe('many takers at once', () => {
  it('never get more than the rates allow, and never lock each other out', async () => {
    const ids = Array.from({ length: 5 }, () => randomUUID());
    const rates = { perSecond: 40, perProjectPerSecond: 10 };
    const startedAt = Date.now();
    const taken = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const id = ids[index % ids.length]!;
        const { granted } = await takeSendingTokens(db, rates, id, 1 + (index % 3));
        return { id, granted };
      }),
    );
    const seconds = (Date.now() - startedAt) / 1000;
    const sum = (list: typeof taken) => list.reduce((all, { granted }) => all + granted, 0);
    expect(sum(taken)).toBeGreaterThanOrEqual(39);
    expect(sum(taken)).toBeLessThanOrEqual(39 + 40 * seconds);
    for (const id of ids) {
      expect(sum(taken.filter((one) => one.id === id))).toBeLessThanOrEqual(9 + 10 * seconds);
    }
  });

  it('share a new bucket from its first moment', async () => {
    const id = randomUUID();
    const slow = perProject(0.001);
    const taken = await Promise.all(
      Array.from({ length: 20 }, () => takeSendingTokens(db, slow, id, 1)),
    );
    expect(taken.filter(({ granted }) => granted === 1)).toHaveLength(1);
    expect(taken.filter(({ granted }) => granted === 0)).toHaveLength(19);
  });
});
