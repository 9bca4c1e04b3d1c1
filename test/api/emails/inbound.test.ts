import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { sesReceipt } from '../../support/fakes/ses-messages.ts';

const fake = await useFakeSns();
const api = await useApi();
api.services.feedbackReaders = fake.feedbackReaders;
const { cookie } = await api.signUp();
const [project, other] = [await api.createProject(cookie), await api.createProject(cookie)];
const add = (key: string, domain: string) =>
  api.request('POST', '/domains', { key, body: { domain } });
await add(project.secretKey, 'shop.test');
await add(other.secretKey, 'other.test');
await add(project.secretKey, 'mycorp.dev');

type Receipt = Parameters<typeof sesReceipt>[0];

/** Delivers a mail. Returns the sender of the stored event. */
async function arrive(given: Partial<Receipt> = {}): Promise<string> {
  const sender = `${randomUUID()}@x.example`;
  const receipt = sesReceipt({
    messageId: randomUUID(),
    from: `Ada Love <${sender}>`,
    recipients: ['hi@shop.test'],
    subject: 'Hello',
    ...given,
  });
  const body = fake.notification(receipt);
  const { status, body: answered } = await api.request('POST', '/webhooks/sns', { body });
  expect([status, answered]).toEqual([200, { success: true }]);
  return sender;
}

async function receivedFrom(sender: string) {
  const rows = await api.db
    .selectFrom('email')
    .innerJoin('contact', 'contact.id', 'email.contact_id')
    .selectAll('email')
    .select('contact.subscribed')
    .where('contact.email', '=', sender)
    .orderBy('email.from_email')
    .execute();
  const events = await api.db
    .selectFrom('event')
    .innerJoin('contact', 'contact.id', 'event.contact_id')
    .select(['event.name', 'event.data', 'event.email_id'])
    .where('contact.email', '=', sender)
    .execute();
  return { rows, events, data: (events[0]?.data ?? {}) as Record<string, unknown> };
}

const mime = (type: string, body: string) =>
  [
    'From: a@x.example',
    'MIME-Version: 1.0',
    `Content-Type: ${type}; charset=utf-8`,
    '',
    body,
    '',
  ].join('\r\n');

describe('a received mail', () => {
  it('makes its sender a contact, is kept, and is an event', async () => {
    const messageId = randomUUID();
    const content = mime('text/html', '<p>Hello</p>');
    const sender = await arrive({ messageId, content });
    const { rows, events, data } = await receivedFrom(sender);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      project_id: project.id,
      subscribed: true,
      source_type: 'INBOUND',
      status: 'RECEIVED',
      from_email: 'hi@shop.test',
      to_email: sender,
      to_name: 'Ada Love',
      subject: 'Hello',
      message_id: messageId,
      body: expect.stringContaining('<p>Hello</p>'),
    });
    const { body: mail } = await api.request('GET', `/emails/${rows[0]!.id}`, {
      key: project.secretKey,
    });
    expect(mail.causedBy).toEqual({ type: 'system', id: null, name: 'inbound' });
    expect(events.map(({ name, email_id: id }) => [name, id])).toEqual([
      ['email.received', rows[0]!.id],
    ]);
    expect(data).toEqual({
      messageId,
      from: sender,
      fromHeader: `Ada Love <${sender}>`,
      to: 'hi@shop.test',
      subject: 'Hello',
      timestamp: '2026-11-20T08:00:00.500Z',
      recipients: ['hi@shop.test'],
      hasContent: true,
      body: expect.stringContaining('<p>Hello</p>'),
      spamVerdict: 'PASS',
      virusVerdict: 'PASS',
      spfVerdict: 'PASS',
      dkimVerdict: 'GRAY',
      dmarcVerdict: 'PASS',
      processingTimeMillis: 321,
    });
  });

  it('starts a workflow with that trigger', async () => {
    const { body } = await api.request('POST', '/workflows', {
      key: project.secretKey,
      body: { name: 'Answer', triggerType: 'EVENT', eventName: 'email.received' },
    });
    await sql`update workflow set enabled = true where id = ${body.id}`.execute(api.db);
    await sql`insert into workflow_version (workflow_id, version, project_id, graph)
      values (${body.id}, 1, ${project.id}, '{}') on conflict do nothing`.execute(api.db);
    api.dispatched.length = 0;
    await arrive();
    expect(api.dispatched).toEqual([expect.stringMatching(/^execution-/)]);
    await sql`delete from workflow where id = ${body.id}`.execute(api.db);
  });

  it('is kept once for each recipient of a project, however often it is reported', async () => {
    const given = {
      messageId: randomUUID(),
      from: `${randomUUID()}@x.example`,
      recipients: ['Hi@Shop.test', 'help@shop.test', 'a@other.test', 'b@unknown.test', 'not one'],
    };
    await arrive(given);
    await arrive(given);
    const { rows, events } = await receivedFrom(given.from);
    expect(rows.map((row) => [row.from_email, row.project_id])).toEqual([
      ['a@other.test', other.id],
      ['help@shop.test', project.id],
      ['hi@shop.test', project.id],
    ]);
    expect(events).toHaveLength(3);
  });

  it('to a domain that is not verified belongs to no project', async () => {
    const sender = await arrive({ recipients: ['hi@mycorp.dev', 'hi@unknown.test'] });
    expect((await receivedFrom(sender)).rows).toEqual([]);
  });

  it('goes to the project that holds the domain, not to one that only claims it', async () => {
    const name = `${randomUUID()}.dev`;
    for (const { secretKey: key } of [other, project]) {
      await api.request('POST', '/domains', { key, body: { domain: name } });
    }
    await api.db
      .updateTable('domain')
      .set({ status: 'verified' })
      .where('name', '=', name)
      .where('project_id', '=', project.id)
      .execute();
    const { rows } = await receivedFrom(await arrive({ recipients: [`hi@${name}`] }));
    expect(rows.map(({ project_id }) => project_id)).toEqual([project.id]);
  });

  it('leaves a sender unsubscribed who was it before', async () => {
    const from = `${randomUUID()}@x.example`;
    const body = { email: from, subscribed: false };
    await api.request('POST', '/contacts', { key: project.secretKey, body });
    await arrive({ from });
    expect((await receivedFrom(from)).rows[0]?.subscribed).toBe(false);
  });

  it('without a sender is dropped', async () => {
    const from = '<>';
    const receipt = sesReceipt({ messageId: randomUUID(), from, recipients: ['hi@shop.test'] });
    (receipt['mail'] as { source: string }).source = '<>';
    const { status } = await api.request('POST', '/webhooks/sns', {
      body: fake.notification(receipt),
    });
    expect(status).toBe(200);
  });
});

describe('its body', () => {
  const bodyOf = async (given: Partial<Receipt>) => {
    const { rows, data } = await receivedFrom(await arrive(given));
    expect(rows[0]?.body).toBe(data['body']);
    expect(data['hasContent']).toBe(data['body'] !== null);
    return data['body'] as string | null;
  };

  it('is made safe', async () => {
    const html =
      '<p onclick="evil()">Hi <a href="javascript:evil()">x</a> <a href="https://x.example">y</a>' +
      '</p><script>evil()</script><style>p{}</style><iframe src="https://evil.example"></iframe>' +
      '<form action="https://evil.example"><input></form><img src="https://x.example/a.png">';
    const body = await bodyOf({ content: mime('text/html', html) });
    expect(body).toContain('Hi <a>x</a> <a href="https://x.example">y</a>');
    expect(body).toContain('<img src="https://x.example/a.png" />');
    expect(body).not.toMatch(/script|evil|style|iframe|form|input/);
  });

  it('is text as HTML when there is no HTML', async () => {
    const body = await bodyOf({ content: mime('text/plain', 'Dear <team>,\r\nhello') });
    expect(body).toBe('<p>Dear &lt;team&gt;,<br>\nhello</p>');
  });

  it('is read when SNS is set to encode it', async () => {
    const content = Buffer.from(mime('text/plain', 'Grüße')).toString('base64');
    expect(await bodyOf({ content, encoding: 'BASE64' })).toBe('<p>Grüße</p>');
  });

  it('is none when the provider did not send it', async () => {
    expect(await bodyOf({})).toBeNull();
  });

  it('is dropped when it holds a virus', async () => {
    expect(await bodyOf({ content: mime('text/plain', 'x'), virus: 'FAIL' })).toBeNull();
  });

  it('is stored, whatever characters it holds', async () => {
    const content = mime('text/plain', 'a\0b');
    const sender = await arrive({ content, subject: 'a\0b\ud800' });
    const { rows } = await receivedFrom(sender);
    expect(rows[0]?.subject).toBe('a\ufffdb\ufffd');
  });
});
