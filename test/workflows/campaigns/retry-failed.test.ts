import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { createContact } from '../../support/histories/executions.ts';
import { mailTableFaults, writeMail } from '../../support/mail-tables.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Failed mail of a sent campaign is tried again: the same mail, once more, and only once. */

let refuseTo: (address: string) => number | null = () => null;
const sink = await useSmtpSink({ refuseTo: (address) => refuseTo(address) });
const engine = await useEngine({ SMTP_HOST: '127.0.0.1', SMTP_PORT: String(sink.port) });
const { db } = engine.api;

beforeEach(async () => {
  refuseTo = () => null;
  await deleteContacts(engine);
  await cap(null);
});

/** Lets a contact get so many marketing mails a day, and withholds others; null: any number. */
async function cap(max: number | null): Promise<void> {
  const caps = max === null ? [] : [{ max, perDays: 1 }];
  const { status } = await engine.call('PUT', '/send-policy', { caps, onCap: 'skip' });
  expect(status).toBe(200);
}

/** Restarts the worker, with this time for which mail is retried. */
async function retryingFor(ms: number): Promise<void> {
  await engine.stopWorker();
  engine.services.retryMs = ms;
  await engine.startWorker();
}

const addresses = (count: number) =>
  Promise.all(Array.from({ length: count }, () => createContact(engine, newAddress())));

const retry = (id: string, body: object = {}, call = engine.call) =>
  call('POST', `/campaigns/${id}/retry-failed`, body);

async function sent(given: object = {}) {
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send', {});
  return campaignIn(engine, id, 'SENT');
}

async function mailsOf(campaignId: string) {
  const { body } = await engine.call('GET', `/campaigns/${campaignId}/recipients?limit=100`);
  const items = body.data as { emailId: string; contact: { email: string }; outcome: string }[];
  return new Map(items.map((item) => [item.contact.email, item]));
}

async function traceOf(emailId: string): Promise<string[]> {
  const { body } = await engine.call('GET', `/emails/${emailId}`);
  return body.trace.map(({ state }: { state: string }) => state);
}

/** Returns the stats of a campaign, and checks that they count each recipient once. */
async function statsOf(id: string) {
  const { body } = await engine.call('GET', `/campaigns/${id}/stats`);
  const { outcomes, totalRecipients } = body.data;
  const counts = Object.values(outcomes as Record<string, number>);
  expect(counts.reduce((one, other) => one + other, 0)).toBe(totalRecipients);
  return body.data;
}

/** A campaign whose mail was withheld from two contacts by a cap, and sent to a third. */
async function capped() {
  await addresses(2);
  await cap(1);
  await sent();
  await addresses(1);
  return sent();
}

/** Waits until the retried mail has ended, and checks the stats all the time. */
async function ended(id: string) {
  for (;;) {
    await statsOf(id);
    const { body } = await engine.call('GET', `/campaigns/${id}`);
    if (body.data.status === 'SENT') break;
  }
  const { rows } = await sql.raw(mailTableFaults).execute(db);
  expect(rows).toEqual([]);
  return campaignIn(engine, id, 'SENT');
}

describe('failed mail of a sent campaign', () => {
  it('is sent under the same ids when it is tried again', async () => {
    const campaign = await capped();
    const before = await mailsOf(campaign.id);
    expect(await statsOf(campaign.id)).toMatchObject({ reasons: { frequency_cap: 2 } });
    await cap(null);
    const { status, body } = await retry(campaign.id, { reasons: ['frequency_cap'] });
    expect([status, body.data]).toEqual([
      200,
      { retried: 2, notRetried: { cannotChange: 0, alreadyRetried: 0, unknown: 0 } },
    ]);
    expect((await ended(campaign.id)).sentAt).toBe(campaign.sentAt);
    const after = await mailsOf(campaign.id);
    for (const [address, { emailId }] of before) {
      expect(after.get(address)).toMatchObject({ emailId, outcome: 'sent', error: null });
    }
    const [again] = [...before.values()].filter(({ outcome }) => outcome === 'withheld');
    const trace = (await traceOf(again!.emailId)).filter((state) => state !== 'throttled');
    expect(trace.slice(0, 5)).toEqual(['queued', 'withheld', 'retried', 'handed_over', 'accepted']);
    expect(await statsOf(campaign.id)).toMatchObject({ reasons: {}, outcomes: { sent: 3 } });
    expect(sink.countTo(again!.contact.email)).toBe(2);
  });

  it('is tried again once in its life', async () => {
    const campaign = await capped();
    const reasons = { reasons: ['frequency_cap'] };
    expect((await retry(campaign.id, reasons)).body.data.retried).toBe(2);
    await ended(campaign.id);
    expect((await retry(campaign.id, reasons)).body.data).toEqual({
      retried: 0,
      notRetried: { cannotChange: 0, alreadyRetried: 2, unknown: 0 },
    });
    expect((await engine.call('GET', `/campaigns/${campaign.id}`)).body.data.status).toBe('SENT');
  });

  it('is tried again once by ten requests at the same time', async () => {
    const campaign = await capped();
    await cap(null);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => retry(campaign.id, { reasons: ['frequency_cap'] })),
    );
    const retried = answers.map(({ body }) => body.data?.retried ?? 0);
    expect(retried.reduce((one, other) => one + other, 0)).toBe(2);
    for (const { status, body } of answers) {
      if (status !== 200) expect(body.error.code).toBe('CAMPAIGN_NOT_FINISHED');
    }
    await ended(campaign.id);
    const traces = await Promise.all(
      [...(await mailsOf(campaign.id)).values()].map(({ emailId }) => traceOf(emailId)),
    );
    const entries = traces.map((trace) => trace.filter((state) => state === 'retried').length);
    expect(entries.toSorted()).toEqual([0, 1, 1]);
  });

  it('is left alone where another attempt would not help, or it may have arrived', async () => {
    const [refused, unknownAddress, maybe] = await addresses(3);
    const addressOf = async (id: string) =>
      (await engine.call('GET', `/contacts/${id}`)).body.email;
    const [first, second, third] = await Promise.all(
      [refused!, unknownAddress!, maybe!].map(addressOf),
    );
    refuseTo = (address) => (address === second ? 550 : 554);
    const { id } = await sent();
    await writeMail(db, (tx) =>
      sql`update email set trace = trace || '[{"state": "settled"}]'
        where campaign_id = ${id} and to_email = ${third}`.execute(tx),
    );
    refuseTo = () => null;
    const { body } = await retry(id);
    expect(body.data).toEqual({
      retried: 1,
      notRetried: { cannotChange: 1, alreadyRetried: 0, unknown: 1 },
    });
    await ended(id);
    const mails = await mailsOf(id);
    const outcomes = [first, second, third].map((address) => mails.get(address)!.outcome);
    expect(outcomes).toEqual(['sent', 'failed', 'failed']);
  });

  it('has its whole retry time again', async () => {
    await addresses(1);
    const { retryMs } = engine.services;
    await retryingFor(0);
    refuseTo = () => 451;
    const { id } = await sent();
    expect(await statsOf(id)).toMatchObject({ reasons: { provider_unavailable: 1 } });
    // Less than the time since the first attempt, which is two seconds before the second.
    await retryingFor(1_500);
    expect((await retry(id)).body.data.retried).toBe(1);
    await waitFor('a third attempt', async () => (await statsOf(id)).reasons.retry === 1);
    refuseTo = () => null;
    await ended(id);
    await retryingFor(retryMs);
    expect(await statsOf(id)).toMatchObject({ outcomes: { sent: 1 } });
  });
});

describe('a retry is refused', () => {
  it('for a reason that a person or the address has caused', async () => {
    const { id } = await sent(await addresses(1).then(() => ({})));
    for (const reasons of [['suppressed'], ['recipient_refused'], []]) {
      const { status, body } = await retry(id, { reasons });
      const expected = reasons.length === 0 ? 'reasons too_small' : 'reasons.0 invalid_enum_value';
      expect([status, ...errorFields(body)]).toEqual([422, expected]);
    }
  });

  it('before the campaign is sent, and changes nothing where nothing has failed', async () => {
    await addresses(1);
    const draft = await createCampaign(engine);
    const { status, body } = await retry(draft);
    expect([status, body.error.code, body.error.details]).toEqual([
      400,
      'CAMPAIGN_NOT_FINISHED',
      { status: 'DRAFT' },
    ]);
    await act(engine, draft, 'send', {});
    const campaign = await campaignIn(engine, draft, 'SENT');
    expect((await retry(draft)).body.data.retried).toBe(0);
    const after = (await engine.call('GET', `/campaigns/${draft}`)).body.data;
    expect(after).toEqual(campaign);
  });
});
