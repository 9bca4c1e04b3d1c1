import { createHmac, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { findAddresses } from '../../../db/suppression/keys.ts';
import { withSuppressions } from '../../../db/suppression/marks.ts';
import { codeOf } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { recordStatements } from '../../support/statements.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The suppression list prevents mail. */

const engine = await useEngine();
const { call } = engine;
const from = `team@${engine.domain}`;
const newAddress = (name = 'ada') => `${name}+${randomUUID()}@people.test`;

const add = (emails: string[], more: object = {}) =>
  call('POST', '/suppression-list', { emails, ...more });
const entryOf = (email: string) => call('GET', `/suppression-list/${encodeURIComponent(email)}`);

/** Sends a mail. Returns its id. */
async function send(to: string, more: object = {}): Promise<string> {
  const mail = 'template' in more ? {} : { subject: 'Hi', body: '<p>Hi</p>' };
  const sent = await call('POST', '/v1/send', { to, from, subscribed: true, ...mail, ...more });
  expect(sent.status).toBe(200);
  return sent.body.data.emails[0].email;
}

/** Returns a mail, once it has ended. */
const ended = (id: string) =>
  waitFor('the mail to end', async () => {
    const { body } = await call('GET', `/emails/${id}`);
    return ['PENDING', 'SENDING'].includes(body.status) ? null : body;
  });

const makeTemplate = async (type: string) =>
  (await call('POST', '/templates', { name: type, type, subject: 'Hi', body: '<p>Hi</p>', from }))
    .body.id as string;
const marketing = await makeTemplate('MARKETING');
const headless = await makeTemplate('HEADLESS');

describe('an address on the list with scope all', () => {
  it('gets no mail until it is taken off again', async () => {
    const address = newAddress();
    const added = await add([address, 'bad'], { scope: 'all' });
    expect([added.status, added.body]).toEqual([
      200,
      { added: 1, updated: 0, unchanged: 0, invalid: ['bad'] },
    ]);
    const email = await ended(await send(address));
    expect(email).toMatchObject({ status: 'FAILED', error: 'suppressed', sentAt: null });
    expect(email.trace.at(-1)).toMatchObject({
      state: 'withheld',
      detail: { reason: 'suppressed' },
    });
    expect((await entryOf(address)).body).toEqual({
      email: address,
      hashed: false,
      reason: 'manual',
      scope: 'all',
      emailId: null,
      until: null,
      createdAt: expect.any(String),
    });
    const removed = await call('DELETE', `/suppression-list/${encodeURIComponent(address)}`);
    expect(removed.status).toBe(204);
    expect((await ended(await send(address))).status).toBe('DELIVERED');
    expect(await engine.mailsTo(address, 1)).toHaveLength(1);
    expect(codeOf(await entryOf(address))).toEqual([404, 'SUPPRESSION_NOT_FOUND']);
  });

  it('gets no mail of steps to another address than the contact has', async () => {
    const custom = newAddress('custom');
    await add([custom], { scope: 'all' });
    const template = await makeTemplate('TRANSACTIONAL');
    const { body: workflow } = await call('POST', '/workflows', {
      name: 'W',
      enabled: true,
      graph: {
        trigger: { type: 'EVENT', config: { eventName: 'custom_mail' } },
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          {
            key: 'mail',
            type: 'SEND_EMAIL',
            name: 'Mail',
            config: { recipient: { type: 'CUSTOM', customEmail: custom } },
            templateId: template,
          },
        ],
        transitions: [{ from: 'trigger', to: 'mail' }],
      },
    });
    await call('POST', '/v1/track', { email: newAddress(), event: 'custom_mail' });
    const execution = await waitFor('the execution to end', async () => {
      const { body } = await call('GET', `/workflows/${workflow.id}/executions?status=COMPLETED`);
      return body.executions[0];
    });
    const { body: list } = await call('GET', `/emails?executionId=${execution.id}`);
    expect(await ended(list.data[0].id)).toMatchObject({
      toEmail: custom,
      status: 'FAILED',
      error: 'suppressed',
    });
  });

  it('gets tests of campaigns all the same', async () => {
    const address = newAddress();
    await add([address], { scope: 'all' });
    const { body } = await call('POST', '/campaigns', {
      name: 'C',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from,
      audienceType: 'ALL',
    });
    await call('POST', `/campaigns/${body.data.id}/test`, { email: address });
    expect((await engine.mailsTo(address, 1))[0]?.subject).toBe('[TEST] Hi');
  });
});

describe('the recipient of a step who opts out by one click', () => {
  it('gets no mail of the next run, and the contact of the step stays subscribed', async () => {
    const [ada, boss] = [newAddress(), newAddress('boss')];
    const { body: workflow } = await call('POST', '/workflows', {
      name: 'Reports',
      enabled: true,
      allowReentry: true,
      graph: {
        trigger: { type: 'EVENT', config: { eventName: 'report' } },
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          {
            key: 'mail',
            type: 'SEND_EMAIL',
            name: 'Mail',
            config: { recipient: { type: 'CUSTOM', customEmail: boss.toUpperCase() } },
            templateId: marketing,
          },
        ],
        transitions: [{ from: 'trigger', to: 'mail' }],
      },
    });
    const played = async (count: number) => {
      await call('POST', '/v1/track', { email: ada, event: 'report' });
      const executions = await waitFor('the execution to end', async () => {
        const { body } = await call('GET', `/workflows/${workflow.id}/executions?status=COMPLETED`);
        return body.executions.length === count && body.executions;
      });
      const { body } = await call('GET', `/emails?executionId=${executions[0].id}`);
      return ended(body.data[0].id);
    };
    expect(await played(1)).toMatchObject({ toEmail: boss, status: 'DELIVERED' });
    const [mail] = await engine.mailsTo(boss, 1);
    const { body: shown } = await engine.api.request('GET', `/local/mailbox/${mail!.id}`);
    const link = new URL(/<(.+)>/.exec(shown.headers['list-unsubscribe'])![1]!);
    const clicked = await engine.api.request('POST', `${link.pathname}${link.search}`, {
      body: 'List-Unsubscribe=One-Click',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect([clicked.status, clicked.body]).toEqual([200, 'You are unsubscribed.\n']);
    const { body: contacts } = await call('GET', `/contacts?email=${encodeURIComponent(ada)}`);
    expect(contacts.data[0].subscribed).toBe(true);
    const { body: entry } = await entryOf(boss);
    expect(entry).toMatchObject({ reason: 'opt_out', scope: 'marketing', emailId: mail!.id });
    expect(await played(2)).toMatchObject({ status: 'FAILED', error: 'suppressed' });
  });
});

describe('an address on the list with scope marketing', () => {
  it('gets all but mail of class MARKETING', async () => {
    const address = newAddress();
    await add([address]);
    expect((await ended(await send(address, { template: marketing }))).error).toBe('suppressed');
    expect((await ended(await send(address))).status).toBe('DELIVERED');
    expect((await ended(await send(address, { template: headless }))).status).toBe('DELIVERED');
  });

  it('is withheld from campaigns', async () => {
    const address = newAddress();
    const { body: contact } = await call('POST', '/contacts', {
      email: address,
      data: { only: address },
    });
    await add([address]);
    const { body } = await call('POST', '/campaigns', {
      name: 'C',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from,
      audienceType: 'FILTERED',
      audienceFilter: {
        operator: 'AND',
        conditions: [{ field: 'data.only', operator: 'equals', value: address }],
      },
    });
    const { id } = body.data;
    await call('POST', `/campaigns/${id}/send`, {});
    await waitFor('the campaign to be sent', async () => {
      const { body: now } = await call('GET', `/campaigns/${id}`);
      return now.data.status === 'SENT';
    });
    const { body: reached } = await call('GET', `/campaigns/${id}/recipients/${contact.id}`);
    expect(reached).toMatchObject({ reason: 'withheld', emailId: expect.any(String) });
    expect((await call('GET', `/emails/${reached.emailId}`)).body.error).toBe('suppressed');
  });

  it('gets it again once the entry has ended, which the sweep deletes', async () => {
    const address = newAddress();
    const until = new Date(Date.now() + 2_000).toISOString();
    expect((await add([address], { scope: 'all', until })).body.added).toBe(1);
    expect((await ended(await send(address))).error).toBe('suppressed');
    await waitFor('the end of the entry', async () => (await entryOf(address)).status === 404);
    expect((await ended(await send(address))).status).toBe('DELIVERED');
    await tasksOf(engine.api, {}).CLEAR_SUPPRESSIONS();
    const { rows } = await sql`select from suppression where email = ${address}`.execute(
      engine.api.db,
    );
    expect(rows).toEqual([]);
  });
});

describe('an entry that meets another', () => {
  it('has the wider scope, the later end, and the reason of what has widened the scope', async () => {
    const address = newAddress();
    const soon = new Date(Date.now() + 60_000).toISOString();
    const later = new Date(Date.now() + 120_000).toISOString();
    await add([address], { until: soon });
    const again = await add([address.toUpperCase(), address], { until: soon });
    expect(again.body).toEqual({ added: 0, updated: 0, unchanged: 1, invalid: [] });
    expect((await add([address], { until: later, reason: 'import' })).body.updated).toBe(1);
    expect((await entryOf(address)).body).toMatchObject({ reason: 'manual', until: later });
    expect((await add([address], { scope: 'all', until: soon, reason: 'import' })).body).toEqual({
      added: 0,
      updated: 1,
      unchanged: 0,
      invalid: [],
    });
    const wide = { scope: 'all', reason: 'import', until: later };
    expect((await entryOf(address)).body).toMatchObject(wide);
    expect((await add([address])).body.updated).toBe(1);
    expect((await entryOf(address)).body).toMatchObject({ ...wide, until: null });
    expect((await add([address], { until: soon })).body.unchanged).toBe(1);
  });

  it('counts as the first when that one has ended', async () => {
    const address = newAddress();
    await add([address], { scope: 'all' });
    await sql`update suppression set until = now() - interval '1 second', created_at = '2026-01-01'
      where email = ${address}`.execute(engine.api.db);
    expect((await add([address])).body.added).toBe(1);
    const { body } = await entryOf(address);
    expect(body).toMatchObject({ scope: 'marketing', until: null });
    expect(Date.parse(body.createdAt)).toBeGreaterThan(Date.now() - 60_000);
  });
});

describe('the list', () => {
  it('is in pages, newest first, and can be searched', async () => {
    const other = await engine.api.createProject((await engine.api.signUp()).cookie);
    const ask = (query: string) =>
      engine.api.request('GET', `/suppression-list?${query}`, { key: other.secretKey });
    const put = (emails: string[], more: object = {}) =>
      engine.api.request('POST', '/suppression-list', {
        key: other.secretKey,
        body: { emails, ...more },
      });
    expect((await ask('')).body).toEqual({ data: [], hasMore: false, total: 0 });
    for (const name of ['a_1', 'b', 'c']) await put([`${name}@list.test`]);
    await put(['d@list.test'], { scope: 'all', reason: 'import' });
    const first = (await ask('limit=3')).body;
    expect(first).toMatchObject({ hasMore: true, total: 4 });
    expect(first.data.map((entry: { email: string }) => entry.email)).toEqual(
      ['d', 'c', 'b'].map((name) => `${name}@list.test`),
    );
    const second = (await ask(`limit=3&cursor=${first.cursor}`)).body;
    expect(second).toMatchObject({ hasMore: false, total: 0, data: [{ email: 'a_1@list.test' }] });
    const found = async (query: string) =>
      (await ask(query)).body.data.map((entry: { email: string }) => entry.email[0]);
    expect(await found('search=_')).toEqual(['a']);
    expect(await found('search=B@')).toEqual(['b']);
    expect(await found('scope=all')).toEqual(['d']);
    expect(await found('reason=import')).toEqual(['d']);
    expect((await ask('reason=erased')).body.total).toBe(0);
    for (const query of ['scope=none', 'reason=x', 'cursor=zz', 'limit=0']) {
      expect((await ask(query)).status).toBe(422);
    }
    expect((await entryOf('d@list.test')).status).toBe(404);
  });

  it('takes at most 1,000 addresses at once, and an end in the future', async () => {
    const emails = Array.from({ length: 1001 }, (_, n) => `n${n}@many.test`);
    expect((await add(emails)).status).toBe(422);
    expect((await add(emails.slice(1))).body.added).toBe(1000);
    expect((await add([])).status).toBe(422);
    const past = await add(['x@many.test'], { until: '2020-01-01T00:00:00Z' });
    expect([past.status, past.body.error.errors[0]]).toMatchObject([
      422,
      { field: 'until', code: 'too_small' },
    ]);
    expect((await add(['x@many.test'], { reason: 'erased' })).status).toBe(422);
  });

  it('answers a repeated request from what was stored with the entries', async () => {
    const body = { emails: [newAddress()] };
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await call('POST', '/suppression-list', body, key);
    const second = await call('POST', '/suppression-list', body, key);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect(first.body.added).toBe(1);
  });

  it('has nothing by which a stranger finds an address from its hash', async () => {
    const address = newAddress();
    await add([address]);
    const addresses = await findAddresses(engine.api.db, engine.project.id);
    const { rows } = await sql<{ hash: Buffer; key: Buffer }>`
      select address_hash as hash, suppression_key.key from suppression
        join suppression_key using (owner_id) where email = ${address}`.execute(engine.api.db);
    const [row] = rows;
    expect(row?.hash).toEqual(addresses?.hashOf(address));
    const key = engine.api.services.cipher.decrypt(row!.key);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const hmac = createHmac('sha256', Buffer.from(key, 'hex')).update(address).digest();
    expect(row?.hash).toEqual(hmac);
  });
});

describe('feedback', () => {
  const bounce = () => `bounce+${randomUUID()}@simulator.test`;
  const bounced = async (address: string) => {
    const id = await send(address);
    await waitFor('the bounce', async () => {
      const { body } = await call('GET', `/emails/${id}`);
      return body.status === 'BOUNCED';
    });
    return id;
  };

  it('suppresses marketing mail after a permanent bounce, and all of it where the project says so', async () => {
    const first = bounce();
    const emailId = await bounced(first);
    expect((await entryOf(first)).body).toMatchObject({
      reason: 'hard_bounce',
      scope: 'marketing',
      emailId,
    });
    await bounced(first);
    const put = await engine.call('PUT', '/consent-policy', { bounceScope: 'all' });
    expect(put.status).toBe(200);
    const second = bounce();
    await bounced(second);
    expect((await entryOf(second)).body.scope).toBe('all');
    expect(await ended(await send(second))).toMatchObject({
      status: 'FAILED',
      error: 'suppressed',
    });
  });

  it('suppresses nothing after a transient bounce, and marketing mail after a complaint', async () => {
    const soft = `softbounce+${randomUUID()}@simulator.test`;
    await ended(await send(soft));
    expect(codeOf(await entryOf(soft))).toEqual([404, 'SUPPRESSION_NOT_FOUND']);
    const angry = `complaint+${randomUUID()}@simulator.test`;
    const id = await send(angry);
    const entry = await waitFor('the complaint', async () => {
      const { status, body } = await entryOf(angry);
      return status === 200 && body;
    });
    expect(entry).toMatchObject({ reason: 'complaint', scope: 'marketing', emailId: id });
  });
});

describe('claimed mail', () => {
  const claim = (projectId: string, emails: readonly { to_email: string }[], has: boolean) =>
    withSuppressions(
      engine.api.db,
      projectId,
      emails.map((email) => ({ ...email, has_suppressions: has })),
    );

  it('is looked up with one statement for all of it, and with none where there is no list', async () => {
    const address = newAddress();
    await add([address], { scope: 'all' });
    const emails = [address, ...Array.from({ length: 99 }, () => newAddress())].map((to_email) => ({
      to_email,
    }));
    await findAddresses(engine.api.db, engine.project.id);
    const statements = recordStatements();
    const looked = await claim(engine.project.id, emails, true);
    expect(looked.map(({ suppression }) => suppression)).toEqual([
      { scope: 'all', reason: 'manual', until: null },
      ...Array.from({ length: 99 }, () => null),
    ]);
    expect(statements.take()).toHaveLength(1);
    await claim(engine.project.id, emails, false);
    expect(statements.take()).toHaveLength(0);
  });
});
