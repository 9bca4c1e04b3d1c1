import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import type { TestAnswer } from '../../support/api.ts';
import { holdBack } from '../../support/held-insert.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** `/v1/send` to several recipients, repeated with its key after it stopped midway. */

const shop = await useShop();

let keys = 0;
const newKey = () => ({ 'Idempotency-Key': `again ${(keys += 1)}` });
const isReplay = ({ headers }: { headers: Headers }) =>
  headers.get('idempotency-replayed') === 'true';

const idsOf = ({ body }: TestAnswer) =>
  (body.data.emails as { email: string }[]).map(({ email }) => email);
const addressesOf = ({ body }: TestAnswer) =>
  (body.data.emails as { contact: { email: string } }[]).map(({ contact }) => contact.email);
const mailsTo = async (to: string[]) =>
  (await Promise.all(to.map((email) => shop.emailsTo(email)))).flat();

/** Makes the insert of a mail to one address fail with an SQLSTATE while `act` runs. */
async function whileFailing<T>(address: string, sqlState: string, act: () => Promise<T>) {
  const { db } = shop.api;
  await sql`create function fail() returns trigger language plpgsql as
    $$ begin raise exception 'broken' using errcode = ${sql.lit(sqlState)}; end $$`.execute(db);
  await sql`create trigger fail before insert on email for each row
    when (new.to_email = ${sql.lit(address)}) execute function fail()`.execute(db);
  try {
    return await act();
  } finally {
    await sql`drop function fail cascade`.execute(db);
  }
}

const threePeople = () => [newAddress(), newAddress(), newAddress()];

describe('a /v1/send that fails in the middle, repeated with its key', () => {
  it.each([
    ['57P01', 503, 'SERVICE_UNAVAILABLE'],
    ['XX000', 500, 'INTERNAL_SERVER_ERROR'],
  ])('after SQLSTATE %s goes on with the rest', async (sqlState, status, code) => {
    const [to, key] = [threePeople(), newKey()];
    const failed = await whileFailing(to[1]!, sqlState, () => shop.send({ to }, key));
    expect(refusal(failed)).toEqual([status, code]);
    const accepted = failed.body.error.details.emails;
    expect(accepted).toHaveLength(1);
    const again = await shop.send({ to }, key);
    expect([again.status, isReplay(again)]).toEqual([200, false]);
    expect(again.body.data.emails[0]).toEqual(accepted[0]);
    expect(addressesOf(again)).toEqual(to);
    const mails = await mailsTo(to);
    expect(mails.map(({ id }) => id)).toEqual(idsOf(again));
    const third = await shop.send({ to }, key);
    expect([isReplay(third), third.body]).toEqual([true, again.body]);
  });

  it('after a refusal goes on where that was, as often as it takes', async () => {
    const [to, key] = [threePeople(), newKey()];
    const template = await shop.createTemplate({ type: 'MARKETING' });
    await shop.call('POST', '/contacts', { email: to[0] });
    const send = () => shop.send({ to, template }, key);
    for (const attempt of [1, 2]) {
      const refused = await send();
      expect([attempt, ...refusal(refused)]).toEqual([attempt, 400, 'CONTACT_UNSUBSCRIBED']);
      expect(refused.body.error.details.emails).toHaveLength(1);
      expect(refused.body.error.details.email).toBe(to[1]);
    }
    await shop.call('POST', '/contacts', { email: to[1] });
    expect((await send()).body.error.details.emails).toHaveLength(2);
    await shop.call('POST', '/contacts', { email: to[2] });
    const sent = await send();
    expect(sent.status).toBe(200);
    expect((await mailsTo(to)).map(({ id }) => id)).toEqual(idsOf(sent));
  });

  it('is not the request of another body: that has used the key', async () => {
    const [to, key] = [threePeople(), newKey()];
    await whileFailing(to[1]!, '57P01', () => shop.send({ to }, key));
    const other = await shop.send({ to, subject: 'Another' }, key);
    expect(refusal(other)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await mailsTo(to)).toHaveLength(1);
  });

  it('frees the key for everything when nothing was accepted', async () => {
    const [to, key] = [threePeople(), newKey()];
    await whileFailing(to[0]!, '57P01', () => shop.send({ to }, key));
    const other = await shop.send({ to, subject: 'Another' }, key);
    expect([other.status, idsOf(other)]).toEqual([200, (await mailsTo(to)).map(({ id }) => id)]);
  });

  it('asks of what the project may send only for the rest', async () => {
    const limited = await useShop({
      STRIPE_SECRET_KEY: 'sk_test_1',
      STRIPE_WEBHOOK_SECRET: 'whsec_1',
      STRIPE_PRICE_ONBOARDING: 'price_1',
      STRIPE_PRICE_EMAIL_USAGE: 'price_2',
      FREE_TIER_EMAILS_PER_MONTH: '3',
    });
    const [to, key] = [threePeople(), newKey()];
    const template = await limited.createTemplate({ type: 'MARKETING' });
    await limited.call('POST', '/contacts', { email: to[0] });
    expect((await limited.send({ to, template }, key)).status).toBe(400);
    for (const email of to) await limited.call('POST', '/contacts', { email });
    expect((await limited.send({ to, template }, key)).status).toBe(200);
  });
});

describe('the mails of a key', () => {
  it('have ids that follow from it: a repeat that knows of none of them sends none twice', async () => {
    const { db } = shop.api;
    const [to, key] = [threePeople(), newKey()];
    await shop.call('POST', '/contacts', { email: to[0], subscribed: false });
    const failed = await whileFailing(to[2]!, '57P01', () =>
      shop.send({ to, subscribed: true }, key),
    );
    expect(failed.body.error.details.emails).toHaveLength(2);
    await db.deleteFrom('idempotency_email').where('project_id', '=', shop.project.id).execute();
    await db
      .updateTable('idempotency')
      .set({ interrupted: true })
      .where('key', '=', key['Idempotency-Key'])
      .execute();
    const again = await shop.send({ to, subscribed: true }, key);
    expect(again.status).toBe(200);
    expect(again.body.data.emails.slice(0, 2)).toEqual(failed.body.error.details.emails);
    const mails = await mailsTo(to);
    expect(mails.map(({ id }) => id)).toEqual(idsOf(again));
    expect(idsOf(again)).toEqual(idsOf(again).toSorted());
    expect(await shop.eventsOf(to[0]!)).toHaveLength(1);
  });

  it('have other ids when the key is used anew after it has expired', async () => {
    const [to, key] = [newAddress(), newKey()];
    const first = await shop.send({ to }, key);
    await shop.api.db
      .updateTable('idempotency')
      .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
      .where('key', '=', key['Idempotency-Key'])
      .execute();
    const second = await shop.send({ to }, key);
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expect((await shop.emailsTo(to)).map(({ id }) => id)).toEqual([
      ...idsOf(first),
      ...idsOf(second),
    ]);
  });
});

describe('a /v1/send that is running while the process is asked to stop', () => {
  it('answers 503 with what it has accepted, and the repeat goes on at once', async () => {
    const { db, services } = shop.api;
    const [to, key] = [threePeople(), newKey()];
    const { stopping } = services;
    const stop = new AbortController();
    services.stopping = stop.signal;
    const hold = await holdBack(db, to[1]!);
    const answer = shop.send({ to }, key);
    await hold.isReached();
    stop.abort();
    await hold.release();
    const stopped = await answer;
    services.stopping = stopping;
    expect(refusal(stopped)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    const again = await shop.send({ to }, key);
    expect(again.body.data.emails.slice(0, 2)).toEqual(stopped.body.error.details.emails);
    expect((await mailsTo(to)).map(({ id }) => id)).toEqual(idsOf(again));
  });
});

describe('a /v1/send that takes longer than five minutes', () => {
  it('renews its claim: a repeated request gets IDEMPOTENCY_IN_PROGRESS', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { db } = shop.api;
    const [to, key] = [threePeople(), newKey()];
    const named = db.selectFrom('idempotency').where('key', '=', key['Idempotency-Key']);
    const hold = await holdBack(db, to[1]!);
    const slow = shop.send({ to }, key);
    await hold.isReached();
    vi.advanceTimersByTime(60_000);
    await waitFor('the renewal', async () => {
      const row = await named.select('renewed_at').executeTakeFirstOrThrow();
      return row.renewed_at !== null;
    });
    // Makes the claim six minutes old; the claim is identified by its time.
    const { created_at: claimedAt } = await named.select('created_at').executeTakeFirstOrThrow();
    const began = async (createdAt: Date) =>
      db
        .updateTable('idempotency')
        .set({ created_at: createdAt })
        .where('key', '=', key['Idempotency-Key'])
        .execute();
    await began(new Date(Date.now() - 6 * 60_000));
    expect(refusal(await shop.send({ to }, key))).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    await began(claimedAt);
    await hold.release();
    vi.useRealTimers();
    expect((await slow).status).toBe(200);
    expect(await mailsTo(to)).toHaveLength(3);
  });
});

describe('a /v1/send that is still running when its key counts as left', () => {
  it('stops as soon as a repeat has taken over: one mail each', async () => {
    const { db } = shop.api;
    const [to, key] = [threePeople(), newKey()];
    const hold = await holdBack(db, to[1]!);
    const slow = shop.send({ to }, key);
    await waitFor('the first mail', async () => (await shop.emailsTo(to[0]!)).length === 1);
    await hold.isReached();
    await db
      .updateTable('idempotency')
      .set({ created_at: new Date(Date.now() - 5.1 * 60_000) })
      .where('key', '=', key['Idempotency-Key'])
      .execute();
    // The repeated request waits for the same insert, and may be first or second.
    const repeat = shop.send({ to }, key);
    await waitFor('the repeat to hold the key', async () => {
      const { rows } = await sql`select from idempotency
        where key = ${key['Idempotency-Key']} and created_at > now() - interval '1 minute'`.execute(
        db,
      );
      return rows.length === 1;
    });
    await hold.release();
    expect(refusal(await slow)).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    const answered = await repeat;
    expect(answered.status).toBe(200);
    expect((await mailsTo(to)).map(({ id }) => id)).toEqual(idsOf(answered));
    expect(isReplay(await shop.send({ to }, key))).toBe(true);
  });
});
