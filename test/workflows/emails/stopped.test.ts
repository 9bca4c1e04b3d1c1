import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordProviderFailures } from '../../../db/delivery/provider-circuit.ts';
import { providerFailuresMax } from '../../../domain/runs/retry.ts';
import {
  act,
  campaignIn,
  createCampaign,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/**
 * Mail that is claimed when it must no longer be sent, with a provider that takes seconds for each.
 */

const sink = await useSmtpSink({ replyMs: 3_000 });
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});
const { db } = engine.api;

beforeEach(async () => {
  await dropContacts(db);
  sink.begun.splice(0);
});

/** Begins a campaign of 60 mails. Returns it, once all 20 connections to the provider are busy. */
async function begin() {
  const to = await insertContacts(engine, 60);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await waitFor('the first mails to begin', async () => sink.begun.length >= 20);
  return { id, to };
}

/** Returns the mails that have begun more than a second after `at`. */
const late = (at: number) => sink.begun.filter((one) => one.at > at + 1_000).map(({ to }) => to);

describe('a campaign', () => {
  it.each([
    ['cancel', 'CANCELLED'],
    ['pause', 'PAUSED'],
  ] as const)('begins no mail a second after %s', async (change, status) => {
    const { id } = await begin();
    await act(engine, id, change);
    const answeredAt = Date.now();
    await campaignIn(engine, id, status);
    const statuses = await waitFor('the claims to be given back', async () => {
      const { PENDING: waiting, SENDING: claimed, ...ended } = await emailStatuses(engine, id);
      return claimed || (change === 'cancel' && waiting) ? null : { waiting, ...ended };
    });
    expect(late(answeredAt)).toEqual([]);
    const sent = sink.begun.length;
    expect(sent).toBeLessThan(60);
    expect(statuses).toEqual(
      change === 'cancel' ? { SENT: sent, FAILED: 60 - sent } : { SENT: sent, waiting: 60 - sent },
    );
    if (change === 'cancel') return;
    await act(engine, id, 'resume');
    await campaignIn(engine, id, 'SENT');
    expect(new Set(sink.begun.map(({ to }) => to)).size).toBe(60);
    expect(sink.begun).toHaveLength(60);
  });

  it('leaves a provider alone a second after it was found closed', async () => {
    const { id } = await begin();
    const provider = `smtp 127.0.0.1:${sink.port}`;
    const failures = { count: providerFailuresMax, isProbe: false, hasAccepted: false };
    await recordProviderFailures(db, provider, failures);
    const closedAt = Date.now();
    // No attempt is due while this test watches.
    await sql`update provider_circuit set next_probe_at = now() + interval '10 minutes'`.execute(
      db,
    );
    await waitFor('the claims to be given back', async () => {
      const { rows } = await sql<{ claimed: number }>`
        select count(*)::int as claimed from campaign_chunk
          where campaign_id = ${id} and attempt_id is not null`.execute(db);
      return rows[0]?.claimed === 0;
    });
    expect(late(closedAt)).toEqual([]);
    expect(sink.begun.length).toBeLessThan(60);
    await act(engine, id, 'cancel');
    await campaignIn(engine, id, 'CANCELLED');
    await db.deleteFrom('provider_circuit').execute();
  });

  it.each<[string, string, (contact: { id: string; email: string }) => Promise<unknown>]>([
    [
      'has unsubscribed',
      'contact_unsubscribed',
      ({ id }) => engine.call('PATCH', `/contacts/${id}`, { subscribed: false }),
    ],
    [
      'is on the suppression list',
      'suppressed',
      ({ email }) => engine.call('POST', '/suppression-list', { emails: [email] }),
    ],
    ['is being erased', 'erased', ({ id }) => engine.call('POST', `/contacts/${id}/erase`)],
  ])('begins no mail a second after its contact %s', async (_, reason, stop) => {
    const { id, to } = await begin();
    const begun = new Set(sink.begun.map((one) => one.to));
    const [email = ''] = to.filter((address) => !begun.has(address)).slice(-1);
    const contact = await db
      .selectFrom('contact')
      .select(['id', 'email'])
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    const answer = (await stop(contact)) as { status: number; body: { error?: unknown } };
    expect([answer.status < 300, answer.body.error]).toEqual([true, undefined]);
    await campaignIn(engine, id, 'SENT');
    expect(sink.begun.map((one) => one.to)).not.toContain(email);
    expect(sink.begun).toHaveLength(59);
    if (reason === 'erased') return;
    const { body } = await engine.call('GET', `/emails?campaignId=${id}&status=FAILED`);
    expect(body.data).toMatchObject([{ toEmail: email, error: reason }]);
  });
});

describe('mail of POST /v1/send', () => {
  it('does not begin a second after its address was suppressed', async () => {
    const to = await insertContacts(engine, 60);
    // All are due before the first is claimed, so a claim takes more than the connections can send.
    await engine.stopWorker();
    for (const part of [to.slice(0, 50), to.slice(50)]) {
      const { status } = await engine.call('POST', '/v1/send', {
        to: part,
        from: `a@${engine.domain}`,
        subject: 'Hi',
        body: '<p>Hi</p>',
      });
      expect(status).toBe(200);
    }
    await engine.startWorker();
    await waitFor('the first mails to begin', async () => sink.begun.length >= 20);
    const begun = new Set(sink.begun.map((one) => one.to));
    const claimed = await db
      .selectFrom('email')
      .select('to_email')
      .where('status', '=', 'SENDING')
      .where('to_email', 'in', to)
      .orderBy('id')
      .execute();
    const [email = ''] = claimed
      .map((row) => row.to_email)
      .filter((address) => !begun.has(address))
      .slice(-1);
    expect(email).not.toBe('');
    await engine.call('POST', '/suppression-list', { emails: [email], scope: 'all' });
    const failed = await waitFor('the end of the mail', async () => {
      const { body } = await engine.call('GET', `/emails?status=FAILED&to=${email}`);
      return body.data[0];
    });
    expect(failed).toMatchObject({ toEmail: email, error: 'suppressed' });
    await waitFor(
      'the other mails',
      async () => sink.messages.filter(({ to: one }) => to.includes(one)).length === 59,
    );
    expect(sink.begun.map((one) => one.to)).not.toContain(email);
  });
});
