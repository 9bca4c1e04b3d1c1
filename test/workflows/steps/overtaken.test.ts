import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { releaseChunk } from '../../../db/campaigns/chunks.ts';
import { findCampaignWork } from '../../../db/campaigns/emails.ts';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import {
  recordDeliveryOutcomes,
  settleUncertainEmails,
} from '../../../db/transactions/mail/record-outcomes.ts';
import { pixelOf } from '../../support/pixel.ts';
import { useApi } from '../../support/api.ts';
import {
  insertClaimedEmail,
  insertTestCampaign,
  insertTestEmail,
} from '../../support/projects/mails.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Mail with another result recorded before its own outcome. */

const api = await useApi();
const { id: projectId } = await api.createProject((await api.signUp()).cookie);

/** Creates a message that a worker has claimed; of a campaign by its chunk. */
async function claimed(campaignId?: string) {
  const { id: contactId } = await api.db
    .insertInto('contact')
    .values({ project_id: projectId, email: `${randomUUID()}@people.test`, subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  const given = { projectId, contactId };
  const { emailId, attempt } = campaignId
    ? await insertClaimedEmail(api.db, { ...given, campaignId })
    : await claimedAlone(given);
  const record = (outcome: object) =>
    recordDeliveryOutcomes(api.db, {
      ...attempt,
      outcomes: [{ emailId, ...outcome } as DeliveryOutcome],
      claimed: [{ id: emailId, source_type: 'CAMPAIGN', billed_units: 1, allowance_month: null }],
    });
  return { emailId, attemptId: attempt.attemptIds[0]!, record };
}

async function claimedAlone(given: { projectId: string; contactId: string }) {
  const attemptId = randomUUID();
  const emailId = await insertTestEmail(api.db, given, {
    status: 'SENDING',
    message_id: null,
    sent_at: null,
    attempt_id: attemptId,
    attempts: 1,
    lease_until: new Date(Date.now() + 60_000),
    trace: JSON.stringify([{ state: 'handed_over', at: '2026-11-21T10:00:00.000Z' }]),
  });
  return { emailId, attempt: { projectId, attemptIds: [attemptId] } };
}

const accepted = { kind: 'accepted', messageId: 'from-the-answer', delivered: true };

const rowOf = async (id: string) => {
  const { opened_at, delivered_at, ...row } = await api.db
    .selectFrom('email')
    .select(['status', 'error', 'attempts', 'message_id', 'opened_at', 'delivered_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return { ...row, isOpened: opened_at !== null, isDelivered: delivered_at !== null };
};
const eventsOf = async (id: string) => {
  const events = api.db.selectFrom('event').select('name').where('email_id', '=', id);
  return (await events.execute()).map(({ name }) => name).toSorted();
};
const open = (id: string) => api.request('GET', pixelOf(api, id));

/** Settles mail that has been unknown for too long, as the sweep does. */
async function settleByPolicy(id: string, policy: 'fail' | 'resend'): Promise<void> {
  const past = new Date(Date.now() - 3_600_000);
  await writeMail(api.db, (tx) =>
    tx.updateTable('email').set({ lease_until: past }).where('id', '=', id).execute(),
  );
  await settleUncertainEmails(api.db, { settleMinutes: 15, policy, max: 100 });
}

describe('opened before the answer was recorded, a mail', () => {
  it('is delivered, too, and has the name the provider gave it', async () => {
    const campaignId = await insertTestCampaign(api.db, projectId);
    const { emailId, record } = await claimed(campaignId);
    await open(emailId);
    await record({ ...accepted, messageId: `m-${emailId}` });
    expect(await rowOf(emailId)).toMatchObject({
      status: 'OPENED',
      message_id: `m-${emailId}`,
      isDelivered: true,
    });
    const events = ['email.delivery', 'email.open', 'email.sent'];
    expect(await eventsOf(emailId)).toEqual(events);
    // Repeats the commit whose response was lost.
    await record({ ...accepted, messageId: `m-${emailId}` });
    expect(await eventsOf(emailId)).toEqual(events);
    const counts = ['sent_count', 'delivered_count', 'opened_count'] as const;
    const campaign = api.db.selectFrom('campaign').select(counts).where('id', '=', campaignId);
    expect(await campaign.executeTakeFirst()).toEqual({
      sent_count: 1,
      delivered_count: 1,
      opened_count: 1,
    });
  });
});

describe('settled by policy while its attempt knew the outcome, a mail', () => {
  it.each(['fail', 'resend'] as const)(
    'is sent once and counts as sent under %s',
    async (policy) => {
      const { emailId, record } = await claimed();
      await settleByPolicy(emailId, policy);
      expect((await rowOf(emailId)).status).toBe(policy === 'fail' ? 'FAILED' : 'PENDING');
      await record({ ...accepted, messageId: `m-${emailId}` });
      expect(await rowOf(emailId)).toMatchObject({
        status: 'DELIVERED',
        error: null,
        message_id: `m-${emailId}`,
      });
      expect(await eventsOf(emailId)).toEqual(['email.delivery', 'email.sent']);
      const attempt = { projectId, attemptId: randomUUID(), leaseSeconds: 60 };
      const due = await claimDueEmails(api.db, { ...attempt, max: 10, throttled: false });
      expect(due).toEqual([]);
    },
  );

  it('stays as it was when the attempt knows no more than that', async () => {
    const { emailId, record } = await claimed();
    await settleByPolicy(emailId, 'fail');
    await record({ kind: 'uncertain', error: 'No answer.' });
    expect(await rowOf(emailId)).toMatchObject({ status: 'FAILED', error: 'delivery_unknown' });
  });
});

it('a suppressed mail has not been sent, although its pixel is requested', async () => {
  const { emailId, record } = await claimed();
  await record({ kind: 'withheld', reason: 'contact_unsubscribed' });
  await open(emailId);
  expect(await rowOf(emailId)).toMatchObject({
    status: 'FAILED',
    error: 'contact_unsubscribed',
    attempts: 0,
    isOpened: false,
  });
  expect(await eventsOf(emailId)).toEqual([]);
});

it('a mail shows what its last try said, whole', async () => {
  const { emailId, attemptId, record } = await claimed();
  const content = { subject: 'Old', frame: 'f', values: ['old'] };
  await record({ kind: 'again', error: 'Later.', delayMs: 0, content });
  await writeMail(api.db, (tx) =>
    sql`update email set status = 'SENDING', lease_until = now() + interval '1 minute',
    attempt_id = ${attemptId} where id = ${emailId}`.execute(tx),
  );
  await record({ ...accepted, content: { subject: 'New', body: '<p>New</p>' } });
  const row = api.db
    .selectFrom('email')
    .select(['subject', 'body', 'body_template', 'body_values'])
    .where('id', '=', emailId);
  expect(await row.executeTakeFirst()).toEqual({
    subject: 'New',
    body: '<p>New</p>',
    body_template: null,
    body_values: null,
  });
});

describe('released after its campaign was cancelled, a mail', () => {
  it.each([
    ['that is still there', false],
    ['and deleted', true],
  ])('fails with it: %s', async (_, isDeleted) => {
    const campaignId = await insertTestCampaign(api.db, projectId, { status: 'CANCELLED' });
    const { emailId, attemptId } = await claimed(campaignId);
    if (isDeleted) await api.db.deleteFrom('campaign').where('id', '=', campaignId).execute();
    await releaseChunk(api.db, campaignId, attemptId);
    expect(await rowOf(emailId)).toMatchObject({
      status: 'FAILED',
      error: 'campaign_cancelled',
      attempts: 0,
    });
  });

  it('is due again where the campaign goes on', async () => {
    const campaignId = await insertTestCampaign(api.db, projectId);
    const { emailId, attemptId } = await claimed(campaignId);
    await releaseChunk(api.db, campaignId, attemptId);
    expect(await rowOf(emailId)).toMatchObject({ status: 'PENDING', attempts: 0 });
    expect(await findCampaignWork(api.db, campaignId)).toEqual({
      nextDueMs: 0,
      retryMs: null,
      isUnsettled: false,
      isRouted: false,
    });
  });
});
