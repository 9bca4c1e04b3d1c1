import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from './database.ts';
import { type Due, isoTime, type NewEvent, nothingDue, recordEvents } from './events.ts';
import type { DB, Email } from './tables.ts';

/** A file as the ledger names it; its content lies in `attachment`. */
export interface StoredAttachment {
  attachmentId: string;
  filename: string;
  contentType: string;
  disposition: 'attachment' | 'inline';
  contentId: string | null;
  bytes: number;
}

export interface MailHeader {
  name: string;
  value: string;
}

export type EmailRow = Omit<Selectable<Email>, 'headers' | 'attachments'> & {
  headers: MailHeader[];
  attachments: StoredAttachment[];
};

export type NewEmail = Omit<Insertable<DB['email']>, 'headers' | 'attachments'> & {
  headers: MailHeader[];
  attachments?: StoredAttachment[];
};

/**
 * Puts a message into the ledger, in the caller's transaction. A step that is repeated does not
 * make a second one.
 */
export async function insertEmail(tx: Database, email: NewEmail): Promise<void> {
  await tx
    .insertInto('email')
    .values({
      ...email,
      headers: JSON.stringify(email.headers),
      attachments: JSON.stringify(email.attachments ?? []),
    })
    .onConflict((conflict) =>
      conflict
        .column('workflow_step_execution_id')
        .where('workflow_step_execution_id', 'is not', null)
        .doNothing(),
    )
    .execute();
}

/** Stores the content of the files of one request. Answers their ids in the given order. */
export async function insertAttachments(
  db: Database,
  projectId: string,
  contents: readonly Buffer[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const content of contents) {
    const row = await db
      .insertInto('attachment')
      .values({ project_id: projectId, content })
      .returning('id')
      .executeTakeFirstOrThrow();
    ids.push(row.id);
  }
  return ids;
}

export async function listAttachmentContents(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, Buffer>> {
  const rows = await db
    .selectFrom('attachment')
    .select(['id', 'content'])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row.content]));
}

/** How many of a project's messages are due now, counted no further than `max`. */
export async function countDueEmails(
  db: Database,
  projectId: string,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from email
        where project_id = ${projectId} and status = 'PENDING' and campaign_id is null
          and due_at <= now()
        limit ${max}) due`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A claimed message with what is looked at again right before it leaves. */
export type ClaimedEmail = EmailRow & {
  contact_subscribed: boolean;
  contact_email: string;
  project_disabled: boolean;
  /** The language the contact is written to in. */
  locale: string;
};

/**
 * Claims due messages of a project for one attempt: SENDING, with the attempt's id and a lease,
 * committed before anything is handed over. Nobody else can claim them until they are settled.
 */
export async function claimDueEmails(
  db: Database,
  given: { projectId: string; attemptId: string; max: number; leaseSeconds: number },
): Promise<ClaimedEmail[]> {
  const { rows } = await sql<ClaimedEmail>`
    with due as (
      select id from email
        where project_id = ${given.projectId} and status = 'PENDING' and campaign_id is null
          and due_at <= now()
        order by due_at, id
        limit ${given.max}
        for update skip locked
    ), claimed as (
      update email set status = 'SENDING', attempt_id = ${given.attemptId},
          attempts = attempts + 1, updated_at = now(),
          lease_until = now() + make_interval(secs => ${given.leaseSeconds})
        from due where email.id = due.id
        returning email.*
    )
    select claimed.*, contact.subscribed as contact_subscribed, contact.email as contact_email,
        project.disabled_reason is not null as project_disabled, coalesce(nullif(contact.data ->> 'locale', ''), project.language) as locale
      from claimed
      join contact on contact.id = claimed.contact_id
      join project on project.id = claimed.project_id
      order by claimed.due_at, claimed.id`.execute(db);
  return rows;
}

/** Takes back the claims of an attempt that has handed nothing over: they are due as before. */
export async function releaseClaim(db: Database, attemptId: string): Promise<void> {
  await db
    .updateTable('email')
    .set((eb) => ({
      status: 'PENDING',
      attempt_id: null,
      attempts: eb('attempts', '-', 1),
      lease_until: null,
      updated_at: sql<Date>`now()`,
    }))
    .where('status', '=', 'SENDING')
    .where('attempt_id', '=', attemptId)
    .execute();
}

/** What became of one claimed message. */
export type Settlement = { emailId: string } & (
  | { kind: 'accepted'; messageId: string; delivered: boolean }
  | { kind: 'failed'; error: string }
  | { kind: 'again'; error: string; delayMs: number }
  /** It may have been accepted: the row stays SENDING until feedback or time settles it. */
  | { kind: 'uncertain'; error: string }
);

/**
 * Records the outcomes of one attempt and the events they are, in one transaction. A row that is
 * no longer this attempt's is left alone.
 */
export async function recordSettlements(
  db: Database,
  given: { projectId: string; attemptId: string; settlements: readonly Settlement[] },
): Promise<Due> {
  const outcomes = JSON.stringify(
    given.settlements.map((settlement) => ({
      id: settlement.emailId,
      status: settledStatus(settlement),
      message_id: settlement.kind === 'accepted' ? settlement.messageId : null,
      error: settlement.kind === 'accepted' ? null : settlement.error,
      delay_ms: settlement.kind === 'again' ? settlement.delayMs : 0,
    })),
  );
  return db.transaction().execute(async (tx) => {
    // The contacts first, in order, as everywhere: see `enterStep`.
    await sql`
      select from contact
        where id in (select contact_id from email
          where id = any(${given.settlements.map(({ emailId }) => emailId)}::uuid[]))
        order by id for no key update`.execute(tx);
    const { rows } = await sql<SentEmail>`
      update email set
          status = outcome.status,
          message_id = outcome.message_id,
          error = outcome.error,
          due_at = case when outcome.status = 'PENDING'
            then now() + make_interval(secs => outcome.delay_ms / 1000.0)
            else email.due_at end,
          lease_until = case when outcome.status = 'SENDING' then now() end,
          sent_at = case when outcome.status in ('SENT', 'DELIVERED') then clock_timestamp() end,
          delivered_at = case when outcome.status = 'DELIVERED' then clock_timestamp() end,
          updated_at = now()
        from jsonb_to_recordset(${outcomes}::jsonb)
          as outcome(id uuid, status text, message_id text, error text, delay_ms int)
        where email.id = outcome.id and email.status = 'SENDING'
          and email.attempt_id = ${given.attemptId}
        returning email.id, email.contact_id, email.status, email.subject, email.from_email,
          email.from_name, email.message_id, email.template_id, email.campaign_id,
          email.source_type, ${isoTime(sql`email.sent_at`)} as sent_at,
          ${isoTime(sql`email.delivered_at`)} as delivered_at`.execute(tx);
    const events = rows.flatMap(sentEvents);
    if (events.length === 0) return nothingDue;
    return (await recordEvents(tx, given.projectId, events, { contactsLocked: true })).due;
  });
}

interface SentEmail {
  id: string;
  contact_id: string;
  status: string;
  subject: string;
  from_email: string;
  from_name: string | null;
  message_id: string | null;
  template_id: string | null;
  campaign_id: string | null;
  source_type: string;
  sent_at: string | null;
  delivered_at: string | null;
}

function settledStatus(settlement: Settlement): string {
  switch (settlement.kind) {
    case 'accepted':
      return settlement.delivered ? 'DELIVERED' : 'SENT';
    case 'failed':
      return 'FAILED';
    case 'again':
      return 'PENDING';
    case 'uncertain':
      return 'SENDING';
  }
}

function sentEvents(email: SentEmail): NewEvent[] {
  if (email.sent_at === null) return [];
  const base = {
    subject: email.subject,
    from: email.from_email,
    fromName: email.from_name,
    messageId: email.message_id,
    emailId: email.id,
    templateId: email.template_id,
    campaignId: email.campaign_id,
    sourceType: email.source_type,
  };
  const about = { contactId: email.contact_id, emailId: email.id };
  const sent = { ...about, name: 'email.sent', data: { ...base, sentAt: email.sent_at } };
  if (email.delivered_at === null) return [sent];
  const delivered = { ...base, deliveredAt: email.delivered_at };
  return [sent, { ...about, name: 'email.delivery', data: delivered }];
}

/** Milliseconds until the project's next message is due (0: now), or null when none waits. */
export async function findNextDue(db: Database, projectId: string): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select ceil(greatest(0, extract(epoch from min(due_at) - clock_timestamp()) * 1000))::int as ms
      from email
      where project_id = ${projectId} and status = 'PENDING' and campaign_id is null`.execute(db);
  return rows[0]?.ms ?? null;
}

/** Projects with messages that have been due for a while: nobody delivers them. */
export async function listForgottenLanes(db: Database, max: number): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    select id as project_id from project
      where exists (select from email
        where email.project_id = project.id and status = 'PENDING' and campaign_id is null
          and due_at < now() - interval '5 seconds')
      limit ${max}`.execute(db);
  return rows.map((row) => row.project_id);
}

/**
 * Ends messages whose outcome stayed unknown for the settle time, by policy: FAILED with
 * `delivery_unknown`, or due once more. Answers how many.
 */
export async function settleUncertainEmails(
  db: Database,
  given: { settleMinutes: number; policy: 'fail' | 'resend' },
): Promise<number> {
  const resend = given.policy === 'resend';
  const result = await db
    .updateTable('email')
    .set({
      status: resend ? 'PENDING' : 'FAILED',
      error: resend ? null : 'delivery_unknown',
      lease_until: null,
      attempt_id: null,
      due_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('status', '=', 'SENDING')
    .where(
      'lease_until',
      '<',
      sql<Date>`now() - make_interval(mins => ${given.settleMinutes}::int)`,
    )
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
