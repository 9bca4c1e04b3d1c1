import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { recordErasurePage } from '../../../db/transactions/erasure/erase-contact.ts';
import { erasedAddress } from '../../../domain/contact/erasure.ts';
import { codeOf } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Erasing a contact: what is removed, what stays, and the receipt. */

const engine = await useEngine();
const { call, api } = engine;
const from = `team@${engine.domain}`;
const newAddress = () => `ada+${randomUUID()}@people.test`;

const send = (to: string, more: object = {}, headers: Record<string, string> = {}) =>
  call('POST', '/v1/send', { to, from, subject: 'Hi', body: '<p>Hi</p>', ...more }, headers);
const track = (email: string, event = 'seen') => call('POST', '/v1/track', { email, event });
const found = async (email: string) =>
  (await call('GET', `/contacts?email=${encodeURIComponent(email)}`)).body.data[0];
const entryOf = (email: string) => call('GET', `/suppression-list/${encodeURIComponent(email)}`);

/** Erases a contact. Returns the completed erasure. */
async function erase(id: string, body: object = {}) {
  const begun = await call('POST', `/contacts/${id}/erase`, body);
  expect([begun.status, begun.body]).toEqual([
    202,
    { message: expect.any(String), jobId: expect.any(String) },
  ]);
  expect(codeOf(await call('GET', `/contacts/${id}`))).toEqual([404, 'CONTACT_NOT_FOUND']);
  return completed(begun.body.jobId);
}

const completed = (id: string) =>
  waitFor('the erasure', async () => {
    const { body } = await call('GET', `/erasures/${id}`);
    return body.state === 'completed' && body;
  });

const file = { filename: 'a.txt', content: Buffer.from('hello').toString('base64') };

/** Creates a workflow in which contacts wait. */
async function waiting(eventName: string): Promise<string> {
  const { body } = await call('POST', '/workflows', {
    name: 'W',
    enabled: true,
    graph: {
      trigger: { type: 'EVENT', config: { eventName } },
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'wait', type: 'DELAY', name: 'Wait', config: { amount: 1, unit: 'days' } },
      ],
      transitions: [{ from: 'trigger', to: 'wait' }],
    },
  });
  return body.id;
}

describe('erasing a contact', () => {
  it('removes all it has, with a receipt that can be checked', async () => {
    const email = newAddress();
    const workflowId = await waiting('erase_me');
    await send(email, { attachments: [{ ...file, contentType: 'text/plain' }] });
    await send(email);
    await track(email, 'erase_me');
    await engine.mailsTo(email, 2);
    const { id } = await found(email);
    const execution = await waitFor('the execution to wait', async () => {
      const { body } = await call('GET', `/workflows/${workflowId}/executions?status=WAITING`);
      return body.executions[0];
    });
    const erasure = await erase(id);
    expect(erasure.counts).toMatchObject({
      contact: 1,
      emails: 2,
      attachments: 1,
      executions: 1,
      mailbox: 2,
      suppression: 1,
      otherEmails: 0,
    });
    expect(erasure.counts.events).toBeGreaterThanOrEqual(1);
    const { requestedAt, at, counts } = erasure;
    const text = JSON.stringify({ id: erasure.id, requestedAt, at, counts });
    expect(erasure.receiptHash).toBe(createHash('sha256').update(text).digest('hex'));
    const mailbox = await api.request('GET', `/local/mailbox?to=${encodeURIComponent(email)}`);
    expect(mailbox.body).toEqual([]);
    expect((await call('GET', `/workflows/${workflowId}/executions`)).body.total).toBe(0);
    const run = engine.temporal.client.workflow.getHandle(`execution-${execution.id}`);
    await waitFor(
      'the end of the run',
      async () => (await run.describe()).status.name !== 'RUNNING',
    );
    const other = await api.createProject((await api.signUp()).cookie);
    const foreign = await api.request('GET', `/erasures/${erasure.id}`, { key: other.secretKey });
    expect(codeOf(foreign)).toEqual([404, 'ERASURE_NOT_FOUND']);
    expect(codeOf(await call('POST', `/contacts/${id}/erase`))).toEqual([404, 'CONTACT_NOT_FOUND']);
  });

  it('removes the address where others name it, and answers repeats as before', async () => {
    const email = newAddress();
    const other = newAddress();
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await send(email, {}, key);
    const [{ contact }] = first.body.data.emails;
    // The second row has too much data.
    const csv = `email,note\n${other},x\n${email},"${'x'.repeat(66_000)}"\n`;
    const jobId = await importFile(engine, csv);
    const job = await endOfJob(engine, jobId);
    expect(job.result.errors).toMatchObject([{ row: 3, email }]);
    await engine.mailsTo(email, 1);
    const { body: custom } = await call('POST', '/contacts', { email: `old-${other}` });
    await send(`old-${other}`);
    await sql`update email set to_email = ${email}, to_name = 'Ada' where contact_id = ${custom.id}`.execute(
      api.db,
    );
    const erasure = await erase(contact.id);
    expect(erasure.counts).toMatchObject({ jobErrors: 1, idempotency: 1, otherEmails: 1 });
    const again = await send(email, {}, key);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body.data.emails).toEqual([
      { ...first.body.data.emails[0], contact: { ...contact, email: erasedAddress } },
    ]);
    expect((await endOfJob(engine, jobId)).result.errors[0].email).toBe(erasedAddress);
    const { body: kept } = await call('GET', `/emails?contactId=${custom.id}`);
    expect(kept.data[0]).toMatchObject({ toEmail: erasedAddress, subject: '(erased)' });
    const paths = [
      '/emails',
      '/events',
      '/activity',
      '/suppression-list',
      `/erasures/${erasure.id}`,
      `/contacts/import/${jobId}`,
    ];
    for (const path of paths) {
      expect(JSON.stringify((await call('GET', path)).body)).not.toContain(email);
    }
    await track(email);
    expect((await found(email)).subscribed).toBe(false);
    expect((await entryOf(email)).body).toMatchObject({ hashed: true, reason: 'erased' });
  });

  it('waits for mail of others to the address that is being handed over', async () => {
    const [email, other] = [newAddress(), newAddress()];
    await track(email);
    const sent = await send(other);
    const [{ email: id }] = sent.body.data.emails;
    // The outcome is recorded after the mail arrives.
    await waitFor('the mail', async () => (await call('GET', `/emails/${id}`)).body.deliveredAt);
    const set = (status: string, leaseUntil: Date | null) =>
      writeMail(api.db, (tx) =>
        sql`update email set to_email = ${email}, status = ${status}, lease_until = ${leaseUntil}
        where id = ${id}`.execute(tx),
      );
    await set('SENDING', new Date(Date.now() + 60_000));
    const begun = await call('POST', `/contacts/${(await found(email)).id}/erase`);
    await waitFor('the run to wait for it', async () => {
      const row = await api.db
        .selectFrom('erasure')
        .select('position')
        .where('id', '=', begun.body.jobId)
        .where('task', '=', 'otherEmails')
        .executeTakeFirst();
      return row?.position != null;
    });
    await set('DELIVERED', null);
    expect((await completed(begun.body.jobId)).counts).toMatchObject({ otherEmails: 1 });
  });

  it('leaves no entry where that is not wanted, and hashes the one that is there', async () => {
    const [email, listed] = [newAddress(), newAddress()];
    await track(email);
    expect((await erase((await found(email)).id, { suppress: false })).counts.suppression).toBe(0);
    await track(email);
    expect((await found(email)).subscribed).toBe(true);
    await track(listed);
    await call('POST', '/suppression-list', { emails: [listed], scope: 'all' });
    expect((await erase((await found(listed)).id, { suppress: false })).counts.suppression).toBe(1);
    expect((await entryOf(listed)).body).toMatchObject({
      hashed: true,
      reason: 'manual',
      scope: 'all',
      emailId: null,
    });
  });

  it('keeps mail from being sent that waits', async () => {
    const email = newAddress();
    const at = new Date(Date.now() + 1_500).toISOString();
    const { body } = await send(email, { scheduledFor: at });
    const [{ email: emailId, contact }] = body.data.emails;
    expect((await erase(contact.id)).counts).toMatchObject({ emails: 1, mailbox: 0 });
    expect((await call('GET', `/emails/${emailId}`)).status).toBe(404);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const mailbox = await api.request('GET', `/local/mailbox?to=${encodeURIComponent(email)}`);
    expect(mailbox.body).toEqual([]);
  });

  it('leaves addresses that only contain the erased one', async () => {
    const email = newAddress();
    const longer = `x${email}`;
    const jobId = await importFile(engine, `email,note\n${longer},"${'x'.repeat(66_000)}"\n`);
    await endOfJob(engine, jobId);
    await track(email);
    await erase((await found(email)).id);
    expect((await endOfJob(engine, jobId)).result.errors[0].email).toBe(longer);
  });
});

describe('an erasure whose worker is killed in the middle', () => {
  it('goes on where it was, and counts nothing twice', async () => {
    const email = newAddress();
    await track(email);
    const { id } = await found(email);
    await sql`insert into event (project_id, contact_id, name)
      select ${engine.project.id}, ${id}, 'many' from generate_series(1, 9000)`.execute(api.db);
    await engine.stopWorker();
    const begun = await call('POST', `/contacts/${id}/erase`);
    const { jobId } = begun.body;
    expect((await call('GET', `/erasures/${jobId}`)).body).toMatchObject({
      state: 'waiting',
      counts: null,
      receiptHash: null,
      at: null,
    });
    // A worker that died had deleted two pages of the events.
    for (let page = 0; page < 4; page += 1) {
      await recordErasurePage(api.db, api.services.cipher, jobId);
    }
    expect((await call('GET', `/erasures/${jobId}`)).body.state).toBe('active');
    await engine.startWorker();
    const { counts } = await completed(jobId);
    expect(counts).toMatchObject({ contact: 1, events: 9001 });
  });

  it('is begun again by the sweep when its run is lost', async () => {
    const email = newAddress();
    await track(email);
    await engine.stopWorker();
    const { body } = await call('POST', `/contacts/${(await found(email)).id}/erase`);
    const run = engine.temporal.client.workflow.getHandle(`erase-${body.jobId}`);
    await waitFor('the run', async () => (await run.describe().catch(() => null)) !== null);
    await run.terminate('lost');
    await sql`update erasure set touched_at = now() - interval '11 minutes'
      where id = ${body.jobId}`.execute(api.db);
    await tasksOf(api, {}).SIGNAL_STALLED_RUNS();
    await engine.startWorker();
    expect((await completed(body.jobId)).counts.contact).toBe(1);
  });
});

describe('the export of a contact', () => {
  it('has all that is stored of it', async () => {
    const email = newAddress();
    await send(email, { attachments: [{ ...file, contentType: 'text/plain' }], subscribed: true });
    await send(email);
    await engine.mailsTo(email, 2);
    await waiting('export_me');
    await track(email, 'export_me');
    const contact = await found(email);
    await call('PATCH', `/contacts/${contact.id}`, { subscribed: false });
    const { body: segment } = await call('POST', '/segments', { name: 'S', type: 'STATIC' });
    await call('POST', `/segments/${segment.id}/members`, { emails: [email] });
    await call('POST', '/suppression-list', { emails: [email] });
    const { status, headers, body } = await call('GET', `/contacts/${contact.id}/export`);
    expect(status).toBe(200);
    expect(headers.get('content-disposition')).toContain('attachment');
    expect(Object.keys(body)).toEqual([
      'exportedAt',
      'contact',
      'topics',
      'suppression',
      'segments',
      'consent',
      'events',
      'emails',
      'executions',
    ]);
    expect(body.contact).toEqual((await call('GET', `/contacts/${contact.id}`)).body);
    expect(body.topics).toEqual((await call('GET', `/contacts/${contact.id}/topics`)).body);
    expect(body.consent).toEqual((await call('GET', `/contacts/${contact.id}/consent`)).body);
    expect(body.suppression).toEqual((await entryOf(email)).body);
    expect(body.segments).toEqual([{ id: segment.id, name: 'S' }]);
    const names = body.events.map((event: { name: string }) => event.name);
    expect(names).toEqual(expect.arrayContaining(['export_me', 'email.sent', 'email.delivery']));
    expect(body.emails).toHaveLength(2);
    for (const mail of body.emails) {
      const { attachments, ...record } = mail;
      const { attachments: _, ...shown } = (await call('GET', `/emails/${mail.id}`)).body;
      expect(record).toEqual(shown);
      expect(record.body).toContain('Hi');
      expect(attachments.length).toBeLessThanOrEqual(1);
    }
    const files = body.emails.flatMap((mail: { attachments: object[] }) => mail.attachments);
    expect(files).toEqual([{ filename: 'a.txt', contentType: 'text/plain', size: 5 }]);
    expect(body.executions).toMatchObject([{ contactId: contact.id }]);
    expect(body.executions[0].stepExecutions.length).toBeGreaterThan(0);
    const other = await api.createProject((await api.signUp()).cookie);
    const foreign = await api.request('GET', `/contacts/${contact.id}/export`, {
      key: other.secretKey,
    });
    expect(codeOf(foreign)).toEqual([404, 'CONTACT_NOT_FOUND']);
  });
});
