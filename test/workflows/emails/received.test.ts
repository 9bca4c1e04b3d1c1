import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { receiverHandler } from '../../../api/services/receiver.ts';
import { startReceiver } from '../../../providers/receiver.ts';
import { startFeedbackMailbox } from '../../../workflows/client/runs.ts';
import { useEngine } from '../../support/engine.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { useImapServer } from '../../support/fakes/imap-server.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { postMessage, sendBySmtp } from '../../support/projects/incoming.ts';
import { use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Ordinary mail to domains that take it, by each way on which it may arrive. */

const secret = 'a secret of the hook';
const [sink, imap, dns] = [
  await useSmtpSink(),
  await useImapServer('mail', 'imap secret'),
  await useDnsServer(),
];
const engine = await useEngine({
  DNS_SERVERS: dns.address,
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  RETURN_PATH_HOST: 'mx.everpost.test',
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
  INBOUND_MIME_SECRET: secret,
  FEEDBACK_IMAP_HOST: '127.0.0.1',
  FEEDBACK_IMAP_PORT: String(imap.port),
  FEEDBACK_IMAP_SECURE: 'false',
  FEEDBACK_IMAP_USER: 'mail',
  FEEDBACK_IMAP_PASSWORD: 'imap secret',
  FEEDBACK_IMAP_MOVE_TO: 'Done',
});
const { api, domain } = engine;
const { db } = api;
const other = await api.createProject((await api.signUp()).cookie);
const handler = receiverHandler(api.services);
const receiver = use(await startReceiver({ port: 0, host: '127.0.0.1', tls: null }, handler));

const [own] = (await engine.call('GET', '/domains')).body as { id: string }[];
const takeMail = (inbound: boolean) => engine.call('PATCH', `/domains/${own?.id}`, { inbound });
await takeMail(true);

/** Adds a verified domain of the other project. */
async function addDomain(given: { inbound: boolean }): Promise<string> {
  const name = `${randomUUID()}.test`;
  const body = { domain: name, ...given };
  await api.request('POST', '/domains', { key: other.secretKey, body });
  return name;
}

interface Mail {
  from?: string;
  to?: string;
  headers?: string[];
  messageId?: string | null;
  body?: string;
}

/** A mail from a person, with its sender. */
function mailOf({
  from = `${randomUUID()}@people.test`,
  to = `hi@${domain}`,
  headers = [],
  messageId = `${randomUUID()}@people.test`,
  body = 'Hello',
}: Mail = {}) {
  const raw = [
    `From: =?utf-8?q?J=C3=BCrg?= <${from}>`,
    `To: ${to}`,
    'Subject: A question',
    ...(messageId === null ? [] : [`Message-ID: <${messageId}>`]),
    ...headers,
    'Content-Type: text/plain; charset=utf-8',
    '',
    body,
    '',
  ].join('\r\n');
  return { from, to, raw, messageId };
}

const bySmtp = ({ raw, from, to }: ReturnType<typeof mailOf>) =>
  sendBySmtp(receiver.port, raw, { from, to });
const byHook = async ({ raw, to }: { raw: string; to: string }) =>
  (await postMessage(api, secret, raw, to)).body.result as string;

async function byMailbox({ raw }: { raw: string }): Promise<void> {
  const before = imap.messagesIn('Done');
  imap.deliver(raw);
  await startFeedbackMailbox(engine.temporal.client, engine.taskQueue, { isChanged: true });
  await waitFor('the message to be moved', async () => imap.messagesIn('Done') > before);
}

/** Returns the received mails of a sender, with their events. */
const receivedFrom = (sender: string) =>
  db
    .selectFrom('email')
    .innerJoin('event', 'event.email_id', 'email.id')
    .innerJoin('contact', 'contact.id', 'email.contact_id')
    .selectAll('email')
    .select(['event.name', 'event.data', 'contact.subscribed', 'contact.email as contact'])
    .where('to_email', '=', sender)
    .orderBy('from_email')
    .execute();

/** Returns the reply of the receiver to a recipient. */
const replyTo = (to: string) =>
  bySmtp(mailOf({ to })).then(
    () => 250,
    (error: { responseCode: number }) => error.responseCode,
  );

describe('a received mail', () => {
  it.each(['smtp', 'mime', 'imap'])(
    'by %s makes its sender a contact and is one event, however it comes again',
    async (way) => {
      const mail = mailOf({ body: 'Dear <team>,\r\nhello' });
      const ways: Record<string, () => Promise<unknown>> = {
        smtp: () => bySmtp(mail),
        mime: async () => expect(await byHook(mail)).toBe('received'),
        imap: () => byMailbox(mail),
      };
      const { [way]: first, ...others } = ways;
      for (const take of [first, ...Object.values(others)]) await take?.();
      const rows = await receivedFrom(mail.from);
      expect(rows).toMatchObject([
        {
          source_type: 'INBOUND',
          status: 'RECEIVED',
          from_email: `hi@${domain}`,
          to_name: 'Jürg',
          subject: 'A question',
          message_id: mail.messageId,
          subscribed: true,
          contact: mail.from,
          name: 'email.received',
        },
      ]);
      expect(rows[0]?.data).toEqual({
        messageId: mail.messageId,
        from: mail.from,
        fromHeader: `"Jürg" <${mail.from}>`,
        to: `hi@${domain}`,
        subject: 'A question',
        timestamp: expect.stringMatching(/^20\d\d-.*Z$/),
        recipients: [`hi@${domain}`],
        hasContent: true,
        body: '<p>Dear &lt;team&gt;,<br>\nhello</p>',
        spamVerdict: 'DISABLED',
        virusVerdict: 'DISABLED',
        spfVerdict: 'DISABLED',
        dkimVerdict: 'DISABLED',
        dmarcVerdict: 'DISABLED',
        processingTimeMillis: null,
      });
    },
  );

  it('to several projects shows each of them only its own recipients', async () => {
    const [second, closed] = [
      await addDomain({ inbound: true }),
      await addDomain({ inbound: false }),
    ];
    const { from, raw } = mailOf();
    const to = [`a@${domain}`, `b@${domain}`, `c@${second}`, `d@${closed}`].join(', ');
    expect(await byHook({ raw, to })).toBe('received');
    const rows = await receivedFrom(from);
    const seen = rows.map(({ from_email: address, data }) => [
      address,
      (data as { recipients: string[] }).recipients,
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      [`a@${domain}`]: [`a@${domain}`, `b@${domain}`],
      [`b@${domain}`]: [`a@${domain}`, `b@${domain}`],
      [`c@${second}`]: [`c@${second}`],
    });
  });

  it('without a Message-ID is kept once', async () => {
    const mail = mailOf({ messageId: null });
    for (const _ of [1, 2]) await bySmtp(mail);
    expect(await receivedFrom(mail.from)).toMatchObject([
      { message_id: expect.stringMatching(/^[\w-]{43}$/) },
    ]);
  });

  it('is ignored if it is an automatic reply, or if its sender is null or cannot be read', async () => {
    const reply = mailOf({ headers: ['Auto-Submitted: auto-replied'] });
    const nobody = mailOf({ headers: ['Return-Path: <>'] });
    for (const mail of [reply, nobody]) {
      expect(await byHook(mail)).toBe('ignored');
      expect(await receivedFrom(mail.from)).toEqual([]);
    }
    const { to } = reply;
    expect(await byHook({ to, raw: `From: nobody\r\nTo: ${to}\r\n\r\nHi` })).toBe('ignored');
    const unsigned = mailOf();
    await sendBySmtp(receiver.port, unsigned.raw, { from: '', to });
    expect(await receivedFrom(unsigned.from)).toEqual([]);
  });

  it('to a return path of the domain is none: only reports go there', async () => {
    const to = api.services.returnPaths.pathAt(randomUUID(), domain);
    const mail = mailOf({ to });
    expect(await replyTo(to)).toBe(250);
    expect(await byHook(mail)).toBe('ignored');
    expect(await receivedFrom(mail.from)).toEqual([]);
  });
});

describe('the receiver', () => {
  it('takes mail to a domain from the request on that asks for it', async () => {
    await takeMail(false);
    expect(await replyTo(`hi@${domain}`)).toBe(550);
    await takeMail(true);
    expect(await replyTo(`Anything@${domain.toUpperCase()}`)).toBe(250);
    expect(await replyTo(`hi@${randomUUID()}.test`)).toBe(550);
    expect(await replyTo('x@gmail.example')).toBe(550);
  });

  it('takes return paths in any case, and refuses those with a wrong proof', async () => {
    const path = api.services.returnPaths.pathAt(randomUUID(), 'bounces.everpost.test');
    expect(await replyTo(path)).toBe(250);
    expect(await replyTo(path.toUpperCase())).toBe(250);
    const at = path.indexOf('@') - 1;
    const changed = path[at] === '0' ? '1' : '0';
    expect(await replyTo(path.slice(0, at) + changed + path.slice(at + 1))).toBe(550);
  });

  it('refuses mail to a domain that is not verified', async () => {
    await db.updateTable('domain').set({ status: 'failed' }).where('name', '=', domain).execute();
    expect(await replyTo(`hi@${domain}`)).toBe(550);
    await db.updateTable('domain').set({ status: 'verified' }).where('name', '=', domain).execute();
  });

  it('takes reports to postmaster, abuse and fbl of each host of return paths', async () => {
    const name = `${randomUUID()}.dev`;
    const { body } = await engine.call('POST', '/domains', { domain: name });
    expect(await replyTo(`fbl@bounces.${name}`)).toBe(550);
    dns.publish(`bounces.${name}`, 'MX', { exchange: 'mx.everpost.test', preference: 10 });
    await engine.call('GET', `/domains/${body.id}/verify`);
    for (const host of ['bounces.everpost.test', 'mx.everpost.test', `bounces.${name}`]) {
      for (const mailbox of ['postmaster', 'abuse', 'fbl']) {
        expect(await replyTo(`${mailbox}@${host}`)).toBe(250);
      }
      expect(await replyTo(`hi@${host}`)).toBe(550);
    }
  });
});
