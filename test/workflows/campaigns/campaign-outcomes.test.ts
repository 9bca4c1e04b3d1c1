import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { holdoutSlot } from '../../../db/projects/holdout.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { claimCampaignEmails } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { foldCampaignTally } from '../../../db/campaigns/tally.ts';
import { transact } from '../../../db/database.ts';
import { holdByHand } from '../../../db/restores/restores.ts';
import { decideMail } from '../../../db/transactions/restores/decide-mail.ts';
import { holdChunks, holdMail } from '../../../db/transactions/restores/hold-mail.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import { findReportedMessages } from '../../../db/transactions/mail/reports.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { reasonCodes } from '../../../domain/outcomes/outcome.ts';
import { useEngine } from '../../support/engine.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
} from '../../support/histories/executions.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Every reason why a contact got no mail occurs, and is the same in every place of the API. */

let refuseTo: (address: string) => number | null = () => null;
const sink = await useSmtpSink({ refuseTo: (address) => refuseTo(address) });
const stripe = await useFakeStripe();
const engine = await useEngine({
  ...stripe.environment,
  FREE_TIER_EMAILS_PER_MONTH: '60',
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
});
const { db } = engine.api;
const projectId = engine.project.id;
const retryMs = engine.services.retryMs;

beforeEach(async () => {
  refuseTo = () => null;
  engine.services.retryMs = retryMs;
  await deleteContacts(engine);
  await policy({ caps: [], quietHours: null, onCap: 'skip' });
});

const seen = new Set<string>();
const contacts = (count: number, given: object = {}) =>
  Promise.all(Array.from({ length: count }, () => createContact(engine, newAddress(), given)));

async function policy(given: object): Promise<void> {
  const { status, body } = await engine.call('PUT', '/send-policy', given);
  expect([status, body]).toEqual([200, expect.anything()]);
}

/** Freezes a campaign; without a worker none of its mail is handed over. */
async function frozen(given: object = {}, send: object = {}): Promise<string> {
  await rest();
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send', send);
  if ('localTime' in send)
    await sql`update campaign set status = 'SENDING', frozen_at = now(),
    zone_policy = '{"timeZone": "UTC", "contactTimeZoneField": "data.timeZone"}' where id = ${id}`.execute(
      db,
    );
  while ((await freezeCampaign(db, { projectId, campaignId: id })).isMore);
  return id;
}

let isWorking = true;
async function work(): Promise<void> {
  if (!isWorking) await engine.startWorker();
  isWorking = true;
}
async function rest(): Promise<void> {
  await engine.stopWorker();
  isWorking = false;
}

async function finished(id: string) {
  await work();
  await campaignIn(engine, id, 'SENT');
}

const statsOf = async (id: string) =>
  (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;
const recipientOf = async (id: string, contactId: string) =>
  (await engine.call('GET', `/campaigns/${id}/recipients/${contactId}`)).body;
const sum = (numbers: Record<string, number>) =>
  Object.values(numbers).reduce((one, other) => one + other, 0);

/** Returns the stats of a campaign, and checks their sums. */
async function summed(id: string) {
  const stats = await statsOf(id);
  expect(sum(stats.outcomes)).toBe(stats.totalRecipients);
  expect(sum(stats.reasons)).toBe(stats.totalRecipients - stats.outcomes.sent);
  expect(Object.values({ ...stats.outcomes, ...stats.reasons }).every((n) => Number(n) >= 0)).toBe(
    true,
  );
  expect(Object.values(stats.reasons)).not.toContain(0);
  expect(stats.uncertainCount).toBe(stats.outcomes.unknown);
  return stats;
}

interface Told {
  id: string;
  contactId: string;
  outcome: string;
  reasonCode: string | null;
}

/** Checks that one mail is the same everywhere. */
async function told(mail: Told, campaignId: string | null) {
  const { outcome, reasonCode } = mail;
  const same = { outcome, reasonCode };
  expect((await engine.call('GET', `/emails/${mail.id}`)).body).toMatchObject(same);
  if (campaignId) expect(await recipientOf(campaignId, mail.contactId)).toMatchObject(same);
  const { body } = await engine.call(
    'GET',
    `/contacts/${mail.contactId}/timeline?types=email,not_reached`,
  );
  const entry = body.data.find(
    ({ links }: { links: { email?: string } }) => links.email === mail.id,
  );
  expect(entry.detail.reasonCode).toBe(reasonCode);
  const isOut = outcome === 'withheld' || outcome === 'failed';
  expect(entry.type).toBe(isOut ? 'not_reached' : 'email');
  if (isOut) expect(entry.detail.reason).toBe(outcome === 'failed' ? 'refused' : 'withheld');
  if (reasonCode !== null) seen.add(reasonCode);
}

/**
 * Checks that stats, list, recipients and timelines agree about all mail of a campaign. Returns the
 * reasons, by contact.
 * @param gone reasons of recipients whose contacts are deleted.
 */
async function agreed(id: string, gone: Record<string, number> = {}) {
  const stats = await summed(id);
  const { body } = await engine.call('GET', `/emails?campaignId=${id}&limit=100`);
  const mails = body.data as Told[];
  const counted: Record<string, number> = { ...gone };
  const outcomes: Record<string, number> = {};
  for (const mail of mails) {
    await told(mail, id);
    outcomes[mail.outcome] = (outcomes[mail.outcome] ?? 0) + 1;
    if (mail.reasonCode) counted[mail.reasonCode] = (counted[mail.reasonCode] ?? 0) + 1;
  }
  expect(stats.reasons).toEqual(counted);
  expect(stats.totalRecipients).toBe(mails.length + sum(gone));
  if (sum(gone) === 0) {
    const none = { sent: 0, failed: 0, withheld: 0, held: 0, pending: 0, unknown: 0 };
    expect(stats.outcomes).toEqual({ ...none, ...outcomes });
  }
  while (await foldCampaignTally(db));
  expect((await summed(id)).reasons).toEqual(stats.reasons);
  return Object.fromEntries(mails.map(({ contactId, reasonCode }) => [contactId, reasonCode]));
}

async function report(emailId: string, feedback: Feedback) {
  const given = { emailId, messageId: null, acceptedAt: null, receipt: null, feedback: [feedback] };
  await transact(db, async (tx) => {
    const found = (await findReportedMessages(tx, [given])).filter((one) => one !== null);
    await recordFeedback(tx, found, { judge: null });
  });
}

describe('a campaign', { timeout: 120_000 }, () => {
  it('says who still waits for it, before it begins, while it is paused and when it is cancelled', async () => {
    const [one] = await contacts(3);
    const [out] = await contacts(1, { subscribed: false });
    await rest();
    const id = await createCampaign(engine);
    expect(await summed(id)).toMatchObject({ reasons: { awaiting_start: 3 }, leftOut: null });
    expect(await recipientOf(id, one!)).toMatchObject({
      outcome: 'pending',
      reasonCode: 'awaiting_start',
    });
    seen.add('awaiting_start');
    const later = await createCampaign(engine);
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    await act(engine, later, 'send', { scheduledFor });
    expect(await summed(later)).toMatchObject({ reasons: { awaiting_start: 3 } });
    await act(engine, later, 'cancel');
    expect(await summed(later)).toMatchObject({
      reasons: { campaign_cancelled: 3 },
      leftOut: null,
    });
    await act(engine, id, 'send');
    expect(await summed(id)).toMatchObject({ outcomes: { pending: 3 }, reasons: { queued: 3 } });
    expect(await recipientOf(id, one!)).toMatchObject({ outcome: 'pending', reasonCode: 'queued' });
    await freezeCampaign(db, { projectId, campaignId: id });
    expect(await summed(id)).toMatchObject({
      leftOut: { unsubscribed_at_freeze: 1, topic_unsubscribed_at_freeze: 0 },
    });
    await agreed(id);
    await act(engine, id, 'pause');
    expect(await agreed(id)).toMatchObject({ [one!]: 'campaign_paused' });
    const after = 'unsubscribed_at_freeze';
    expect(await recipientOf(id, out!)).toMatchObject({
      outcome: null,
      reasonCode: after,
      reason: after,
    });
    await act(engine, id, 'cancel');
    await work();
    await waitFor('the mail to fail', async () => (await summed(id)).outcomes.withheld === 3);
    expect(await agreed(id)).toMatchObject({ [one!]: 'campaign_cancelled' });
  });

  it('says of each recipient why it was withheld, once it looks at its mail', async () => {
    const topic = { key: `t-${randomUUID().slice(0, 8)}`, name: 'T', default: 'subscribed' };
    const { body } = await engine.call('POST', '/topics', topic);
    const [fine, out, left, bad, capped, by] = await contacts(6);
    await policy({ caps: [{ max: 1, perDays: 1 }] });
    await finished(
      await frozen({
        audienceType: 'FILTERED',
        audienceCondition: {
          logic: 'AND',
          groups: [
            { filters: [{ field: 'email', operator: 'equals', value: await addressOf(capped!) }] },
          ],
        },
      }),
    );
    const id = await frozen({ topicId: body.id });
    await engine.call('PATCH', `/contacts/${out}`, { subscribed: false });
    await engine.call('PUT', `/contacts/${left}/topics`, { topics: { [topic.key]: false } });
    await engine.call('POST', '/suppression-list', { emails: [await addressOf(bad!)] });
    const { body: mail } = await engine.call('GET', `/emails?campaignId=${id}&contactId=${by}`);
    await engine.call('DELETE', `/emails/${mail.data[0].id}`);
    await finished(id);
    expect(await agreed(id)).toEqual({
      [fine!]: null,
      [out!]: 'contact_unsubscribed',
      [left!]: 'topic_unsubscribed',
      [bad!]: 'suppressed',
      [capped!]: 'frequency_cap',
      [by!]: 'cancelled',
    });
    expect(await statsOf(id)).toMatchObject({ deliveryRate: 100, reachRate: (1 / 6) * 100 });
  });

  it('says that a contact was left out which opted out while the audience was being fixed', async () => {
    const { body: topic } = await engine.call('POST', '/topics', {
      name: 'Being fixed',
      key: 'being-fixed',
      default: 'subscribed',
    });
    const [one, out, left, back] = await contacts(4);
    await engine.call('PATCH', `/contacts/${back}`, { subscribed: false });
    await rest();
    const id = await createCampaign(engine, { topicId: topic.id });
    await act(engine, id, 'send');
    const choose = (contactId: string, subscribed: boolean) =>
      engine.call('PUT', `/contacts/${contactId}/topics`, { topics: { [topic.key]: subscribed } });
    await engine.call('PATCH', `/contacts/${out}`, { subscribed: false });
    await choose(left!, false);
    await engine.call('PATCH', `/contacts/${back}`, { subscribed: true });
    while ((await freezeCampaign(db, { projectId, campaignId: id })).isMore);
    await engine.call('PATCH', `/contacts/${out}`, { subscribed: true });
    await choose(left!, true);
    expect(Object.keys(await agreed(id)).toSorted()).toEqual([one, back].toSorted());
    expect((await statsOf(id)).leftOut).toEqual({
      unsubscribed_at_freeze: 1,
      topic_unsubscribed_at_freeze: 1,
    });
    const reasons = { [out!]: 'unsubscribed_at_freeze', [left!]: 'topic_unsubscribed_at_freeze' };
    for (const [contactId, reason] of Object.entries(reasons)) {
      expect(await recipientOf(id, contactId)).toMatchObject({ included: false, reason });
      const timeline = `/contacts/${contactId}/timeline?types=not_reached`;
      const { body } = await engine.call('GET', timeline);
      expect(body.data.map((entry: { detail: object }) => entry.detail)).toEqual([
        expect.objectContaining({ reason }),
      ]);
    }
    await finished(id);
  });

  it('counts mail that is held back until the policy lets it go', async () => {
    const [quiet] = await contacts(1);
    const hour = (shift: number) =>
      new Date(Date.now() + shift * 3_600_000).toISOString().slice(11, 16);
    await policy({
      timeZone: 'UTC',
      quietHours: { from: hour(-1), to: hour(1) },
    });
    const id = await frozen();
    await work();
    await waitFor('the hold', async () => (await summed(id)).heldCount === 1);
    expect(await agreed(id)).toEqual({ [quiet!]: 'quiet_hours' });
    await act(engine, id, 'pause');
    expect(await agreed(id)).toEqual({ [quiet!]: 'campaign_paused' });
    expect(await statsOf(id)).toMatchObject({ heldCount: 1, outcomes: { held: 0, pending: 1 } });
    await act(engine, id, 'resume');
    await policy({
      quietHours: null,
      caps: [{ max: 1, perDays: 1 }],
      onCap: 'delay',
    });
    await campaignIn(engine, id, 'SENT');
    expect(await agreed(id)).toEqual({ [quiet!]: null });
    const next = await frozen();
    await work();
    await waitFor('the hold', async () => (await summed(next)).heldCount === 1);
    expect(await agreed(next)).toEqual({ [quiet!]: 'frequency_cap' });
    await act(engine, next, 'cancel');
  });

  it('says who waits for the decision of an experiment', async () => {
    await contacts(12);
    const rules = { testPercent: 30, decideAfterSeconds: 3_600, metric: 'human_click' };
    const id = await frozen({ experiment: { arms: [{ id: 'a' }, { id: 'b' }], ...rules } });
    expect(Object.values(await agreed(id))).toContain('experiment');
    await act(engine, id, 'cancel');
  });

  it('says that mail waits for the next day of a ramp', async () => {
    await contacts(2);
    const given = { domain: engine.domain, startPerDay: 1, days: 2 };
    const { body: ramp } = await engine.call('POST', '/ramps', given);
    const id = await frozen();
    await work();
    await waitFor('the hold', async () => {
      const { heldCount, outcomes } = await summed(id);
      return heldCount === 1 && outcomes.sent === 1;
    });
    expect(new Set(Object.values(await agreed(id)))).toEqual(new Set([null, 'warm_up']));
    await engine.call('DELETE', `/ramps/${ramp.id}`);
    await finished(id);
  });

  it('distinguishes what the provider refuses: the message, the address, or any mail', async () => {
    const [fine, spam, unknown] = await contacts(3);
    const [ofSpam, ofUnknown] = [await addressOf(spam!), await addressOf(unknown!)];
    refuseTo = (address) => ({ [ofSpam]: 554, [ofUnknown]: 550 })[address] ?? null;
    const id = await frozen();
    await finished(id);
    expect(await agreed(id)).toEqual({
      [fine!]: null,
      [spam!]: 'provider_refused',
      [unknown!]: 'recipient_refused',
    });
    refuseTo = () => 450;
    const again = await frozen();
    await work();
    await waitFor('a retry', async () => (await summed(again)).reasons.retry === 3);
    await rest();
    const later = (at: string) =>
      sql`
      with moved as (update email set retry_at = ${at}::timestamptz where campaign_id = ${again})
      update campaign_chunk set due_at = ${at}::timestamptz where campaign_id = ${again}`.execute(
        db,
      );
    await later(new Date(Date.now() + 3_600_000).toISOString());
    expect(await agreed(again)).toMatchObject({ [fine!]: 'retry' });
    await later(new Date().toISOString());
    engine.services.retryMs = 0;
    await work();
    await campaignIn(engine, again, 'SENT');
    expect(await agreed(again)).toMatchObject({ [fine!]: 'provider_unavailable' });
  });

  it('counts a rejection after acceptance as failed, and a bounce after delivery as sent', async () => {
    const [one, other] = await contacts(2);
    const id = await frozen();
    await finished(id);
    const idOf = async (contactId: string) =>
      (await engine.call('GET', `/emails?campaignId=${id}&contactId=${contactId}`)).body.data[0].id;
    const sent = await idOf(one!);
    await writeMail(db, (tx) =>
      sql`update email set status = 'SENT', delivered_at = null where id = ${sent}`.execute(tx),
    );
    await report(await idOf(one!), { kind: 'rejection', text: 'It has a virus.', at: new Date() });
    await report(await idOf(other!), {
      kind: 'bounce',
      bounceType: 'Permanent',
      text: null,
      at: new Date(),
    });
    expect(await agreed(id)).toEqual({ [one!]: 'provider_refused', [other!]: null });
    expect(await statsOf(id)).toMatchObject({ sentCount: 2, outcomes: { sent: 1, failed: 1 } });
  });

  it('says that an outcome is unknown, until a report settles it', async () => {
    const [one, other] = await contacts(2);
    const id = await frozen();
    const attemptId = randomUUID();
    await claimCampaignEmails(db, projectId, {
      campaignId: id,
      attemptId,
      max: 50,
      leaseSeconds: 60,
    });
    expect(await agreed(id)).toEqual({ [one!]: 'queued', [other!]: 'queued' });
    await sql`update campaign_chunk set lease_until = now() - interval '1 hour'`.execute(db);
    expect(await agreed(id)).toEqual({
      [one!]: 'delivery_unsettled',
      [other!]: 'delivery_unsettled',
    });
    const tasks = tasksOf(engine.api, { settleMinutes: 90 });
    await tasks.SETTLE_UNCERTAIN();
    expect(await agreed(id)).toEqual({
      [one!]: 'delivery_unsettled',
      [other!]: 'delivery_unsettled',
    });
    await tasksOf(engine.api, { settleMinutes: 15 }).SETTLE_UNCERTAIN();
    expect(await agreed(id)).toEqual({ [one!]: 'delivery_unknown', [other!]: 'delivery_unknown' });
    const { body } = await engine.call('GET', `/emails?campaignId=${id}&contactId=${one}`);
    await report(body.data[0].id, { kind: 'delivery', at: new Date() });
    expect(await agreed(id)).toEqual({ [one!]: null, [other!]: 'delivery_unknown' });
    await engine.call('DELETE', `/contacts/${other}`);
    expect(await agreed(id, { delivery_unknown: 1 })).toEqual({ [one!]: null });
    await finished(id);
  });

  it('keeps recipients that are deleted counted as they were', async () => {
    const [sent, refused, before, erased, fine] = await contacts(5);
    const address = await addressOf(refused!);
    refuseTo = (to) => (to === address ? 550 : null);
    const id = await frozen();
    await engine.call('DELETE', `/contacts/${before}`);
    expect((await summed(id)).reasons).toEqual({ contact_deleted: 1, queued: 4 });
    await engine.call('POST', `/contacts/${erased}/erase`, {});
    await finished(id);
    const reasons = { contact_deleted: 2, recipient_refused: 1 };
    const counted = { totalRecipients: 5, outcomes: { sent: 2, failed: 1, withheld: 2 }, reasons };
    await waitFor('the erasure', async () => (await summed(id)).outcomes.pending === 0);
    expect(await summed(id)).toMatchObject(counted);
    for (const contactId of [sent, refused, fine]) {
      await engine.call('DELETE', `/contacts/${contactId}`);
    }
    expect(await summed(id)).toMatchObject(counted);
  });

  it('counts as sent what the provider took although its contact was deleted meanwhile', async () => {
    const [gone, other] = await contacts(2);
    const id = await frozen();
    const attemptId = randomUUID();
    const claim = { campaignId: id, attemptId, max: 50, leaseSeconds: 60 };
    const { chunk, emails } = (await claimCampaignEmails(db, projectId, claim))!;
    await engine.call('DELETE', `/contacts/${gone}`);
    expect((await summed(id)).reasons).toEqual({ contact_deleted: 1, queued: 1 });
    const content = { contentVersion: 1, fromName: 'A', replyTo: null, throttledAt: null };
    await recordDeliveryOutcomes(db, {
      projectId,
      attemptIds: [attemptId],
      claimed: emails,
      outcomes: emails.map(({ id: emailId }) => ({
        emailId,
        kind: 'accepted',
        messageId: `${emailId}@smtp`,
        delivered: true,
      })),
      campaign: {
        id,
        pauseOnFailures: 0,
        chunk: { attemptId, claimedAt: chunk.claimedAt, ...content },
      },
    });
    expect(await summed(id)).toMatchObject({ sentCount: 2, outcomes: { sent: 2 }, reasons: {} });
    await finished(id);
    expect(await recipientOf(id, other!)).toMatchObject({ outcome: 'sent', reasonCode: null });
  });

  it('waits for the local time of each contact, and skips who is late', async () => {
    const [here] = await contacts(1, { data: { timeZone: 'Etc/UTC' } });
    const [behind] = await contacts(1, { data: { timeZone: 'Etc/GMT+2' } });
    const [ahead, gone] = await contacts(2, { data: { timeZone: 'Etc/GMT-2' } });
    const localTime = new Date(Date.now() + 60_000).toISOString().slice(0, 19);
    const id = await frozen({}, { localTime, late: 'skip' });
    expect(await agreed(id)).toEqual({
      [here!]: 'schedule',
      [behind!]: 'schedule',
      [ahead!]: 'late',
      [gone!]: 'late',
    });
    // The chunk still names the deleted message.
    await engine.call('DELETE', `/contacts/${behind}`);
    await engine.call('DELETE', `/contacts/${gone}`);
    expect(await agreed(id, { contact_deleted: 1, late: 1 })).toEqual({
      [here!]: 'schedule',
      [ahead!]: 'late',
    });
    await act(engine, id, 'cancel');
  });

  it('says that its domain, its size, its project or its allowance was the reason', async () => {
    const [one] = await contacts(1);
    const big = await frozen({ body: '<p>{{big}}</p>'.repeat(100) });
    await sql`update contact set data = jsonb_build_object('big', repeat('x', 30000)) where id = ${one}`.execute(
      db,
    );
    await finished(big);
    expect(await agreed(big)).toEqual({ [one!]: 'message_too_large' });
    await sql`update contact set data = null where id = ${one}`.execute(db);

    const hold = await frozen();
    await writeMail(db, (tx) =>
      sql`update email set held_until = 'yesterday' where campaign_id = ${hold}`.execute(tx),
    );
    await sql`update domain set status = 'failed' where project_id = ${projectId}`.execute(db);
    await finished(hold);
    expect(await agreed(hold)).toEqual({ [one!]: 'domain_not_verified' });
    await sql`update domain set status = 'verified' where project_id = ${projectId}`.execute(db);

    const stopped = await frozen();
    await sql`update project set disabled_reason = 'EMAIL_REPUTATION' where id = ${projectId}`.execute(
      db,
    );
    await work();
    await waitFor('the end', async () => (await summed(stopped)).outcomes.withheld === 1);
    await sql`update project set disabled_reason = null where id = ${projectId}`.execute(db);
    expect(await agreed(stopped)).toEqual({ [one!]: 'project_disabled' });

    const poor = await frozen();
    await sql`
      insert into allowance (project_id, month, category, taken)
        select ${projectId}, date_trunc('month', now() at time zone 'UTC')::date, name, 60
          from unnest(array['campaigns', 'workflows', 'transactional', 'inbound']) name
        on conflict (project_id, month, category) do update set taken = 60`.execute(db);
    await finished(poor);
    await sql`delete from allowance where project_id = ${projectId}`.execute(db);
    expect(await agreed(poor)).toEqual({ [one!]: 'billing_limit' });
  });

  it('adds up at every moment while it is sent', async () => {
    await contacts(20);
    const id = await createCampaign(engine, { maxPerMinute: 120 });
    await work();
    await act(engine, id, 'send');
    await waitFor('some to be sent', async () => (await summed(id)).outcomes.sent >= 3);
    await act(engine, id, 'pause');
    for (let look = 0; look < 10; look += 1) await summed(id);
    await act(engine, id, 'cancel');
    await waitFor('the rest to fail', async () => (await summed(id)).outcomes.pending === 0);
    await agreed(id);
  });
});

describe('the mail of a workflow', { timeout: 120_000 }, () => {
  it('says why it was withheld, as the timeline does', async () => {
    const [out, ended] = await contacts(2);
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const mail = { type: 'SEND_EMAIL', name: 'Mail', templateId };
    const wait = { type: 'DELAY', name: 'Wait', config: { amount: 1, unit: 'days' } };
    const workflow = await createWorkflow(engine, { eventName: 'go', steps: [mail, wait] });
    await engine.call('PATCH', `/contacts/${out}`, { subscribed: false });
    const hour = (shift: number) =>
      new Date(Date.now() + shift * 3_600_000).toISOString().slice(11, 16);
    await policy({
      timeZone: 'UTC',
      quietHours: { from: hour(-1), to: hour(1) },
    });
    await work();
    for (const contactId of [out, ended]) {
      await engine.call('POST', '/events/track', { name: 'go', contactId });
    }
    const mailOf = (contactId: string) =>
      waitFor(
        'the mail',
        async () => (await engine.call('GET', `/emails?contactId=${contactId}`)).body.data[0],
      );
    const withheld = await mailOf(out!);
    expect(withheld).toMatchObject({ outcome: 'withheld', reasonCode: 'contact_unsubscribed' });
    await told(withheld, null);
    const held = await waitFor('the hold', async () => {
      const found = await mailOf(ended!);
      return found.reasonCode === 'quiet_hours' && found;
    });
    await engine.call('DELETE', `/workflows/${workflow.id}/executions/${held.workflowExecutionId}`);
    const gone = await waitFor('the end', async () => {
      const found = await mailOf(ended!);
      return found.outcome === 'withheld' && found;
    });
    expect(gone.reasonCode).toBe('execution_ended');
    await told(gone, null);
  });
});

it('says that a contact was held out', async () => {
  await policy({ quietHours: null });
  const [one, other] = await contacts(2);
  const salts = Array.from({ length: 1_000 }, (_, number) => `salt ${number}`);
  const isOut = (salt: string, contactId: string) => holdoutSlot(salt, contactId) < 2_000;
  const salt = salts.find((given) => isOut(given, one!) && !isOut(given, other!));
  await engine.call('PUT', '/holdout', { percent: 20, salt });
  const id = await frozen();
  await finished(id);
  expect(await agreed(id)).toEqual({ [one!]: 'held_out', [other!]: null });
  await engine.call('PUT', '/holdout', { percent: 0 });
}, 60_000);

it('says that no provider of its route could take the mail', async () => {
  const server = { kind: 'smtp', host: 'smtp.mail.example', feedback: 'none', enabled: false };
  const { body } = await engine.call('POST', '/providers', { name: 'Away', ...server });
  const routes = [{ match: {}, providers: [{ id: body.id }] }];
  expect((await engine.call('PUT', '/routing', { routes })).status).toBe(200);
  await policy({ quietHours: null });
  const [one] = await contacts(1);
  const id = await frozen();
  await finished(id);
  expect((await agreed(id))[one!]).toBe('no_provider');
}, 60_000);

it('says that mail of before a restore waits for the operator, or was discarded', async () => {
  await policy({ quietHours: null });
  const [one] = await contacts(1);
  const id = await frozen();
  await holdByHand(db);
  await holdMail(db);
  await holdChunks(db, () => false);
  expect((await agreed(id))[one!]).toBe('operator');
  expect(await decideMail(db, 'discard', { campaignId: id })).toBe(1);
  expect((await agreed(id))[one!]).toBe('restored');
  await finished(id);
}, 60_000);

async function addressOf(contactId: string): Promise<string> {
  return (await engine.call('GET', `/contacts/${contactId}`)).body.email;
}

afterAll(() => {
  // The mail is deleted with its contact.
  seen.add('contact_deleted');
  expect([...seen].toSorted()).toEqual([...new Set(Object.values(reasonCodes).flat())].toSorted());
});
