import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Engine, useEngine } from '../support/engine.ts';
import { holdBack } from '../support/held-insert.ts';
import { startApiProcess } from '../support/processes/processes.ts';
import { newAddress, refusal } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';

/** Kills an API process while it sends, and lets the client repeat its request. */

const engine = await useEngine({}, { worker: false });

const isReplay = ({ headers }: { headers: Headers }) =>
  headers.get('idempotency-replayed') === 'true';

const mailsTo = (to: string[]) =>
  engine.api.db
    .selectFrom('email')
    .select(['id', 'to_email'])
    .where('to_email', 'in', to)
    .orderBy('id')
    .execute();

function sending(to: string[], key: string) {
  const body = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>', to };
  const args = ['POST', '/v1/send', body, { 'Idempotency-Key': key }] as const;
  return (by: { call: Engine['call'] }) => by.call(...args);
}

/** Makes the claim of a key five minutes old. */
const letGrowStale = (key: string) =>
  engine.api.db
    .updateTable('idempotency')
    .set({ created_at: new Date(Date.now() - 5.1 * 60_000) })
    .where('key', '=', key)
    .execute();

describe('an API process that is killed while it sends', () => {
  it('to one recipient, once the mail is stored: the repeat is replayed', async () => {
    const { db } = engine.api;
    const to = [newAddress()];
    const send = sending(to, 'one');
    const api = await startApiProcess(engine);
    // Delays storing the response after the mail, so that the process is killed in between.
    await sql`create function linger() returns trigger language plpgsql as
      $$ begin perform pg_sleep(3); return new; end $$`.execute(db);
    await sql`create trigger linger before update on idempotency for each row
      execute function linger()`.execute(db);
    const answer = send(api).catch(() => null);
    await waitFor('the mail', async () => (await mailsTo(to)).length === 1);
    await api.kill();
    await answer;
    await sql`drop function linger cascade`.execute(db);

    await letGrowStale('one');
    const again = await send(engine);
    expect([again.status, isReplay(again)]).toEqual([200, true]);
    const mails = await mailsTo(to);
    expect(mails.map(({ id }) => id)).toEqual([again.body.data.emails[0].email]);
  });

  it('to three, after the first: the repeat goes on with the rest', async () => {
    const to = [newAddress(), newAddress(), newAddress()];
    const send = sending(to, 'three');
    const hold = await holdBack(engine.api.db, to[1]!);
    const api = await startApiProcess(engine);
    const answer = send(api).catch(() => null);
    await hold.isReached();
    await api.kill();
    await answer;
    await hold.release();
    const [first] = await mailsTo(to);

    expect(refusal(await send(engine))).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    await letGrowStale('three');
    const again = await send(engine);
    expect(again.status).toBe(200);
    const sent = again.body.data.emails as { contact: { email: string }; email: string }[];
    expect(sent.map(({ contact }) => contact.email)).toEqual(to);
    expect(sent[0]!.email).toBe(first!.id);
    expect((await mailsTo(to)).map(({ id }) => id)).toEqual(sent.map(({ email }) => email));
    expect(isReplay(await send(engine))).toBe(true);
  });

  it.each([
    ['SIGTERM', 'stop'],
    ['SIGKILL', 'kill'],
  ] as const)('to 1,000, in the middle, by %s: 1,000 mails', async (signal, end) => {
    const { db } = engine.api;
    const to = Array.from({ length: 1_000 }, newAddress);
    const send = sending(to, signal);
    const api = await startApiProcess(engine);
    // So slow that the process stops waiting for it.
    await sql`create function linger() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.02); return new; end $$`.execute(db);
    await sql`create trigger linger before insert on email for each row
      execute function linger()`.execute(db);
    const answer = send(api).catch(() => null);
    await waitFor('some mails', async () => (await mailsTo(to)).length > 100);
    await api[end]();
    const stopped = await answer;
    await sql`drop function linger cascade`.execute(db);
    if (signal === 'SIGTERM') {
      expect(refusal(stopped!)).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(stopped!.body.error.details.emails).toHaveLength((await mailsTo(to)).length);
    } else await letGrowStale(signal);
    expect((await mailsTo(to)).length).toBeLessThan(1_000);

    const again = await send(engine);
    expect(again.status).toBe(200);
    const ids = (again.body.data.emails as { email: string }[]).map(({ email }) => email);
    expect(ids).toHaveLength(1_000);
    expect((await mailsTo(to)).map(({ id }) => id)).toEqual(ids);
  });
});
