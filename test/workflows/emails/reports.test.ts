import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { takeIncoming } from '../../../api/services/incoming-mail.ts';
import { receiverHandler } from '../../../api/services/receiver.ts';
import { feedbackMailboxIdOf } from '../../../domain/runs/runs.ts';
import { startReceiver } from '../../../providers/receiver.ts';
import { startFeedbackMailbox } from '../../../workflows/client/runs.ts';
import { useEngine } from '../../support/engine.ts';
import {
  complaint,
  deliveryStatus,
  plainBounce,
  type ReportedMail,
} from '../../support/fakes/reports.ts';
import { useImapServer } from '../../support/fakes/imap-server.ts';
import { useScriptedSmtp, useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import type { signedMessage } from '../../support/fakes/signed-message.ts';
import { postMessage, sendBySmtp } from '../../support/projects/incoming.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Mail by SMTP, and the reports about it by each way on which they may arrive. */

const secret = 'a secret of the hook';
const domain = 'bounces.everpost.test';
const [sink, imap] = [await useSmtpSink(), await useImapServer('reports', 'imap secret')];
const settings = {
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  RETURN_PATH_DOMAIN: domain,
  INBOUND_MIME_SECRET: secret,
  AUTO_PROJECT_DISABLE: 'false',
};
const engine = await useEngine({
  ...settings,
  FEEDBACK_IMAP_HOST: '127.0.0.1',
  FEEDBACK_IMAP_PORT: String(imap.port),
  FEEDBACK_IMAP_SECURE: 'false',
  FEEDBACK_IMAP_USER: 'reports',
  FEEDBACK_IMAP_PASSWORD: 'imap secret',
  FEEDBACK_IMAP_SECONDS: '1',
  FEEDBACK_IMAP_MOVE_TO: 'Done',
});
const { db } = engine.api;
const receiver = use(
  await startReceiver(
    { port: 0, host: '127.0.0.1', tls: null },
    receiverHandler(engine.api.services),
  ),
);

/** Sends a mail, and returns what a mail server knows of it. */
async function sendMail(
  to = `${randomUUID()}@mail.test`,
  content: object = { subject: 'Hi', body: 'Hi' },
): Promise<ReportedMail> {
  const from = `team@${engine.domain}`;
  const { body } = await engine.call('POST', '/v1/send', { to, from, ...content });
  const emailId = body.data.emails[0].email as string;
  await waitFor('the mail to be sent', async () => (await emailOf(emailId)).sent_at !== null);
  const sunk = sink.messages.find((message) => message.to === to);
  return { returnPath: sunk?.from ?? '', emailId, to };
}

const emailOf = (id: string) =>
  db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

const traceOf = async (id: string) =>
  (await engine.call('GET', `/emails/${id}`)).body.trace as {
    state: string;
    detail: Record<string, unknown> | null;
  }[];

const eventsOf = async ({ emailId }: ReportedMail) =>
  (
    await db
      .selectFrom('event')
      .select('name')
      .where('email_id', '=', emailId)
      .orderBy('recorded_at')
      .execute()
  ).map(({ name }) => name);

const bouncesOf = async ({ emailId }: ReportedMail) =>
  (
    await db
      .selectFrom('event')
      .select('data')
      .where('email_id', '=', emailId)
      .where('name', '=', 'email.bounce')
      .execute()
  ).map(({ data }) => data as Record<string, unknown>);

const bySmtp = (raw: string, to: string) => sendBySmtp(receiver.port, raw, { to });
const byHook = (raw: string, to: string, given?: Parameters<typeof signedMessage>[3]) =>
  postMessage(engine.api, secret, raw, to, given);

/** Delivers a message to the mailbox, and waits until it was taken. */
async function byMailbox(raw: string): Promise<void> {
  const { temporal, taskQueue } = engine;
  const before = imap.messagesIn('Done');
  imap.deliver(raw);
  await startFeedbackMailbox(temporal.client, taskQueue, { isChanged: true });
  await waitFor('the message to be moved', async () => imap.messagesIn('Done') > before);
  expect(imap.messagesIn('INBOX')).toBe(0);
}

const detailsOfMailboxRun = async () => {
  const { temporal, taskQueue } = engine;
  const run = temporal.client.workflow.getHandle(feedbackMailboxIdOf(taskQueue));
  const { currentDetails } = await run.query<{ currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  return currentDetails;
};

describe('the envelope sender', () => {
  it('differs from mail to mail, in RETURN_PATH_DOMAIN', async () => {
    const [first, second] = [await sendMail(), await sendMail()];
    expect(first.returnPath).not.toBe(second.returnPath);
    for (const { returnPath } of [first, second]) {
      expect(returnPath).toMatch(/^[a-z0-9+.=-]{1,64}@bounces\.everpost\.test$/);
    }
  });
});

describe('mail by SMTP', () => {
  it('stays SENT until its delivery is reported', async () => {
    const mail = await sendMail();
    const sent = await emailOf(mail.emailId);
    expect([sent.status, sent.delivered_at]).toEqual(['SENT', null]);
    expect(await eventsOf(mail)).toEqual(['email.sent']);
    await bySmtp(
      deliveryStatus(mail, { action: 'relayed', status: '2.0.0', diagnostic: '250 queued' }),
      mail.returnPath,
    );
    expect((await emailOf(mail.emailId)).status).toBe('SENT');
    await bySmtp(
      deliveryStatus(mail, { action: 'delivered', status: '2.0.0', diagnostic: '250 ok' }),
      mail.returnPath,
    );
    expect((await emailOf(mail.emailId)).status).toBe('DELIVERED');
    expect(await eventsOf(mail)).toEqual(['email.sent', 'email.delivery']);
    expect((await traceOf(mail.emailId)).at(-1)).toMatchObject({
      state: 'delivered',
      detail: { source: 'smtp', status: '2.0.0', text: '250 ok' },
    });
  });

  it('is announced in GET /config', async () => {
    const { body } = await engine.api.request('GET', '/config');
    expect(body.features.email).toMatchObject({
      mode: 'local',
      transport: 'smtp',
      feedback: 'dsn',
      deliveryReports: false,
    });
  });

  it('made from a template counts as delivered until it bounces', async () => {
    const template = await engine.call('POST', '/templates', {
      name: randomUUID(),
      subject: 'Hi',
      body: 'Hi',
      from: `team@${engine.domain}`,
      type: 'TRANSACTIONAL',
    });
    const { id } = template.body;
    const stats = async () => (await engine.call('GET', `/templates/${id}/stats`)).body.data;
    expect(await stats()).not.toHaveProperty('deliveryBasis');
    const mails = [];
    for (const _ of [1, 2]) mails.push(await sendMail(undefined, { template: id }));
    const mail = mails[0]!;
    await bySmtp(deliveryStatus(mail), mail.returnPath);
    expect(await stats()).toMatchObject({
      deliveredCount: 0,
      assumedDeliveredCount: 1,
      deliveryBasis: 'assumed',
      deliveryRate: 50,
      reachRate: 50,
    });
  });

  it('of a campaign counts as delivered until it bounces', async () => {
    const shop = await useEngine(settings);
    const to = await insertContacts(shop, 10);
    const campaignId = await createCampaign(shop);
    await act(shop, campaignId, 'send');
    await campaignIn(shop, campaignId, 'SENT');
    const rows = await shop.api.db
      .selectFrom('email')
      .select(['id', 'to_email'])
      .where('campaign_id', '=', campaignId)
      .execute();
    const stats = async () => {
      const { body } = await shop.call('GET', `/campaigns/${campaignId}/stats`);
      const { deliveredCount, assumedDeliveredCount, deliveryRate, deliveryBasis } = body.data;
      expect(body.data.reachRate).toBe(deliveryRate);
      return [deliveredCount, assumedDeliveredCount, deliveryRate, deliveryBasis];
    };
    expect(await stats()).toEqual([0, 10, 100, 'assumed']);
    const report = async (address: string | undefined, action: string, status: string) => {
      const { id = '' } = rows.find(({ to_email }) => to_email === address) ?? {};
      const returnPath = sink.messages.find((message) => message.to === address)?.from ?? '';
      const mail = { returnPath, emailId: id, to: address ?? '' };
      await takeIncoming(shop.api.services, 'mime', {
        raw: Buffer.from(deliveryStatus(mail, { action, status })),
        recipients: [returnPath],
        sender: '',
      });
    };
    await report(to[0], 'failed', '5.1.1');
    await report(to[1], 'failed', '5.1.1');
    await report(to[2], 'failed', '4.4.7');
    expect(await stats()).toEqual([0, 8, 80, 'assumed']);
    await report(to[3], 'delivered', '2.0.0');
    await report(to[3], 'delivered', '2.0.0');
    expect(await stats()).toEqual([1, 7, 80, 'mixed']);
  });

  it('of a campaign whose outcome was unknown counts as delivered once a report settles it', async () => {
    const lost = await useScriptedSmtp({ end: 'close' });
    const shop = await useEngine({ ...settings, SMTP_PORT: String(lost.port) });
    await insertContacts(shop, 3);
    const campaignId = await createCampaign(shop);
    await act(shop, campaignId, 'send');
    const rows = await waitFor('the unknown outcomes', async () => {
      const mails = await shop.api.db
        .selectFrom('email')
        .select(['id', 'to_email', 'status'])
        .where('campaign_id', '=', campaignId)
        .execute();
      const isUnknown = mails.length === 3 && mails.every(({ status }) => status === 'SENDING');
      return isUnknown ? mails : null;
    });
    for (const [index, action] of ['delayed', 'failed', 'delivered'].entries()) {
      const { id: emailId, to_email: to } = rows[index]!;
      const returnPath = shop.services.returnPaths.pathOf(emailId, shop.domain);
      const status = { delayed: '4.4.1', failed: '5.1.1', delivered: '2.0.0' }[action] ?? '';
      await takeIncoming(shop.api.services, 'smtp', {
        raw: Buffer.from(deliveryStatus({ returnPath, emailId, to }, { action, status })),
        recipients: [returnPath],
        sender: '',
      });
    }
    const { body } = await shop.call('GET', `/campaigns/${campaignId}/stats`);
    expect(body.data).toMatchObject({
      sentCount: 3,
      deliveredCount: 1,
      assumedDeliveredCount: 1,
      deliveryBasis: 'mixed',
    });
  });

  it('whose outcome is unknown is settled by any report', async () => {
    const lost = await useScriptedSmtp({ end: 'close' });
    const shop = await useEngine({
      ...settings,
      SMTP_PORT: String(lost.port),
      DELIVERY_SETTLE_MINUTES: '0',
    });
    const uncertainMail = async () => {
      const to = `${randomUUID()}@mail.test`;
      const { body } = await shop.call('POST', '/v1/send', {
        to,
        subject: 'Hi',
        body: 'Hi',
        from: `team@${shop.domain}`,
      });
      const emailId = body.data.emails[0].email as string;
      await waitFor('the unknown outcome', async () =>
        (await shopEmail(emailId)).trace.some(({ state }) => state === 'uncertain'),
      );
      return { returnPath: shop.services.returnPaths.pathOf(emailId, shop.domain), emailId, to };
    };
    const shopEmail = async (id: string) => {
      const { body } = await shop.call('GET', `/emails/${id}`);
      return body as { status: string; error: string | null; trace: { state: string }[] };
    };
    const report = async (mail: ReportedMail, action: string, status: string) =>
      takeIncoming(shop.api.services, 'smtp', {
        raw: Buffer.from(deliveryStatus(mail, { action, status })),
        recipients: [mail.returnPath],
        sender: '',
      });
    const [delayed, bounced] = [await uncertainMail(), await uncertainMail()];
    expect((await shopEmail(delayed.emailId)).status).toBe('SENDING');
    await report(delayed, 'delayed', '4.4.1');
    expect(await shopEmail(delayed.emailId)).toMatchObject({ status: 'SENT', error: null });
    await report(bounced, 'failed', '5.1.1');
    expect((await shopEmail(bounced.emailId)).trace.map(({ state }) => state).slice(-2)).toEqual([
      'settled',
      'bounced',
    ]);
    const late = await uncertainMail();
    await waitFor('the mail to be given up', async () => {
      await sweepNow(shop);
      return (await shopEmail(late.emailId)).error === 'delivery_unknown';
    });
    await report(late, 'delayed', '4.4.1');
    expect(await shopEmail(late.emailId)).toMatchObject({ status: 'SENT', error: null });
  });
});

describe('a permanent bounce', () => {
  it.each(['smtp', 'mime', 'imap'])(
    'by %s bounces the mail once, however it comes again',
    async (way) => {
      const mail = await sendMail();
      const raw = deliveryStatus(mail);
      const ways: Record<string, () => Promise<unknown>> = {
        smtp: () => bySmtp(raw, mail.returnPath),
        imap: () => byMailbox(raw),
        async mime() {
          const { body } = await byHook(raw, mail.returnPath);
          expect(body).toEqual({ success: true, result: 'report' });
        },
      };
      const { [way]: first, ...others } = ways;
      for (const take of [first, ...Object.values(others)]) await take?.();
      const email = await emailOf(mail.emailId);
      expect(email).toMatchObject({
        status: 'BOUNCED',
        error: `550 5.1.1 <${mail.to}>: Recipient address rejected`,
      });
      expect((await traceOf(mail.emailId)).at(-1)).toMatchObject({
        state: 'bounced',
        detail: { bounceType: 'Permanent', source: way, status: '5.1.1', text: email.error },
      });
      expect(await bouncesOf(mail)).toHaveLength(1);
      const { body } = await engine.call('GET', `/suppression-list/${mail.to}`);
      expect(body).toMatchObject({ email: mail.to, reason: 'hard_bounce' });
      const contact = await db
        .selectFrom('contact')
        .select('subscribed')
        .where('email', '=', mail.to)
        .executeTakeFirstOrThrow();
      expect(contact.subscribed).toBe(false);
    },
  );

  it('without a return path counts with the id of the mail and its recipient', async () => {
    const [mail, other] = [await sendMail(), await sendMail()];
    const postmaster = `postmaster@${domain}`;
    const stranger = deliveryStatus(mail, { recipient: other.to, sentTo: postmaster });
    await bySmtp(stranger, postmaster);
    expect((await emailOf(mail.emailId)).bounced_at).toBeNull();
    const sentTo = postmaster;
    await bySmtp(deliveryStatus(mail, { recipient: mail.to.toUpperCase(), sentTo }), postmaster);
    expect((await emailOf(mail.emailId)).status).toBe('BOUNCED');
  });

  it('to the return path of one mail is about no other mail', async () => {
    const [mail, other] = [await sendMail(), await sendMail()];
    await bySmtp(deliveryStatus({ ...other, to: mail.to }), mail.returnPath);
    expect((await emailOf(mail.emailId)).status).toBe('BOUNCED');
    expect((await emailOf(other.emailId)).bounced_at).toBeNull();
  });
});

describe('other reports', () => {
  it.each(['5.2.2', '5.7.1', '4.4.7'])('are transient: %s', async (status) => {
    const mail = await sendMail();
    for (const _ of [1, 2]) await bySmtp(deliveryStatus(mail, { status }), mail.returnPath);
    const email = await emailOf(mail.emailId);
    expect([email.status, email.error]).toEqual(['SENT', null]);
    // Two reports, but one entry.
    const bounced = (await traceOf(mail.emailId)).filter(({ state }) => state === 'bounced');
    expect(bounced).toMatchObject([{ detail: { bounceType: 'Transient', status } }]);
    expect(await bouncesOf(mail)).toMatchObject([
      { transientBounce: true },
      { transientBounce: true },
    ]);
  });

  it('of a delay are noted once', async () => {
    const mail = await sendMail();
    const { status } = await emailOf(mail.emailId);
    const delay = { action: 'delayed', status: '4.4.1', diagnostic: 'Connection timed out' };
    for (const _ of [1, 2]) await bySmtp(deliveryStatus(mail, delay), mail.returnPath);
    expect((await emailOf(mail.emailId)).status).toBe(status);
    const entries = (await traceOf(mail.emailId)).filter(({ state }) => state === 'delayed');
    expect(entries).toMatchObject([{ detail: { status: '4.4.1', text: 'Connection timed out' } }]);
  });

  it('of an unspecific status count by the code of their text', async () => {
    const mail = await sendMail();
    const diagnostic = '550 5.1.1 No such user';
    await bySmtp(deliveryStatus(mail, { status: '5.0.0', diagnostic }), mail.returnPath);
    expect((await traceOf(mail.emailId)).at(-1)?.detail).toMatchObject({ bounceType: 'Permanent' });
  });

  it('that are complaints unsubscribe, also when they are sent to another address', async () => {
    const mail = await sendMail();
    await bySmtp(complaint(mail, 'not-spam'), `fbl@${domain}`);
    expect((await emailOf(mail.emailId)).complained_at).toBeNull();
    await bySmtp(complaint(mail), `fbl@${domain}`);
    expect((await emailOf(mail.emailId)).status).toBe('COMPLAINED');
    expect((await traceOf(mail.emailId)).at(-1)).toMatchObject({
      state: 'complained',
      detail: { source: 'smtp', text: 'abuse' },
    });
  });

  it('that only people were to read are guesses', async () => {
    const mail = await sendMail();
    const reason = 'Sorry, no mailbox here by that name. (#5.1.1)';
    await bySmtp(plainBounce(mail, reason), mail.returnPath);
    expect((await traceOf(mail.emailId)).at(-1)).toMatchObject({
      state: 'bounced',
      detail: { bounceType: 'Permanent', guess: true, status: '5.1.1' },
    });
  });

  it('are ignored when they are automatic replies or from people', async () => {
    const mail = await sendMail();
    for (const header of ['Auto-Submitted: auto-replied', 'X-Any: 1']) {
      const raw = `From: ${randomUUID()}@mail.test\r\n${header}\r\nSubject: Re: Hi\r\n\r\n5.1.1`;
      const { status, body } = await byHook(raw, mail.returnPath);
      expect([status, body]).toEqual([200, { success: true, result: 'ignored' }]);
    }
    const people = await db.selectFrom('contact').select('email').execute();
    expect(people.filter(({ email }) => email !== mail.to && email.includes('reply'))).toEqual([]);
    expect((await emailOf(mail.emailId)).bounced_at).toBeNull();
  });
});

describe('the mailbox', () => {
  it('is read again after its server was away, and its run says why', async () => {
    const mail = await sendMail();
    imap.refuses = true;
    imap.deliver(deliveryStatus(mail));
    const { temporal, taskQueue } = engine;
    await startFeedbackMailbox(temporal.client, taskQueue, { isChanged: true });
    await waitFor('the failure to be shown', async () =>
      (await detailsOfMailboxRun()).startsWith('Not readable: '),
    );
    expect(await detailsOfMailboxRun()).not.toContain('imap secret');
    imap.refuses = false;
    await startFeedbackMailbox(temporal.client, taskQueue, { isChanged: true });
    await waitFor('the bounce', async () => (await emailOf(mail.emailId)).status === 'BOUNCED');
    await waitFor('the next look', async () =>
      (await detailsOfMailboxRun()).startsWith('Reading; '),
    );
  });
});

describe('the hook', () => {
  const raw = 'not a message';

  it('refuses a message without the signature, and one with a wrong signature', async () => {
    const unsigned = await engine.api.request('POST', '/webhooks/incoming/mime', { body: raw });
    expect([unsigned.status, unsigned.body.error.code]).toEqual([400, 'MISSING_SIGNATURE']);
    const wrong = [
      await byHook(raw, '', { headers: { 'Everpost-Signature': `t=1,v1=${'0'.repeat(64)}` } }),
      await byHook(raw, '', { headers: { 'Everpost-Signature': 'v1=00' } }),
      await byHook(raw, '', { at: Date.now() / 1000 - 360 }),
      await byHook(raw, 'a@x.test', { signedTo: 'b@x.test' }),
    ];
    expect(wrong.map(({ status, body }) => [status, body.error.code])).toEqual(
      wrong.map(() => [403, 'INVALID_SIGNATURE']),
    );
  });

  it('ignores what is no message, and refuses more than 10 MB', async () => {
    expect((await byHook(raw, '')).body).toEqual({ success: true, result: 'ignored' });
    expect((await byHook('', '')).body).toEqual({ success: true, result: 'ignored' });
    expect((await byHook('x'.repeat(10 * 1024 * 1024 + 1), '')).status).toBe(413);
  });

  it('finds the recipients in the headers when the request has none', async () => {
    const mail = await sendMail();
    expect((await byHook(deliveryStatus(mail), '')).body.result).toBe('report');
    expect((await emailOf(mail.emailId)).status).toBe('BOUNCED');
  });

  it('is closed without a secret', async () => {
    const other = await useEngine({}, { worker: false });
    const answer = await other.api.request('POST', '/webhooks/incoming/mime', { body: raw });
    expect([answer.status, answer.body.error.code]).toEqual([404, 'RESOURCE_NOT_FOUND']);
  });
});
