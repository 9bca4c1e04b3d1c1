import { randomUUID } from 'node:crypto';
import { type Insertable, sql } from 'kysely';
import { deliverBatch } from '../../../activities/mail/batches/deliver.ts';
import { claimUnheldEmails } from '../../../db/transactions/mail/hold-back.ts';
import { releaseClaim } from '../../../db/emails/emails.ts';
import type { ChunkOrigin } from '../../../db/transactions/mail/claims.ts';
import type { Database } from '../../../db/database.ts';
import type { DB } from '../../../db/tables.ts';
import type { Engine } from '../engine.ts';
import { writeMail } from '../mail-tables.ts';

/** Inserts rows of campaigns and mails into the database, for tests of sending and later events. */

type Fields<Table extends 'campaign' | 'email'> = Partial<Insertable<DB[Table]>>;

/** Inserts a campaign that is sending. Returns its id. */
export async function insertTestCampaign(
  db: Database,
  projectId: string,
  fields: Fields<'campaign'> = {},
): Promise<string> {
  const { id } = await db
    .insertInto('campaign')
    .values({
      project_id: projectId,
      name: 'News',
      subject: 'News',
      body: '<p>News</p>',
      from_email: 'team@shop.test',
      audience_type: 'ALL',
      message_class: 'MARKETING',
      status: 'SENDING',
      ...fields,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Inserts a sent message, unless `fields` say otherwise. Returns its id. */
export async function insertTestEmail(
  db: Database,
  given: { projectId: string; contactId: string; campaignId?: string },
  fields: Fields<'email'> = {},
): Promise<string> {
  const { id } = await writeMail(db, (tx) =>
    tx
      .insertInto('email')
      .values({
        project_id: given.projectId,
        contact_id: given.contactId,
        campaign_id: given.campaignId ?? null,
        to_email: sql<string>`(select email from contact where id = ${given.contactId})`,
        subject: 'Hi Ada',
        body: '<p>Hi</p>',
        from_email: 'team@shop.test',
        from_name: 'The Shop',
        message_class: 'MARKETING',
        source_type: given.campaignId ? 'CAMPAIGN' : 'TRANSACTIONAL',
        status: 'SENT',
        message_id: randomUUID(),
        sent_at: new Date(),
        ...fields,
      })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return id;
}

/** Inserts a due message of the engine's project. Returns its id. */
export function insertDueEmail(
  { api, project }: Engine,
  contactId: string,
  fields: Fields<'email'> = {},
): Promise<string> {
  const due = {
    message_class: 'TRANSACTIONAL',
    status: 'PENDING',
    message_id: null,
    sent_at: null,
  };
  return insertTestEmail(api.db, { projectId: project.id, contactId }, { ...due, ...fields });
}

/** Inserts due messages of the engine's project, each to a separate contact. */
export async function insertBacklog(
  { api: { db }, project, domain }: Engine,
  count: number,
): Promise<void> {
  await writeMail(db, (tx) =>
    sql`
    with receiver as (
      insert into contact (project_id, email, subscribed)
        select ${project.id}, ${randomUUID()}::text || n || '@people.test', true
          from generate_series(1, ${count}::int) n
        returning id, email
    )
    insert into email (project_id, contact_id, to_email, subject, body, from_email, message_class,
        source_type)
      select ${project.id}, id, email, 'Hi', '<p>Hi</p>', ${`a@${domain}`}, 'TRANSACTIONAL',
          'TRANSACTIONAL'
        from receiver`.execute(tx),
  );
}

/**
 * Delivers a batch of the due messages in the engine's project like a worker; all have the same
 * content. `change` replaces services of the engine.
 */
export async function deliverDue(
  { api: { db }, project: { id: projectId }, services }: Engine,
  change: Partial<Parameters<typeof deliverBatch>[0]>,
  stop = new AbortController().signal,
): Promise<number> {
  const { claimed } = await deliverBatch<Awaited<ReturnType<typeof claimUnheldEmails>>[number]>(
    { ...services, ...change },
    {
      projectId,
      max: 100,
      isRouted: false,
      async claim(attempt) {
        const claim = { projectId, throttled: false, ...attempt };
        return { emails: await claimUnheldEmails(db, claim) };
      },
      release: (attemptId) => releaseClaim(db, attemptId),
      prepare: async () => () => ({ raw: Buffer.from('Subject: Hi\r\n\r\nHi\r\n') }),
    },
    stop,
  );
  return claimed;
}

/** Returns the worker's data about a campaign chunk that an attempt has claimed. */
export const chunkOrigin = (attemptId: string): ChunkOrigin => ({
  attemptId,
  contentVersion: 1,
  fromName: 'Shop',
  replyTo: null,
  claimedAt: '2026-11-21T10:00:00.000Z',
  throttledAt: null,
});

/**
 * Inserts a message of a campaign in a claimed chunk. Returns its id, and the worker's data about
 * its attempt.
 */
export async function insertClaimedEmail(
  db: Database,
  given: { projectId: string; contactId: string; campaignId: string },
  fields: Fields<'email'> = {},
) {
  const { projectId, campaignId } = given;
  const attemptId = randomUUID();
  const chunk = chunkOrigin(attemptId);
  const emailId = await insertTestEmail(db, given, {
    status: 'PENDING',
    due_at: null,
    sent_at: null,
    message_id: null,
    ...fields,
  });
  await db
    .insertInto('campaign_chunk')
    .values({
      project_id: projectId,
      campaign_id: campaignId,
      email_ids: [emailId],
      attempt_id: attemptId,
      claimed_at: chunk.claimedAt,
      lease_until: new Date(Date.now() + 60_000),
    })
    .execute();
  const campaign = { id: campaignId, pauseOnFailures: 0, chunk };
  return { emailId, attempt: { projectId, attemptIds: [attemptId], campaign } };
}
