import { bySecretKey } from '../../support/actors.ts';
import { describe, expect, it } from 'vitest';
import { onCommitted } from '../../../db/commits.ts';
import { dispatchStore } from '../../../workflows/client/dispatch-store.ts';
import type { EmailRow } from '../../../db/emails/emails.ts';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { connectTemporal } from '../../../workflows/client/connection.ts';
import { createDispatcher } from '../../../workflows/client/dispatcher.ts';
import { pixelOf } from '../../support/pixel.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Sends a plain mail with the changes in `given`. Returns the ids of the mails. */
async function send(engine: Engine, given: object): Promise<string[]> {
  const { status, body } = await engine.call('POST', '/v1/send', {
    from: `team@${engine.domain}`,
    subject: 'Hello',
    body: '<p>Hello</p>',
    ...given,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data.emails.map(({ email }: { email: string }) => email);
}

const rowsOf = async (engine: Engine, ids: readonly string[]) =>
  (await engine.api.db
    .selectFrom('email')
    .selectAll()
    .where('id', 'in', ids)
    .orderBy('sent_at')
    .execute()) as unknown as EmailRow[];

/** Returns the mails, once all of them have ended. */
const settled = (engine: Engine, ids: readonly string[]) =>
  waitFor('the mails to be settled', async () => {
    const rows = await rowsOf(engine, ids);
    return rows.every(({ status }) => status !== 'PENDING' && status !== 'SENDING') && rows;
  });

/** Returns the states of a mail, as the API lists them. */
const traceOf = async (engine: Engine, id: string): Promise<[string, unknown][]> => {
  const { body } = await engine.call('GET', `/emails/${id}`);
  return body.trace.map(({ state, detail }: { state: string; detail: unknown }) => [state, detail]);
};

const eventNames = async (engine: Engine, emailId: string) => {
  const query = engine.api.db.selectFrom('event').select('name').where('email_id', '=', emailId);
  return (await query.orderBy('recorded_at').execute()).map(({ name }) => name);
};

describe('with the local mailbox', async () => {
  const engine = await useEngine();

  const mailAt = async (address: string) => {
    const [mail] = await engine.mailsTo(address, 1);
    return (await engine.api.request('GET', `/local/mailbox/${mail!.id}`)).body;
  };

  it('a mail arrives whole: names, headers, both texts, files', async () => {
    const to = newAddress();
    const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
    const [id] = await send(engine, {
      to: { name: 'Bo', email: to },
      from: { name: 'Jörg & Co', email: `team@${engine.domain}` },
      reply: 'help@people.test',
      subject: 'Grüße, {{name}}',
      body: '<p>Hi <a href="https://shop.test/a?b=1">there</a></p><img src="cid:logo">',
      headers: { bcc: 'x@people.test', 'X-B': '1' },
      attachments: [
        { filename: 'Größe.txt', content: 'aGk', contentType: 'text/plain' },
        {
          filename: 'logo.png',
          content: png,
          contentType: 'image/png',
          disposition: 'inline',
          contentId: 'logo',
        },
      ],
    });
    const mail = await mailAt(to);
    expect(mail).toMatchObject({
      id,
      from: `team@${engine.domain}`,
      to,
      subject: 'Grüße, Bo',
      headers: {
        from: `Jörg & Co <team@${engine.domain}>`,
        to: `Bo <${to}>`,
        'reply-to': 'help@people.test',
        subject: 'Grüße, Bo',
        'message-id': `<${id}@${engine.domain}>`,
        'x-everpost-email': id,
        'x-b': '1',
      },
      attachments: expect.arrayContaining([
        { filename: 'Größe.txt', contentType: 'text/plain', size: 2 },
        { filename: 'logo.png', contentType: 'image/png', size: 8 },
      ]),
    });
    expect(Object.keys(mail.headers)).not.toContain('bcc');
    expect(mail.html).toMatch(/^<!doctype html>.*<a href="[^"]*\/t\/c\/[^"]+">there/is);
    expect(mail.text.trim()).toBe('Hi there (https://shop.test/a?b=1)');
    const kinds = [...mail.raw.matchAll(/^Content-Type: ([\w/]+)/gm)].map(([, kind]) => kind);
    expect(kinds).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'text/plain',
      'multipart/related',
      'text/html',
      'image/png',
      'text/plain',
    ]);
    expect(mail.raw).toContain('Content-ID: <logo>');
    const { body: bcc } = await engine.api.request('GET', '/local/mailbox?to=x@people.test');
    expect(bcc).toEqual([]);
    const [row] = await settled(engine, [id!]);
    expect(row).toMatchObject({ status: 'DELIVERED', attempts: 1, lease_until: null, error: null });
    expect(await eventNames(engine, id!)).toEqual(['email.sent', 'email.delivery']);
  });

  it('a mail shows its history from the request to the click', async () => {
    const to = newAddress();
    const [id] = await send(engine, { to, body: '<a href="https://shop.test/">Shop</a>' });
    const mail = await mailAt(to);
    const [row] = await settled(engine, [id!]);
    const { body: page } = await engine.call('GET', `/emails?contactId=${row!.contact_id}`);
    expect(page).toMatchObject({ total: 1, data: [{ id, status: 'DELIVERED' }] });
    expect(page.data[0]).not.toHaveProperty('body');

    const link = /<a href="([^"]+)"/.exec(mail.html)![1]!.replaceAll('&amp;', '&');
    const { pathname, search } = new URL(link);
    for (const path of [
      pixelOf(engine.api, id!),
      pixelOf(engine.api, id!),
      `${pathname}${search}`,
    ]) {
      await engine.api.request('GET', path);
    }
    const { body: email } = await engine.call('GET', `/emails/${id}`);
    expect(email).toMatchObject({ status: 'CLICKED', opens: 1, clicks: 1 });
    expect(email.trace).toEqual(
      [
        { state: 'queued', detail: { causedBy: bySecretKey } },
        { state: 'handed_over', detail: { attempt: 1 } },
        { state: 'accepted', detail: { messageId: email.messageId } },
        { state: 'delivered', detail: null },
        { state: 'opened', detail: null },
        { state: 'clicked', detail: { link: 'https://shop.test/' } },
      ].map((entry) => ({ at: expect.any(String), ...entry })),
    );
    const times = email.trace.map(({ at }: { at: string }) => at);
    expect(times).toEqual(times.toSorted());
    expect(times[0]).toBe(email.createdAt);
  });

  it('a mail has the headers it was given and one line of subject, whatever the data', async () => {
    const to = newAddress();
    const template = await createTemplate(engine, { type: 'MARKETING', subject: 'Hi {{x}}' });
    const headers = { 'list-unsubscribe': '<mailto:u@x.example>' };
    const sender = { subject: undefined, body: undefined, from: undefined };
    const data = { x: 'A\r\nBcc: x@y.z' };
    await send(engine, { to, template, ...sender, subscribed: true, headers, data });
    const { raw } = await mailAt(to);
    const [head = ''] = raw.split('\r\n\r\n');
    const named = (name: string) => head.match(new RegExp(`^${name}:.*$`, 'gim'));
    expect(named('subject')).toEqual(['Subject: Hi A Bcc: x@y.z']);
    expect(named('list-unsubscribe')).toEqual(['list-unsubscribe: <mailto:u@x.example>']);
    expect([named('bcc'), named('list-unsubscribe-post')]).toEqual([null, null]);
    const { body: bcc } = await engine.api.request('GET', '/local/mailbox?to=x@y.z');
    expect(bcc).toEqual([]);
  });

  it('a marketing mail arrives with footer and one-click opt-out', async () => {
    const to = newAddress();
    const template = await createTemplate(engine, { type: 'MARKETING' });
    const sender = { subject: undefined, body: undefined, from: undefined };
    const [id] = await send(engine, { to, template, ...sender, subscribed: true });
    const mail = await mailAt(to);
    const [row] = await settled(engine, [id!]);
    const link = `${engine.api.url}/unsubscribe/${row!.contact_id}?e=${id}`;
    expect(mail.headers).toMatchObject({
      'list-unsubscribe': `<${link}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      precedence: 'bulk',
    });
    expect(mail.html).toContain(link);
    expect(mail.text).toContain(link);
  });

  it('every occurrence of an address and every request gets its own mail', async () => {
    const to = newAddress();
    const ids = [...(await send(engine, { to: [to, to] })), ...(await send(engine, { to }))];
    const mails = await engine.mailsTo(to, 3);
    expect(mails.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});

describe('between acceptance and delivery', () => {
  it('a contact may opt out of marketing, not of what it needs', async () => {
    const engine = await useEngine({}, { worker: false });
    const to = newAddress();
    await createContact(engine, to);
    const marketing = await createTemplate(engine, { type: 'MARKETING' });
    const headless = await createTemplate(engine, { type: 'HEADLESS' });
    const [refused] = await send(engine, { to, template: marketing });
    const [kept] = await send(engine, { to, template: headless });
    const [plain] = await send(engine, { to });
    await engine.call('POST', '/contacts', { email: to, subscribed: false });
    await engine.startWorker();
    await settled(engine, [refused!, kept!, plain!]);
    const [row] = await rowsOf(engine, [refused!]);
    expect(row).toMatchObject({ status: 'FAILED', error: 'contact_unsubscribed', sent_at: null });
    expect(await eventNames(engine, refused!)).toEqual([]);
    expect(await traceOf(engine, refused!)).toEqual([
      ['queued', { causedBy: bySecretKey }],
      ['withheld', { reason: 'contact_unsubscribed' }],
    ]);
    const arrived = (await engine.mailsTo(to, 2)).map(({ id }) => id);
    expect(arrived.toSorted()).toEqual([kept, plain].toSorted());
  });

  it('a project may be disabled: nothing leaves', async () => {
    const engine = await useEngine({}, { worker: false });
    const to = newAddress();
    const ids = await send(engine, { to });
    await engine.api.db
      .updateTable('project')
      .set({ disabled_reason: 'MANUAL' })
      .where('id', '=', engine.project.id)
      .execute();
    await engine.startWorker();
    expect(await settled(engine, ids)).toMatchObject([
      { status: 'FAILED', error: 'project_disabled' },
    ]);
    const { body } = await engine.api.request('GET', `/local/mailbox?to=${to}`);
    expect(body).toEqual([]);
  });
});

describe('at two mails a second', () => {
  it('the last of ten leaves four seconds after the first', async () => {
    const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '2' });
    const ids = await send(engine, { to: Array.from({ length: 10 }, newAddress) });
    const rows = await settled(engine, ids);
    const seconds = (rows.at(-1)!.sent_at!.getTime() - rows[0]!.sent_at!.getTime()) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(4);
  });
});

describe('with a mail server', () => {
  it('that puts a mail off twice gets it once, and what it refuses fails with its words', async () => {
    const [late, never, fine] = [newAddress(), newAddress(), newAddress()];
    const tries = new Map<string, number>();
    const sink = await useSmtpSink({
      refuseTo(address) {
        const before = tries.get(address) ?? 0;
        tries.set(address, before + 1);
        if (address === never) return 550;
        return address === late && before < 2 ? 451 : null;
      },
    });
    const engine = await useEngine({ SMTP_HOST: '127.0.0.1', SMTP_PORT: String(sink.port) });
    const ids = await send(engine, { to: [late, never, fine] });
    await settled(engine, ids);
    const rows = await Promise.all(ids.map(async (id) => (await rowsOf(engine, [id]))[0]!));
    expect(rows).toMatchObject([
      { status: 'SENT', attempts: 3, error: null },
      { status: 'FAILED', attempts: 1, sent_at: null },
      { status: 'SENT', attempts: 1, error: null },
    ]);
    expect(rows[1]!.error).toContain(`No mail for ${never}`);
    expect([sink.countTo(late), sink.countTo(never), sink.countTo(fine)]).toEqual([1, 0, 1]);
    expect([tries.get(late), tries.get(never)]).toEqual([3, 1]);
    // Two seconds after the first refusal, four after the second.
    const waited = rows[0]!.sent_at!.getTime() - rows[0]!.created_at.getTime();
    expect(waited).toBeGreaterThanOrEqual(6000);
    expect(await eventNames(engine, ids[0]!)).toEqual(['email.sent']);
    expect(await eventNames(engine, ids[1]!)).toEqual([]);
    const states = (await traceOf(engine, ids[0]!)).map(([state]) => state);
    expect(states.join(' ')).toBe(
      'queued handed_over refused handed_over refused handed_over accepted',
    );
    expect(await traceOf(engine, ids[1]!)).toEqual([
      ['queued', { causedBy: bySecretKey }],
      ['handed_over', { attempt: 1 }],
      ['refused', { error: rows[1]!.error }],
    ]);
  });
});

describe('while Temporal is away', () => {
  it('requests answer as ever; mails and journeys begin when it is back', async () => {
    const engine = await useEngine();
    const nobody = connectTemporal({
      address: `127.0.0.1:${await closedPort()}`,
      namespace: 'default',
      apiKey: null,
      tlsCert: null,
      tlsKey: null,
      tlsCa: null,
    });
    const { services, db } = engine.api;
    const { dispatcher } = services;
    try {
      const workflow = await createWorkflow(engine, {
        eventName: 'tracked',
        steps: [{ type: 'EXIT', name: 'Out', config: {} }],
      });
      const { taskQueue } = engine;
      const store = dispatchStore(db);
      const { client } = nobody;
      const warnings: string[] = [];
      const log = { warn: (_details: object, message: string) => void warnings.push(message) };
      services.dispatcher = createDispatcher({ client, taskQueue, store, log });
      onCommitted(db, (runs) => services.dispatcher.dispatch(runs));
      const to = newAddress();
      const [id] = await send(engine, { to });
      const tracked = await engine.call('POST', '/v1/track', { email: to, event: 'tracked' });
      expect(tracked.status).toBe(200);
      await services.dispatcher.close();
      expect(warnings).toHaveLength(2);
      expect(await rowsOf(engine, [id!])).toMatchObject([{ status: 'PENDING' }]);

      await sweepNow(engine);
      expect(await settled(engine, [id!])).toMatchObject([{ status: 'DELIVERED' }]);
      const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
      await executionIn(engine, workflow.id, body.executions[0].id, 'EXITED');
    } finally {
      services.dispatcher = dispatcher;
      await nobody.close();
    }
  });
});

/** Returns a port without a listener: it was free a moment ago. */
async function closedPort(): Promise<number> {
  const { port, release } = await claimFreePort();
  await release();
  return port;
}
