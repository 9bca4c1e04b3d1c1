import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { expireChunks, releaseChunk } from '../../../../db/campaigns/chunks.ts';
import { listRampCounts } from '../../../../db/ramps/counts.ts';
import { countProviderMail } from '../../../../db/reads/provider-mail.ts';
import { startCampaign } from '../../../../db/transactions/mail/advance-campaign.ts';
import type { DeliveryOutcome } from '../../../../db/transactions/mail/attempts.ts';
import { claimCampaignEmails } from '../../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../../db/transactions/mail/freeze-audience.ts';
import {
  type ProviderChooser,
  recordMove,
} from '../../../../db/transactions/mail/provider-claims.ts';
import { recordSingleReport } from '../../../../db/transactions/mail/record-feedback.ts';
import { recordDeliveryOutcomes } from '../../../../db/transactions/mail/record-outcomes.ts';
import type { FeedbackReport } from '../../../../db/transactions/mail/reports.ts';
import { findLeftClaim } from '../../../../db/transactions/mail/take-over.ts';
import { useApi } from '../../../support/api.ts';
import { chunkOrigin, insertTestCampaign } from '../../../support/projects/mails.ts';
import { routeOf } from '../../../support/projects/routed-shop.ts';
import { recordStatements } from '../../../support/statements.ts';

/** Messages of campaigns whose providers are chosen by routes: from the claim to the outcome. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
let key: string;
let campaignId: string;
/** The providers A and B: each other message goes to A. */
let a: string;
let b: string;

const call = async (method: string, path: string, body?: object) =>
  (await api.request(method, path, { key, body })).body;

beforeEach(async () => {
  ({ id: projectId, secretKey: key } = await api.createProject(cookie));
  const server = { kind: 'smtp', host: 'smtp.example.com', feedback: 'none' };
  a = (await call('POST', '/providers', { name: 'A', ...server })).id;
  b = (await call('POST', '/providers', { name: 'B', ...server })).id;
  await sql`insert into contact (project_id, email, subscribed)
    select ${projectId}, 'no' || n || '@people.test', true from generate_series(1, 4) n`.execute(
    db,
  );
  campaignId = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
  await startCampaign(db, { id: campaignId, project_id: projectId, local_time: null });
  await freezeCampaign(db, { projectId, campaignId });
});

const detailOf = (providerId: string, why: 'chosen' | 'next' = 'chosen') => ({
  providerId,
  name: providerId === a ? 'A' : 'B',
  route: 0,
  why,
  skipped: [],
});

function chooser(): ProviderChooser {
  let count = 0;
  return {
    choose() {
      const providerId = count++ % 2 === 0 ? a : b;
      const candidates = [{ providerId, weight: 1, reason: null }];
      return {
        choice: { route: 0, isRouted: true, onDown: 'next', candidates },
        decision: { kind: 'send', providerId, position: 0, skipped: [] },
        detail: detailOf(providerId),
      };
    },
  };
}

async function claimed() {
  const attemptId = randomUUID();
  const claim = { campaignId, attemptId, max: 50, leaseSeconds: 60, chooser: chooser() };
  const { emails } = (await claimCampaignEmails(db, projectId, claim))!;
  const record = (outcomes: DeliveryOutcome[]) =>
    recordDeliveryOutcomes(db, {
      projectId,
      attemptIds: [attemptId],
      claimed: emails,
      outcomes,
      campaign: { id: campaignId, pauseOnFailures: 0, chunk: chunkOrigin(attemptId) },
    });
  const ids = emails.map(({ id }) => id) as [string, string, string, string];
  const move = (index: number, error: string | null) =>
    recordMove(db, {
      projectId,
      email: emails[index]!,
      attemptId,
      hasChunk: true,
      claimedAt: chunkOrigin(attemptId).claimedAt,
      providerId: b,
      detail: detailOf(b, 'next'),
      error,
    });
  return { attemptId, emails, ids, record, move };
}

const accepted = (emailId: string): DeliveryOutcome => ({
  emailId,
  kind: 'accepted',
  messageId: `${emailId}@smtp`,
  delivered: false,
  content: { subject: 'Hi', bodyTemplate: 'letter', values: ['Ada'] },
});

const shown = (id: string) => call('GET', `/emails/${id}`);
const traceOf = async (id: string) => routeOf(await shown(id));

/** Ends the lease of all claimed chunks, as if their worker was dead. */
async function expire(): Promise<void> {
  await sql`update campaign_chunk set lease_until = now() - interval '1 minute'
    where attempt_id is not null`.execute(db);
  await expireChunks(db, 100);
}

/** A report of a delivery by a provider. */
const deliveredBy = (providerId: string, emailId: string): FeedbackReport => ({
  emailId,
  messageId: null,
  feedback: [{ kind: 'delivery', at: new Date() }],
  acceptedAt: null,
  receipt: null,
  takenBy: [{ providerId, projectId }],
});
const report = (providerId: string, emailId: string) =>
  recordSingleReport(db, deliveredBy(providerId, emailId), { judge: null });

/** Versions of the rows of all messages: a row that is written has a new one. */
async function versions() {
  const { rows } = await sql`
    select id, xmin::text from email where campaign_id = ${campaignId} order by id`.execute(db);
  return rows;
}

describe('a claimed message of a campaign', () => {
  it('has the provider of its route, without a write of its row', async () => {
    const before = await versions();
    const { ids } = await claimed();
    expect(await versions()).toEqual(before);
    expect(await shown(ids[0])).toMatchObject({ status: 'SENDING', providerId: a });
    expect(await shown(ids[1])).toMatchObject({ status: 'SENDING', providerId: b });
  });

  it('counts for its provider, which cannot be deleted', async () => {
    await claimed();
    const counted = await countProviderMail(db, projectId);
    expect([counted.get(a)?.sending, counted.get(b)?.sending]).toEqual([2, 2]);
    expect(counted.get('default')).toBeUndefined();
    const { error } = await call('DELETE', `/providers/${a}`);
    expect(error.details).toMatchObject({ sending: 2, unknown: 0 });
  });

  it('counts for a ramp of its provider that is created now', async () => {
    await claimed();
    const { id } = await call('POST', '/ramps', {
      providerId: a,
      startPerDay: 10,
      factor: 2,
      days: 3,
    });
    expect((await listRampCounts(db, [id])).get(id)?.used).toBe(2);
  });

  it('names no provider when it is released', async () => {
    const { attemptId, ids } = await claimed();
    await releaseChunk(db, campaignId, attemptId);
    expect(await shown(ids[0])).not.toHaveProperty('providerId');
    expect(await traceOf(ids[0])).toEqual(['queued']);
  });
});

describe('the outcomes of a routed chunk', () => {
  const isShort = ({ text }: { text: string }) => text.includes('as accepted(id uuid');

  it('name the providers in the rows and traces, by the short statement', async () => {
    const { ids, record } = await claimed();
    const asked = recordStatements();
    await record(ids.map(accepted));
    expect(asked.take().filter(isShort)).toHaveLength(1);
    const [first, second] = [await shown(ids[0]), await shown(ids[1])];
    expect([first.providerId, second.providerId]).toEqual([a, b]);
    expect(await traceOf(ids[0])).toEqual(['queued', 'routed A chosen', 'handed_over', 'accepted']);
    expect(first.trace[1]).toMatchObject({ at: expect.any(String), detail: detailOf(a) });
    expect(first.trace.at(-1).detail).toMatchObject({ providerId: a });
  });

  it('name the providers of what was not accepted, and not of what was not given to one', async () => {
    const { ids, record } = await claimed();
    const [again, refused, released, unknown] = ids;
    await record([
      { emailId: again, kind: 'again', error: '451 later', delayMs: 0 },
      { emailId: refused, kind: 'refused', error: '550 no' },
      { emailId: released, kind: 'released' },
      { emailId: unknown, kind: 'uncertain', error: 'No answer' },
    ]);
    expect(await traceOf(again)).toEqual(['queued', 'routed A chosen', 'handed_over', 'refused']);
    expect(await shown(again)).toMatchObject({ status: 'PENDING', providerId: a });
    expect(await shown(refused)).toMatchObject({ status: 'FAILED', providerId: b });
    expect(await traceOf(released)).toEqual(['queued']);
    expect(await shown(released)).not.toHaveProperty('providerId');
    expect(await shown(unknown)).toMatchObject({ status: 'SENDING', providerId: b });
  });

  it('show each attempt with its provider', async () => {
    const first = await claimed();
    const retry = { kind: 'again', error: '451 later', delayMs: -60_000 } as const;
    await first.record(first.ids.map((emailId) => ({ emailId, ...retry })));
    const second = await claimed();
    expect(second.ids).toEqual(first.ids);
    await second.record(second.ids.map(accepted));
    expect(await traceOf(first.ids[0])).toEqual([
      'queued',
      'routed A chosen',
      'handed_over',
      'refused',
      'routed A chosen',
      'handed_over',
      'accepted',
    ]);
  });
});

describe('a message that leaves its provider for the next one', () => {
  it('shows both in its trace, and has the last one', async () => {
    const { ids, record, move } = await claimed();
    expect(await move(0, '550 5.7.1 no')).toBe('moved');
    expect(await shown(ids[0])).toMatchObject({ status: 'SENDING', providerId: b });
    expect(await shown(ids[2])).toMatchObject({ providerId: a });
    await record(ids.map(accepted));
    expect(await shown(ids[0])).toMatchObject({ status: 'SENT', providerId: b });
    expect(await traceOf(ids[0])).toEqual([
      'queued',
      'routed A chosen',
      'handed_over',
      'refused',
      'routed B next',
      'handed_over',
      'accepted',
    ]);
    expect((await shown(ids[0])).trace.at(-1).detail).toMatchObject({ providerId: b });
    expect(await shown(ids[2])).toMatchObject({ status: 'SENT', providerId: a });
  });

  it('does not show a provider that it was never given to', async () => {
    const { ids, record, move } = await claimed();
    await move(0, null);
    await record(ids.map(accepted));
    expect(await traceOf(ids[0])).toEqual(['queued', 'routed B next', 'handed_over', 'accepted']);
    expect(await shown(ids[0])).toMatchObject({ providerId: b });
  });

  it('stays where it is when the attempt has lost its chunk', async () => {
    const { ids, move } = await claimed();
    await expire();
    expect(await move(0, '550 5.7.1 no')).toBe('lost');
    expect(await shown(ids[0])).toMatchObject({ status: 'SENDING', providerId: a });
  });
});

describe('a worker that dies between the claim and the outcome', () => {
  it('leaves its messages unknown at their providers', async () => {
    const { ids, move } = await claimed();
    await move(2, '550 5.7.1 no');
    await expire();
    const providers = (await Promise.all(ids.map(shown))).map(({ providerId }) => providerId);
    expect(providers).toEqual([a, b, b, b]);
    expect(await traceOf(ids[0])).toEqual(['queued', 'routed A chosen', 'handed_over']);
    const counted = await countProviderMail(db, projectId);
    expect([counted.get(a)?.unknown, counted.get(b)?.unknown]).toEqual([1, 3]);
  });

  it('leaves the providers to the process that takes over, before and after the lease', async () => {
    const { attemptId, ids } = await claimed();
    const content = { version: 1, throttledAt: null };
    const left = { attemptId, projectId, campaignId, content };
    const providers = async () => {
      const { messages } = await findLeftClaim(db, left);
      return ids.map((id) => messages.find((message) => message.id === id)?.provider_id);
    };
    expect(await providers()).toEqual([a, b, a, b]);
    await expire();
    expect(await providers()).toEqual([a, b, a, b]);
  });
});

describe('a report that is faster than the outcome', () => {
  it('counts only if it is from the provider of the message', async () => {
    const { ids } = await claimed();
    expect(await report(b, ids[0])).toBe('unknown');
    expect(await report(a, ids[0])).toBe('recorded');
    expect(await shown(ids[0])).toMatchObject({ status: 'DELIVERED', providerId: a });
  });

  it('is from the next provider after a move', async () => {
    const { ids, move } = await claimed();
    await move(0, '550 5.7.1 no');
    expect(await report(a, ids[0])).toBe('unknown');
    expect(await report(b, ids[0])).toBe('recorded');
    expect(await shown(ids[0])).toMatchObject({ providerId: b });
  });

  it('leaves the provider in the row when the worker dies', async () => {
    const { ids } = await claimed();
    await report(a, ids[0]);
    await expire();
    expect(await shown(ids[0])).toMatchObject({ status: 'DELIVERED', providerId: a });
  });

  it('leaves the trace whole', async () => {
    const { ids, record } = await claimed();
    await report(a, ids[0]);
    await record(ids.map(accepted));
    expect(await shown(ids[0])).toMatchObject({ status: 'DELIVERED', providerId: a });
    expect(await traceOf(ids[0])).toEqual(expect.arrayContaining(['routed A chosen', 'delivered']));
  });
});
