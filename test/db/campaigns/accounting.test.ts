import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { failCampaignEmails } from '../../../db/campaigns/chunks.ts';
import { foldCampaignTally } from '../../../db/campaigns/tally.ts';
import { transact } from '../../../db/database.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import { claimCampaignEmails } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { findReportedMessages } from '../../../db/transactions/mail/reports.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { pendingIn } from '../../../domain/outcomes/outcome.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { tasksOf } from '../../support/sweep-now.ts';

/** However a campaign is sent, its stats account for every recipient, and its list agrees. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

type Claimed = NonNullable<Awaited<ReturnType<typeof claimCampaignEmails>>>;
type Counts = Record<string, number>;
interface Item {
  contact: { id: string };
  emailId: string;
  outcome: string;
  reasonCode: string | null;
}

const sum = (counts: Counts) => Object.values(counts).reduce((one, other) => one + other, 0);
const plus = (counts: Counts, key: string, count = 1) => {
  counts[key] = (counts[key] ?? 0) + count;
};

/** A campaign that is played, and what is known about those of its recipients that are deleted. */
class Play {
  readonly claimed: Claimed[] = [];
  /** Recipients whose contacts were deleted after their mail was sent or had failed, by reason. */
  readonly over: Counts = {};
  gone = 0;
  readonly project: { id: string; secretKey: string };
  readonly id: string;

  constructor(project: { id: string; secretKey: string }, id: string) {
    this.project = project;
    this.id = id;
  }

  async call(method: string, path: string, body?: unknown) {
    return api.request(method, path, { key: this.project.secretKey, body });
  }

  async items(): Promise<Item[]> {
    const { body } = await this.call('GET', `/campaigns/${this.id}/recipients?limit=100`);
    expect(body.total).toBe(body.data.length);
    return body.data;
  }

  async outcomes(outcomeOf: (emailId: string, place: number) => DeliveryOutcome): Promise<void> {
    const next = this.claimed.shift();
    if (!next) return;
    const { chunk, emails } = next;
    const { attemptId, claimedAt } = chunk;
    await recordDeliveryOutcomes(db, {
      projectId: this.project.id,
      attemptIds: [attemptId],
      claimed: emails,
      outcomes: emails.map(({ id }, place) => outcomeOf(id, place)),
      campaign: {
        id: this.id,
        pauseOnFailures: 3,
        chunk: {
          attemptId,
          claimedAt,
          contentVersion: 1,
          fromName: 'A',
          replyTo: null,
          throttledAt: null,
        },
      },
    });
  }
}

const deliveries = [
  (emailId) => ({ kind: 'accepted', emailId, messageId: `${emailId}@smtp`, delivered: false }),
  (emailId) => ({ kind: 'accepted', emailId, messageId: `${emailId}@smtp`, delivered: true }),
  (emailId) => ({ kind: 'refused', emailId, error: '550 No', refusal: 'recipient_refused' }),
  (emailId) => ({ kind: 'withheld', emailId, reason: 'suppressed' }),
  (emailId) => ({
    kind: 'again',
    emailId,
    error: '450 Busy',
    delayMs: 3_600_000,
  }),
  (emailId) => ({ kind: 'again', emailId, error: '450', delayMs: 0 }),
  (emailId) => ({ kind: 'uncertain', emailId, error: 'It hung up.' }),
  (emailId) => ({ kind: 'released', emailId }),
] satisfies ((emailId: string) => DeliveryOutcome)[];

const feedbacks: readonly Feedback[] = [
  { kind: 'delivery', at: new Date() },
  { kind: 'bounce', bounceType: 'Permanent', text: null, at: new Date() },
  { kind: 'rejection', text: 'It has a virus.', at: new Date() },
];

const due = (table: string, column: string, play: Play) =>
  sql`update ${sql.table(table)} set ${sql.ref(column)} = now() - interval '2 hours'
    where campaign_id = ${play.id} and attempt_id is not null`.execute(db);

/** The acts of a play. `pick` chooses one of several things. */
const acts: Readonly<Record<string, (play: Play, pick: number) => Promise<unknown>>> = {
  start: (play) =>
    transact(db, async (tx) => {
      const row = await tx
        .selectFrom('campaign')
        .select(['id', 'project_id', 'local_time', 'status'])
        .where('id', '=', play.id)
        .forUpdate()
        .executeTakeFirstOrThrow();
      if (row.status === 'SCHEDULED') await startCampaign(tx, row);
    }),
  freeze: (play) => freezeCampaign(db, { projectId: play.project.id, campaignId: play.id }),
  claim: async (play, pick) => {
    const claimed = await claimCampaignEmails(db, play.project.id, {
      campaignId: play.id,
      attemptId: randomUUID(),
      max: 1 + (pick % 3),
      leaseSeconds: 60,
      isPoliced: true,
    });
    if (claimed) play.claimed.push(claimed);
  },
  deliver: (play, pick) =>
    play.outcomes((id, place) => deliveries[(pick + place) % deliveries.length]!(id)),
  accept: (play, pick) => play.outcomes((id) => deliveries[pick % 2]!(id)),
  expire: (play) => due('campaign_chunk', 'lease_until', play),
  settle: (_, pick) => tasksOf(api, { settleMinutes: pick % 2 ? 90 : 15 }).SETTLE_UNCERTAIN(),
  report: async (play, pick) => {
    const items = await play.items();
    const item = items[pick % Math.max(1, items.length)];
    if (!item || item.outcome === 'withheld' || item.outcome === 'failed') return;
    const feedback = [feedbacks[pick % feedbacks.length]!];
    const report = { emailId: item.emailId, messageId: null, acceptedAt: null, receipt: null };
    await transact(db, async (tx) => {
      const found = await findReportedMessages(tx, [{ ...report, feedback }]);
      await recordFeedback(
        tx,
        found.filter((one) => one !== null),
        { judge: null },
      );
    });
  },
  remove: async (play, pick) => {
    const items = await play.items();
    const item = items[pick % Math.max(1, items.length)];
    if (!item) return;
    const { status } = await play.call('DELETE', `/contacts/${item.contact.id}`);
    expect(status).toBe(204);
    play.gone += 1;
    const isOver = item.outcome === 'sent' || item.outcome === 'failed';
    if (isOver || item.outcome === 'withheld') plus(play.over, item.reasonCode ?? 'sent');
  },
  cancelOne: async (play, pick) => {
    const items = await play.items();
    const item = items[pick % Math.max(1, items.length)];
    if (item) await play.call('DELETE', `/emails/${item.emailId}`);
  },
  quiet: async (play, pick) => {
    const hour = (shift: number) =>
      new Date(Date.now() + shift * 3_600_000).toISOString().slice(11, 16);
    const quietHours = pick % 2 ? { from: hour(-2), to: hour(2) } : null;
    const { status } = await play.call('PUT', '/send-policy', { timeZone: 'UTC', quietHours });
    expect(status).toBe(200);
  },
  pause: (play) => play.call('POST', `/campaigns/${play.id}/pause`),
  resume: (play) => play.call('POST', `/campaigns/${play.id}/resume`),
  cancel: (play) => play.call('POST', `/campaigns/${play.id}/cancel`),
  failRest: async (play, pick) => {
    const { status } = (await play.call('GET', `/campaigns/${play.id}`)).body.data;
    if (status === 'CANCELLED') await failCampaignEmails(db, play.id, 1 + pick);
  },
  fold: () => foldCampaignTally(db),
  join: (play) => insertContacts(play.project.id, 1),
};

const insertContacts = (projectId: string, count: number) =>
  sql`insert into contact (project_id, email, subscribed)
    select ${projectId}, gen_random_uuid() || '@people.test', n % 4 <> 0
      from generate_series(1, ${count}::int) n`.execute(db);

/** Compares stats with the list. Both are read while nothing else happens. */
async function check(play: Play): Promise<void> {
  const { data: stats } = (await play.call('GET', `/campaigns/${play.id}/stats`)).body;
  const { status } = (await play.call('GET', `/campaigns/${play.id}`)).body.data;
  const items = await play.items();
  expect(sum(stats.outcomes)).toBe(stats.totalRecipients);
  expect(sum(stats.reasons)).toBe(stats.totalRecipients - stats.outcomes.sent);
  const counted: Counts = {};
  const outcomes: Counts = {};
  for (const { outcome, reasonCode } of items) {
    plus(counted, reasonCode ?? 'sent');
    plus(outcomes, outcome);
  }
  const { outcome, reasonCode } = pendingIn(status);
  const rest = stats.totalRecipients - items.length - play.gone;
  expect(rest).toBeGreaterThanOrEqual(0);
  plus(counted, reasonCode ?? 'sent', rest);
  plus(outcomes, outcome, rest);
  // The others are deleted: they stay counted, and as they were if their mail was over.
  const left = (given: Counts, known: Counts): Counts =>
    Object.fromEntries(
      [...new Set([...Object.keys(given), ...Object.keys(known)])]
        .map((key): [string, number] => [key, (given[key] ?? 0) - (known[key] ?? 0)])
        .filter(([, count]) => count !== 0),
    );
  const gone = left({ ...stats.reasons, sent: stats.outcomes.sent }, counted);
  expect([sum(gone), Object.values(gone).every((count) => count > 0)]).toEqual([play.gone, true]);
  expect(Object.values(left(gone, play.over)).every((count) => count > 0)).toBe(true);
  expect(sum(left(stats.outcomes, outcomes))).toBe(play.gone);
  expect(Object.values({ ...stats.outcomes, ...stats.reasons }).every((n) => Number(n) >= 0)).toBe(
    true,
  );
  for (const code of Object.keys(stats.reasons)) {
    const path = `/campaigns/${play.id}/recipients?limit=100&reason=${code}`;
    const found: Item[] = (await play.call('GET', path)).body.data;
    const own = items.filter((item) => item.reasonCode === code);
    expect([code, ...found.map(({ emailId }) => emailId)]).toEqual([
      code,
      ...own.map(({ emailId }) => emailId),
    ]);
  }
}

it('accounts for every recipient whatever happens, in stats and in the list', async () => {
  const names = Object.keys(acts);
  const often = ['claim', 'claim', 'claim', 'deliver', 'deliver', 'accept', 'report', 'remove'];
  const act = fc.record({
    name: fc.constantFrom(...names, ...often),
    pick: fc.integer({ min: 0, max: 1000 }),
  });
  const plays = fc.record({
    isStarted: fc.boolean(),
    more: fc.array(act, { maxLength: 30, size: 'max' }),
  });
  await fc.assert(
    fc.asyncProperty(plays, async ({ isStarted, more }) => {
      const project = await api.createProject(cookie);
      await insertContacts(project.id, 12);
      const id = await insertTestCampaign(db, project.id, {
        status: 'SCHEDULED',
        scheduled_for: new Date(),
        total_recipients: 9,
      });
      const play = new Play(project, id);
      await check(play);
      const begun = ['start', 'freeze'].map((name) => ({ name, pick: 0 }));
      for (const { name, pick } of [...(isStarted ? begun : []), ...more]) {
        await acts[name]!(play, pick);
        await check(play);
      }
    }),
    {
      numRuns: 12,
      examples: [
        [
          {
            isStarted: true,
            more: [
              { name: 'claim', pick: 2 },
              { name: 'remove', pick: 8 },
              { name: 'expire', pick: 0 },
              { name: 'settle', pick: 0 },
              { name: 'accept', pick: 0 },
            ],
          },
        ],
      ],
    },
  );
}, 240_000);
