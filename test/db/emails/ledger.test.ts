import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readTaken, takeAllowances, updateOwnLimits } from '../../../db/billing/billing.ts';
import {
  expireChunks,
  failCampaignEmails,
  queueLeftovers,
  releaseChunk,
} from '../../../db/campaigns/chunks.ts';
import { transact } from '../../../db/database.ts';
import { releaseHeldMail, requestRelease } from '../../../db/delivery/releases.ts';
import { insertEmail, releaseClaim } from '../../../db/emails/emails.ts';
import { failWaitingMail } from '../../../db/emails/endings.ts';
import { updateSendPolicy } from '../../../db/projects/send-policy.ts';
import { deleteContacts } from '../../../db/transactions/contacts/delete-contacts.ts';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { claimCampaignEmails } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { claimUnheldEmails } from '../../../db/transactions/mail/hold-back.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import {
  recordDeliveryOutcomes,
  settleUncertainEmails,
} from '../../../db/transactions/mail/record-outcomes.ts';
import { findReportedMessages } from '../../../db/transactions/mail/reports.ts';
import { releaseLeftMessages } from '../../../db/transactions/mail/take-over.ts';
import { cancelEmail, rescheduleEmail } from '../../../db/transactions/mail/waiting-mail.ts';
import { Problem } from '../../../domain/errors.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { useApi } from '../../support/api.ts';
import { mailTableFaults } from '../../support/mail-tables.ts';
import { chunkOrigin, insertTestCampaign } from '../../support/projects/mails.ts';
import { randomOf } from '../../support/random.ts';

/**
 * All statements that change messages, in random order: the tables that follow the
 * ledger agree with its rows.
 */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();
const rules = { freeTierPerMonth: 1_000_000 };

/** An attempt whose outcomes are not recorded yet. */
interface Open {
  projectId: string;
  attemptId: string;
  campaignId: string | null;
  /** The messages for which no allowance was left. */
  over: Set<string>;
  emails: {
    id: string;
    contact_id: string;
    source_type: string;
    billed_units: number;
    allowance_month: unknown;
  }[];
}

interface World {
  projectId: string;
  /** False if contacts, and with them mail, may be deleted: then some counts cannot be checked. */
  keepsContacts: boolean;
  contacts: string[];
  campaigns: string[];
  executions: string[];
  open: Open[];
}

async function createWorld(keepsContacts: boolean): Promise<World> {
  const { id: projectId } = await api.createProject(cookie);
  await sql`update project set customer = 'cus_1' where id = ${projectId}`.execute(db);
  await updateOwnLimits(db, projectId, { campaigns: 900_000, workflows: 900_000 });
  const { rows } = await sql<{ id: string }>`
    insert into contact (project_id, email, subscribed)
      select ${projectId}, 'no' || n || '@ledger.test', true from generate_series(1, 40) n
      returning id`.execute(db);
  await readTaken(db, projectId);
  const contacts = rows.map(({ id }) => id);
  return { projectId, keepsContacts, contacts, campaigns: [], executions: [], open: [] };
}

type Random = () => number;
const pick = <T>(random: Random, list: readonly T[]): T | undefined =>
  list[Math.floor(random() * list.length)];

async function anyMail({ projectId }: World, random: Random, where = 'true') {
  const { rows } = await sql<{ id: string }>`
    select id from email where project_id = ${projectId} and ${sql.raw(where)}
      order by md5(id::text || ${String(random())}) limit 3`.execute(db);
  return rows.map(({ id }) => id);
}

/** Refusals that a user may get are no fault. */
async function allowRefusal(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
  });
}

type Writer = (world: World, random: Random) => Promise<unknown>;

const insert: Writer = async ({ projectId, contacts, executions }, random) => {
  const contactId = pick(random, contacts);
  if (contactId === undefined) return;
  const executionId = random() < 0.5 ? randomUUID() : null;
  if (executionId) executions.push(executionId);
  await transact(db, (tx) =>
    insertEmail(tx, {
      project_id: projectId,
      contact_id: contactId,
      to_email: 'ada@ledger.test',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from_email: 'team@shop.test',
      message_class: executionId ? 'MARKETING' : 'TRANSACTIONAL',
      source_type: executionId ? 'WORKFLOW' : 'TRANSACTIONAL',
      workflow_execution_id: executionId,
      headers: [],
      ...(random() < 0.2 && { withheld: 'suppressed' as const }),
      ...(random() < 0.2 && { scheduled_for: new Date(Date.now() + 3_600_000) }),
      // Sent late, so that it is in `late_mail`.
      ...(executionId && { created_at: new Date(Date.now() - 30 * 3_600_000) }),
    }).catch(ignoreDeleted),
  ).catch(ignoreDeleted);
};

/** The contact was deleted meanwhile. */
function ignoreDeleted(error: unknown): void {
  const code = (error as { code?: string }).code;
  if (code !== '23503' && code !== '25P02') throw error;
}

const claim: Writer = async ({ projectId, open }, random) => {
  const attemptId = randomUUID();
  const given = { projectId, attemptId, max: 10, leaseSeconds: 60, throttled: random() < 0.3 };
  const emails = await claimUnheldEmails(db, { ...given, isPoliced: true });
  const over = await takeAllowances(db, rules, projectId, emails);
  open.push({ projectId, attemptId, campaignId: null, emails, over });
};

const startOne: Writer = async ({ projectId, campaigns }) => {
  const id = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
  await startCampaign(db, { id, project_id: projectId, local_time: null });
  await freezeCampaign(db, { projectId, campaignId: id }).catch(ignoreDeleted);
  campaigns.push(id);
};

const claimChunk: Writer = async ({ projectId, campaigns, open }, random) => {
  const campaignId = pick(random, campaigns);
  if (!campaignId) return;
  const attemptId = randomUUID();
  const given = { campaignId, attemptId, max: 50, leaseSeconds: 60, isPoliced: random() < 0.5 };
  const claimed = await claimCampaignEmails(db, projectId, given);
  if (!claimed) return;
  const { emails } = claimed;
  const over = await takeAllowances(db, rules, projectId, emails);
  open.push({ projectId, attemptId, campaignId, emails, over });
};

const settle: Writer = async (world, random) => {
  const attempt = takeOpen(world, random);
  if (!attempt) return;
  const { projectId, attemptId, campaignId, emails, over } = attempt;
  const isDelivered = random() < 0.5;
  const isUsual = random() < 0.5;
  const outcomes = emails.map(({ id: emailId }): DeliveryOutcome => {
    if (over.has(emailId)) return { emailId, kind: 'withheld', reason: 'billing_limit' };
    const content = { subject: 'Hi Ada', bodyTemplate: 'letter', values: ['Ada'] };
    const messageId = random() < 0.5 ? `${emailId}@smtp` : randomUUID();
    const accepted = { emailId, kind: 'accepted', messageId, delivered: isDelivered } as const;
    if (isUsual) return campaignId ? { ...accepted, content } : accepted;
    return pick<DeliveryOutcome>(random, [
      accepted,
      { emailId, kind: 'refused', error: '550 no', refusal: 'recipient_refused' },
      { emailId, kind: 'withheld', reason: 'suppressed' },
      { emailId, kind: 'again', error: '451 later', delayMs: 0 },
      { emailId, kind: 'uncertain', error: 'The connection was lost.' },
      { emailId, kind: 'released' },
    ])!;
  });
  await recordDeliveryOutcomes(db, {
    projectId,
    attemptIds: [attemptId],
    claimed: emails,
    outcomes,
    ...(campaignId && {
      campaign: { id: campaignId, pauseOnFailures: 0, chunk: chunkOrigin(attemptId) },
    }),
  });
};

function takeOpen({ open }: World, random: Random): Open | undefined {
  return open.splice(Math.floor(random() * open.length), 1)[0];
}

const release: Writer = async (world, random) => {
  const attempt = takeOpen(world, random);
  if (!attempt) return;
  const { attemptId, campaignId } = attempt;
  await (campaignId ? releaseChunk(db, campaignId, attemptId) : releaseClaim(db, attemptId));
};

const report: Writer = async (world, random) => {
  const at = new Date(Date.now() - Math.floor(random() * 4) * 20 * 3_600_000);
  const feedback = (): Feedback =>
    pick<Feedback>(random, [
      { kind: 'accepted', at },
      { kind: 'delivery', at },
      { kind: 'open', at },
      { kind: 'click', link: 'https://shop.test', linkId: '00112233445566ff', at },
      { kind: 'bounce', bounceType: 'Transient', text: null, at },
      { kind: 'bounce', bounceType: 'Permanent', text: '550 no', isListed: random() < 0.5, at },
      { kind: 'complaint', isListed: random() < 0.5, at },
      { kind: 'rejection', text: 'It has a virus.', at },
    ])!;
  const isMeant = `(allowance_month is not null or source_type = 'TRANSACTIONAL')`;
  const reports = (await anyMail(world, random, isMeant)).map((emailId) => ({
    emailId,
    messageId: random() < 0.5 ? randomUUID() : null,
    feedback: [feedback(), feedback()],
    acceptedAt: random() < 0.5 ? at : null,
    receipt: null,
  }));
  await transact(db, async (tx) => {
    const found = (await findReportedMessages(tx, reports)).filter((one) => one !== null);
    await recordFeedback(tx, found, { judge: null });
  });
};

const writers: Readonly<Record<string, Writer>> = {
  insert,
  'insert more': insert,
  claim,
  'start a campaign': startOne,
  'claim a chunk': claimChunk,
  'claim another chunk': claimChunk,
  settle,
  'settle more': settle,
  release,
  report,
  'report more': report,
  reschedule: async (world, random) => {
    const [id] = await anyMail(world, random, `status = 'PENDING'`);
    const at = random() < 0.5 ? new Date(Date.now() + 60_000) : null;
    const given = { projectId: world.projectId, id: id!, at, refuse: () => {} };
    if (id) await allowRefusal(() => rescheduleEmail(db, rules, given));
  },
  cancel: async (world, random) => {
    const [id] = await anyMail(world, random, `status = 'PENDING'`);
    if (id) await allowRefusal(() => cancelEmail(db, { projectId: world.projectId, id }));
  },
  'end an execution': async ({ executions }, random) => {
    const id = pick(random, executions);
    if (id) await transact(db, (tx) => failWaitingMail(tx, [id], 'execution_ended'));
  },
  'cancel a campaign': async ({ campaigns }, random) => {
    const id = random() < 0.3 ? pick(random, campaigns) : undefined;
    if (!id) return;
    await sql`update campaign set status = 'CANCELLED' where id = ${id}`.execute(db);
    await failCampaignEmails(db, id, 50);
  },
  'queue leftovers': async ({ projectId, campaigns }, random) => {
    const id = pick(random, campaigns);
    if (id) await queueLeftovers(db, { id, projectId });
  },
  'let a worker die': async (world, random) => {
    const attempt = takeOpen(world, random);
    if (!attempt?.campaignId) return;
    await sql`update campaign_chunk set lease_until = now() - interval '1 second'
      where attempt_id = ${attempt.attemptId}`.execute(db);
    await expireChunks(db, 5);
    if (random() < 0.3) world.open.push(attempt);
  },
  'take over from a dead worker': async (world, random) => {
    const attempt = takeOpen(world, random);
    if (!attempt) return;
    const { attemptId, projectId, campaignId, emails } = attempt;
    const ids = emails.map(({ id }) => id).filter(() => random() < 0.5);
    await releaseLeftMessages(db, { attemptId, projectId, campaignId, content: null }, ids);
    if (random() < 0.5) world.open.push(attempt);
  },
  'settle the unknown': async (_, random) => {
    const policy = random() < 0.5 ? 'fail' : 'resend';
    await settleUncertainEmails(db, { settleMinutes: 0, policy, max: 10 });
  },
  'hold back': async ({ projectId }, random) => {
    const caps = random() < 0.5 ? [{ max: 1, perDays: 1 }] : [];
    await transact(db, (tx) => updateSendPolicy(tx, projectId, { caps, onCap: 'delay' }));
  },
  'release what is held': async ({ projectId }) => {
    await requestRelease(db, projectId);
    await releaseHeldMail(db, projectId, () => false);
  },
  'delete a contact': async ({ projectId, keepsContacts, contacts }, random) => {
    if (keepsContacts || random() < 0.7) return;
    const [id] = contacts.splice(Math.floor(random() * contacts.length), 1);
    if (id) await transact(db, (tx) => deleteContacts(tx, projectId, [id]));
  },
};

/** SQL of what disagrees in a project from which no mail was deleted. */
const countFaults = (projectId: string) => sql<{ what: string }>`
  with failed as (
    select campaign_id, coalesce(refusal, error) as code, count(*), count(sent_at) as sent
      from email where project_id = ${projectId} and campaign_id is not null and status = 'FAILED'
      group by 1, 2
  ), tally as (
    select campaign_id, code, sum(count) as count, sum(sent) as sent from campaign_tally
      where project_id = ${projectId} group by 1, 2 having sum(count) <> 0 or sum(sent) <> 0
  ), billed as (
    select id, billed_units from email
      where project_id = ${projectId} and sent_at is not null and status <> 'FAILED'
  ), reported as (
    select email_id as id, units from usage_report
      where email_id in (select id from email where project_id = ${projectId})
  )
  select 'tally lacks ' || row::text as what from (table failed except table tally) row
  union all select 'tally has too much: ' || row::text from (table tally except table failed) row
  union all select 'usage lacks ' || row::text from (table billed except table reported) row
  union all select 'usage has too much: ' || row::text from (table reported except table billed) row
  union all select 'nothing sends ' || id from email
    where project_id = ${projectId} and status = 'PENDING' and due_at is null
      and id not in (select unnest(email_ids) from campaign_chunk)`;

/**
 * The use of this month by campaigns and workflows, as it is stored, and as it is counted from the
 * messages.
 */
async function allowances(projectId: string) {
  const { transactional: _, ...stored } = await readTaken(db, projectId);
  await sql`delete from allowance where project_id = ${projectId}`.execute(db);
  const { transactional: __, ...counted } = await readTaken(db, projectId);
  return { stored, counted };
}

/**
 * Plays rounds of eight writers, and checks the tables after each. Returns the states it has seen.
 */
async function playRounds(seed: number, play: (turns: Turn[]) => Promise<unknown>) {
  const random = randomOf(seed);
  const worlds = [await createWorld(true), await createWorld(false)];
  const names = Object.keys(writers);
  const seen = new Set<string>();
  for (let round = 0; round < 60; round++) {
    const turns = Array.from({ length: 8 }, (): Turn => {
      const [name, world] = [pick(random, names)!, pick(random, worlds)!];
      return { name, play: () => writers[name]!(world, random) };
    });
    await play(turns);
    const faults = [
      ...(await sql<{ what: string }>`${sql.raw(mailTableFaults)}`.execute(db)).rows,
      ...(await countFaults(worlds[0]!.projectId).execute(db)).rows,
    ];
    for (const state of await listStates()) seen.add(state);
    expect(faults, `after ${turns.map(({ name }) => name).join(', ')}`).toEqual([]);
  }
  const { stored, counted } = await allowances(worlds[0]!.projectId);
  expect(stored).toEqual(counted);
  return seen;
}

interface Turn {
  name: string;
  play: () => Promise<unknown>;
}

it('every writer keeps the tables that follow', { timeout: 120_000 }, async () => {
  const seen = await playRounds(11, async (turns) => {
    for (const turn of turns) await turn.play();
  });
  expect(states.filter((state) => !seen.has(state))).toEqual([]);
});

it('eight writers at once keep the tables that follow', { timeout: 120_000 }, async () => {
  const seed = Number(process.env['LEDGER_SEED'] ?? 7);
  await playRounds(seed, (turns) => Promise.all(turns.map((turn) => turn.play())));
});

/** States and rows that the test must have seen. */
const states = [
  'PENDING',
  'SENDING',
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
  'FAILED',
  'queued',
  'moments',
  'late',
  'given ids',
];

async function listStates(): Promise<string[]> {
  const { rows } = await sql<{ state: string }>`
    select status as state from email
    union select 'queued' from email_queue
    union select 'moments' from email_moment
    union select 'late' from late_mail
    union select 'given ids' from provider_message`.execute(db);
  return rows.map(({ state }) => state);
}

/** A statement that changes messages, and columns on which other tables depend. */
const written = /\b(?:update|insert into|delete from) email\b/;
const determining =
  /delete from email|insert into email|\b(?:status|error|refusal|due_at|lease_until|hold_reason|held_until|waits_for|message_id|sent_at|delivered_at|opened_at|clicked_at|bounced_at|complained_at|unsubscribed_at)\s*=[^=]/;

it('is changed only by statements that name what follows', async () => {
  const files = (await readdir('db', { recursive: true })).filter((name) => name.endsWith('.ts'));
  const found: string[] = [];
  let checked = 0;
  for (const file of files) {
    const text = await readFile(join('db', file), 'utf8');
    for (const [statement] of text.matchAll(/`[^`]*(?:`[^`]*`[^`]*)*?`\.execute\(|`[^`]*`/g)) {
      const from = statement.search(written);
      if (from < 0) continue;
      const set = statement.slice(from).split(/\bwhere\b|\bfrom\b(?! email)/)[0] ?? '';
      if (!determining.test(statement.slice(from, from + 12)) && !determining.test(set)) continue;
      checked += 1;
      if (!statement.includes('follow')) found.push(`${file}: ${statement.slice(from, from + 60)}`);
    }
  }
  expect(found).toEqual([]);
  expect(checked).toBeGreaterThan(10);
});
