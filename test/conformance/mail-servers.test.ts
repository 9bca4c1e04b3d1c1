import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { receiverHandler } from '../../api/services/receiver.ts';
import { startReceiver } from '../../providers/receiver.ts';
import { startFeedbackMailbox } from '../../workflows/client/runs.ts';
import { type Engine, useEngine } from '../support/engine.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import {
  useDovecot,
  useExim,
  useMaildir,
  usePort,
  usePostfix,
  whyWithout,
} from '../support/processes/mail-servers.ts';
import { use } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Real mail servers take the mail of Everpost, and report about it in their own words. Without
 * their Debian packages or without root, the report lists these tests as skipped, and says why.
 */

const domain = 'bounces.everpost.test';
/** Milliseconds for a server to hand on a mail, and its report. */
const reportMs = 60_000;

/** Sends a mail, and waits until it has a status. */
async function sendUntil(engine: Engine, to: string, wanted: string) {
  const mail = { to, from: `team@${engine.domain}`, subject: 'Hi', body: 'Hi' };
  const { body } = await engine.call('POST', '/v1/send', mail);
  const id = body.data.emails[0].email as string;
  return waitFor(
    `${to} to be ${wanted}`,
    async () => {
      const email = (await engine.call('GET', `/emails/${id}`)).body;
      return email.status === wanted ? email : null;
    },
    reportMs,
  );
}

const reasonOf = (email: { trace: { state: string; detail: Record<string, unknown> }[] }) =>
  email.trace.at(-1)?.detail;

describe('Postfix', () => {
  it('reports to the receiver what became of mail', async (context) => {
    const why = whyWithout('postfix');
    if (why) return context.skip(why);
    const [port, sink] = [
      await usePort(),
      await useSmtpSink({ refuseTo: (address) => (address.startsWith('gone') ? 550 : null) }),
    ];
    const engine = await useEngine({
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      SMTP_SUCCESS_REPORTS: 'true',
      RETURN_PATH_DOMAIN: domain,
      INBOUND_MIME_SECRET: 'a secret of the hook',
    });
    const handler = receiverHandler(engine.api.services);
    const receiver = use(await startReceiver({ port: 0, host: '127.0.0.1', tls: null }, handler));
    await usePostfix(port, { [domain]: receiver.port, 'people.test': sink.port });
    const gone = await sendUntil(engine, `gone-${randomUUID()}@people.test`, 'BOUNCED');
    expect(reasonOf(gone)).toMatchObject({ bounceType: 'Undetermined', source: 'smtp' });
    const delivered = await sendUntil(engine, 'ada@box.test', 'DELIVERED');
    expect(reasonOf(delivered)).toMatchObject({ source: 'smtp', status: '2.0.0' });
    // The last server reports nothing, so its acceptance is no delivery.
    const relayed = await sendUntil(engine, `ada-${randomUUID()}@people.test`, 'SENT');
    expect(relayed.deliveredAt).toBeNull();
  }, 180_000);
});

describe('Exim', () => {
  it('reports to a mailbox of Dovecot what became of mail', async (context) => {
    const why = whyWithout('exim4', 'dovecot');
    if (why) return context.skip(why);
    const [port, imapPort, mailbox, sink] = [
      await usePort(),
      await usePort(),
      await useMaildir(),
      await useSmtpSink({ refuseTo: (address) => (address.startsWith('gone') ? 550 : null) }),
    ];
    const password = 'imap-secret';
    const engine = await useEngine({
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      RETURN_PATH_DOMAIN: domain,
      FEEDBACK_IMAP_HOST: '127.0.0.1',
      FEEDBACK_IMAP_PORT: String(imapPort),
      FEEDBACK_IMAP_SECURE: 'false',
      FEEDBACK_IMAP_USER: 'bounce',
      FEEDBACK_IMAP_PASSWORD: password,
      FEEDBACK_IMAP_SECONDS: '1',
    });
    await useDovecot(imapPort, mailbox, password);
    await useExim(port, { 'people.test': sink.port }, { domain, folder: mailbox });
    await startFeedbackMailbox(engine.temporal.client, engine.taskQueue, { isChanged: true });
    const gone = await sendUntil(engine, `gone-${randomUUID()}@people.test`, 'BOUNCED');
    expect(reasonOf(gone)).toMatchObject({ source: 'imap' });
    const nowhere = await sendUntil(engine, `a@${randomUUID()}.invalid`, 'BOUNCED');
    expect(reasonOf(nowhere)).toMatchObject({ source: 'imap', bounceType: 'Undetermined' });
  }, 180_000);
});
