import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

let keys = 0;
/** Returns the header with an unused key. */
const newKey = () => ({ 'Idempotency-Key': `key ${(keys += 1)}` });
const isReplay = ({ headers }: { headers: Headers }) =>
  headers.get('idempotency-replayed') === 'true';

/** Makes every insert of a key fail with an SQLSTATE while `act` runs. */
async function whileLedgerFails<T>(sqlState: string, act: () => Promise<T>): Promise<T> {
  const { db } = shop.api;
  await sql`create function fail() returns trigger language plpgsql as
    $$ begin raise exception 'broken' using errcode = ${sql.lit(sqlState)}; end $$`.execute(db);
  await sql`create trigger fail before insert on email execute function fail()`.execute(db);
  try {
    return await act();
  } finally {
    await sql`drop function fail cascade`.execute(db);
  }
}

describe('Idempotency-Key on /v1/track', () => {
  it('answers a repeat with the first answer, and records one event', async () => {
    const [email, key] = [newAddress(), newKey()];
    const first = await shop.track({ email }, key);
    const second = await shop.track({ email }, key);
    expect([first.status, isReplay(first)]).toEqual([200, false]);
    expect([second.status, isReplay(second)]).toEqual([200, true]);
    expect(second.body).toEqual(first.body);
    expect(await shop.eventsOf(email)).toHaveLength(1);
    const third = await shop.track({ email, event: 'other' }, key);
    expect(refusal(third)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await shop.eventsOf(email)).toHaveLength(1);
  });

  it.each([
    ['/v1/track', (email: string) => ({ email, event: 'clicked' })],
    ['/events/track', (email: string) => ({ email, event: 'clicked' })],
  ])('stores the answer of %s with the event: no repeat records another', async (path, bodyOf) => {
    const { db } = shop.api;
    const [email, key] = [newAddress(), newKey()];
    const track = () => shop.call('POST', path, bodyOf(email), key);
    await sql`create function fail() returns trigger language plpgsql as
      $$ begin raise exception 'broken'; end $$`.execute(db);
    await sql`create trigger fail before update of status_code on idempotency
      for each row execute function fail()`.execute(db);
    const failed = await track();
    await sql`drop function fail cascade`.execute(db);
    expect([failed.status, await shop.eventsOf(email)]).toEqual([500, []]);
    await db
      .updateTable('idempotency')
      .set({ created_at: new Date(Date.now() - 5.1 * 60_000) })
      .where('key', '=', key['Idempotency-Key'])
      .execute();
    const again = await track();
    expect([again.status, isReplay(again)]).toEqual([200, false]);
    expect(isReplay(await track())).toBe(true);
    expect(await shop.eventsOf(email)).toHaveLength(1);
  });

  it('is separate for the public key, whose holders cannot block the secret one', async () => {
    const [email, headers] = [newAddress(), newKey()];
    const body = { email, event: 'clicked' };
    const { publicKey: key } = shop.project;
    const first = await shop.api.request('POST', '/v1/track', { key, body, headers });
    const second = await shop.track({ email }, headers);
    expect([first.status, second.status, isReplay(second)]).toEqual([200, 200, false]);
    expect(await shop.eventsOf(email)).toHaveLength(2);
    const third = await shop.api.request('POST', '/v1/track', { key, body, headers });
    expect([isReplay(third), third.body]).toEqual([true, first.body]);

    const taken = newKey();
    await shop.api.request('POST', '/v1/track', { key, body, headers: taken });
    const made = await shop.call('POST', '/contacts', { email: newAddress() }, taken);
    expect([made.status, isReplay(made)]).toEqual([201, false]);
  });

  it('is shared by the secret key and the session of a member', async () => {
    const { cookie } = await shop.api.signUp();
    const project = await shop.api.createProject(cookie);
    const [body, key] = [{ email: newAddress(), event: 'clicked' }, newKey()];
    const path = '/v1/track';
    const by = { body, headers: key, key: project.secretKey };
    const first = await shop.api.request('POST', path, by);
    const headers = { ...key, 'X-Project-Id': project.id };
    const second = await shop.api.request('POST', path, { body, cookie, headers });
    expect([second.status, isReplay(second), second.body]).toEqual([200, true, first.body]);
  });

  it('is of the project also where path or body name it: shared with its key, not with another', async () => {
    const { cookie } = await shop.api.signUp();
    const [one, two] = [await shop.api.createProject(cookie), await shop.api.createProject(cookie)];
    const headers = newKey();
    const domain = `${randomUUID()}.test`;
    const claim = (request: object) =>
      shop.api.request('POST', '/domains', { headers, ...request });
    const first = await claim({ cookie, body: { projectId: one.id, domain } });
    const other = await claim({ cookie, body: { projectId: two.id, domain: `b.${domain}` } });
    expect([first.status, other.status, isReplay(other)]).toEqual([201, 201, false]);
    const again = await claim({ key: one.secretKey, body: { projectId: one.id, domain } });
    expect([again.status, isReplay(again), again.body]).toEqual([201, true, first.body]);
  });

  it('takes another path as another request', async () => {
    const [email, key] = [newAddress(), newKey()];
    await shop.track({ email }, key);
    const other = await shop.call('POST', '/contacts', { email, event: 'clicked' }, key);
    expect(refusal(other)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect(other.body.error.details).toMatchObject({
      key: key['Idempotency-Key'],
      originalRequest: 'POST /v1/track',
      originalStatusCode: 200,
    });
  });

  it('that is empty answers 400 INVALID_IDEMPOTENCY_KEY', async () => {
    const email = newAddress();
    const answer = await shop.track({ email }, { 'Idempotency-Key': '' });
    expect(refusal(answer)).toEqual([400, 'INVALID_IDEMPOTENCY_KEY']);
    expect(await shop.contact(email)).toBeUndefined();
  });

  it('of a request that never ended is taken for 5 minutes, then new', async () => {
    const [email, key] = [newAddress(), newKey()];
    await shop.track({ email }, key);
    const endless = (seconds: number) =>
      shop.api.db
        .updateTable('idempotency')
        .set({
          status_code: null,
          response: null,
          created_at: new Date(Date.now() - seconds * 1000),
        })
        .where('key', '=', key['Idempotency-Key'])
        .execute();
    await endless(4.9 * 60);
    expect(refusal(await shop.track({ email }, key))).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    await endless(5.1 * 60);
    const anew = await shop.track({ email, event: 'other' }, key);
    expect([anew.status, isReplay(anew)]).toEqual([200, false]);
    expect(isReplay(await shop.track({ email, event: 'other' }, key))).toBe(true);
    expect(await shop.eventsOf(email)).toHaveLength(2);
  });

  it('is judged before the body is', async () => {
    const answer = await shop.track({ email: 'bad' }, { 'Idempotency-Key': 'x'.repeat(256) });
    expect(refusal(answer)).toEqual([400, 'INVALID_IDEMPOTENCY_KEY']);
  });
});

describe('Idempotency-Key on /v1/send', () => {
  it('is free again after a refused request', async () => {
    const [to, key] = [newAddress(), newKey()];
    expect((await shop.send({ to: 'bad' }, key)).status).toBe(422);
    expect((await shop.send({ to, from: 'a@unknown.test' }, key)).status).toBe(403);
    const sent = await shop.send({ to }, key);
    expect([sent.status, isReplay(sent)]).toEqual([200, false]);
  });

  it('lets one of ten requests at once through: one mail', async () => {
    const [to, key] = [newAddress(), newKey()];
    const answers = await Promise.all(Array.from({ length: 10 }, () => shop.send({ to }, key)));
    const [first, ...more] = answers.filter((answer) => answer.status === 200 && !isReplay(answer));
    expect(more).toEqual([]);
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.body).toEqual(first!.body);
      else expect(refusal(answer)).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    }
    expect(await shop.emailsTo(to)).toHaveLength(1);
  });

  it('repeats the answer of our own failure: part of the work may be done', async () => {
    const [to, key] = [newAddress(), newKey()];
    const failed = await whileLedgerFails('XX000', () => shop.send({ to }, key));
    expect(refusal(failed)).toEqual([500, 'INTERNAL_SERVER_ERROR']);
    const again = await shop.send({ to }, key);
    expect([again.status, isReplay(again)]).toEqual([500, true]);
    expect(again.body.error).toEqual(failed.body.error);
    expect(await shop.emailsTo(to)).toEqual([]);
  });

  it('is free again when a service was away', async () => {
    const [to, key] = [newAddress(), newKey()];
    const away = await whileLedgerFails('57P01', () => shop.send({ to }, key));
    expect(refusal(away)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    const again = await shop.send({ to }, key);
    expect([again.status, isReplay(again)]).toEqual([200, false]);
  });

  it('stores responses encrypted', async () => {
    const [to, key] = [newAddress(), newKey()];
    await shop.send({ to }, key);
    const { response } = await shop.api.db
      .selectFrom('idempotency')
      .select('response')
      .where('key', '=', key['Idempotency-Key'])
      .executeTakeFirstOrThrow();
    expect(response!.includes(to)).toBe(false);
  });
});

describe('Idempotency-Key when the database is away at the end of a request', () => {
  /** Keeps keys in use while `act` runs. */
  async function whileKeysStay<T>(act: () => Promise<T>): Promise<T> {
    const { db } = shop.api;
    await sql`create function fail_key() returns trigger language plpgsql as
      $$ begin raise exception 'away' using errcode = '57P01'; end $$`.execute(db);
    await sql`create trigger fail_key before update of status_code, interrupted or delete
      on idempotency for each row execute function fail_key()`.execute(db);
    try {
      return await act();
    } finally {
      await sql`drop function fail_key cascade`.execute(db);
    }
  }
  const untilSettled = (ask: () => ReturnType<typeof shop.call>) =>
    waitFor('a settled key', async () => {
      const answer = await ask();
      return answer.body.error?.code === 'IDEMPOTENCY_IN_PROGRESS' ? null : answer;
    });

  it('is free soon after a request that failed', async () => {
    const [to, key] = [newAddress(), newKey()];
    const away = await whileKeysStay(() => whileLedgerFails('57P01', () => shop.send({ to }, key)));
    expect(refusal(away)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    const again = await untilSettled(() => shop.send({ to }, key));
    expect([again.status, isReplay(again)]).toEqual([200, false]);
  });

  it('answers a request that was done, and soon repeats that answer', async () => {
    const key = newKey();
    const create = () =>
      shop.call('POST', '/segments', { name: key['Idempotency-Key'], type: 'STATIC' }, key);
    const first = await whileKeysStay(create);
    expect(first.status).toBe(201);
    const again = await untilSettled(create);
    expect([again.status, isReplay(again)]).toEqual([201, true]);
    expect(again.body).toEqual(first.body);
  });
});

describe('Idempotency-Key elsewhere', () => {
  it('is ignored where a request changes nothing', async () => {
    const key = newKey();
    await shop.track({ email: newAddress() }, key);
    const lookup = await shop.call('POST', '/contacts/lookup', { emails: ['a@b.test'] }, key);
    expect([lookup.status, isReplay(lookup)]).toEqual([200, false]);
    // Refused twice for its body alone: the key is not read.
    const verify = () => shop.call('POST', '/v1/verify', { email: 'no address' }, key);
    expect(refusal(await verify())).toEqual([422, 'VALIDATION_ERROR', 'email invalid_string']);
    const badKey = { 'Idempotency-Key': 'x'.repeat(256) };
    const bad = await shop.call('POST', '/v1/verify', { email: 'no address' }, badKey);
    expect(bad.status).toBe(422);
  });

  it('is ignored on requests that are no POST', async () => {
    const key = newKey();
    await shop.track({ email: newAddress() }, key);
    const read = await shop.call('GET', '/events', undefined, key);
    expect([read.status, isReplay(read)]).toEqual([200, false]);
  });

  it('makes a start of an execution happen once', async () => {
    const { body: contact } = await shop.call('POST', '/contacts', { email: newAddress() });
    const { body: workflow } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
    const path = `/workflows/${workflow.id}`;
    await shop.call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
    await shop.call('PATCH', path, { enabled: true });
    const start = (key: Record<string, string>) =>
      shop.call('POST', `${path}/executions`, { contactId: contact.id }, key);
    const key = newKey();
    const first = await start(key);
    const second = await start(key);
    expect([second.status, isReplay(second), second.body]).toEqual([201, true, first.body]);
    expect(refusal(await start(newKey()))).toEqual([409, 'EXECUTION_EXISTS']);
  });
});
