import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely';
import { references } from '../columns.ts';
import { notifyAfterCommit } from '../commits.ts';
import type { Database } from '../database.ts';
import { anyOf, isoTime, millisecondsToWait } from '../expressions.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';
import {
  hasAddressKey,
  isSenderGone,
  firstAttemptAt,
  hasRouting,
  isBound,
  trackingHost,
} from '../sql/mail-claims.ts';
import { heldUntilDecided, isHeldExecution, operatorHeld, waitingOf } from '../sql/mail-queue.ts';
import {
  type PlainRendering,
  plainRendering,
  scheduledEntry,
  throttled,
  traceEntry,
} from '../sql/mail-trace.ts';
import { holdsMail } from '../sql/send-policy.ts';
import { hasLeftTopic } from '../sql/topic-choices.ts';
import type { DB, Email } from '../tables.ts';
import type { TrackingSetting } from '../../domain/mail/tracking-setting.ts';
import type { WithheldReason } from '../../domain/outcomes/outcome.ts';
import { deliveryRunId } from '../../domain/runs/execution.ts';

/** An attachment as the email row lists it; its content is in `attachment`. */
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

export type NewEmail = Omit<
  Insertable<DB['email']>,
  'headers' | 'attachments' | 'status' | 'scheduled_for' | 'due_at'
> & {
  /** The requested send time; null or absent: at once. */
  scheduled_for?: Date | null;
  headers: MailHeader[];
  attachments?: StoredAttachment[];
  /** The reason why the message must not be sent: it fails at once. Absent: it is sent. */
  withheld?: WithheldReason;
  /** Set with the reason when the message's template could not be rendered. */
  renderedPlainly?: PlainRendering | undefined;
};

/**
 * Inserts an email, in the caller's transaction. Returns false when an email with this id or step
 * execution exists already, so a repeated step or request does not insert a second one.
 */
export async function insertEmail(
  tx: Database,
  { withheld, renderedPlainly, ...email }: NewEmail,
): Promise<boolean> {
  const withheldEntry = traceEntry(
    'withheld',
    sql`jsonb_build_object('reason', ${withheld}::text)`,
  );
  const trace = [
    ...(renderedPlainly ? [plainRendering(renderedPlainly)] : []),
    ...(email.scheduled_for ? [scheduledEntry(email.scheduled_for)] : []),
    ...(withheld ? [withheldEntry] : []),
  ];
  const { workflow_execution_id: executionId = null } = email;
  const mayBeHeld = executionId !== null && !withheld;
  const whenHeld = <T>(held: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
    sql<T>`case when (select "isHeld" from hold) then ${held} else ${other} end`;
  const hold = {
    due_at: whenHeld<Date>(heldUntilDecided, sql`now()`),
    hold_reason: whenHeld<string>(sql`'operator'`, sql`null`),
    held_until: whenHeld<Date>(heldUntilDecided, sql`null`),
  };
  if (mayBeHeld) trace.push(whenHeld(operatorHeld, sql`'[]'`));
  const isHeld = isHeldExecution(sql`${email.project_id}::uuid`, sql`${executionId}::uuid`);
  const inserting = tx
    .insertInto('email')
    .values({
      ...email,
      ...(email.scheduled_for ? { due_at: email.scheduled_for } : {}),
      ...(mayBeHeld ? hold : {}),
      ...(withheld ? { status: 'FAILED', error: withheld } : {}),
      ...(trace.length > 0 ? { trace: sql<string>`${sql.join(trace, sql` || `)}` } : {}),
      headers: JSON.stringify(email.headers),
      attachments: JSON.stringify(email.attachments ?? []),
    })
    .onConflict((conflict) => conflict.doNothing());
  const { rows } = await sql`
    with ${mayBeHeld ? sql`hold as materialized (select ${isHeld} as "isHeld"), ` : sql``}
    made as (${inserting} returning ${ledgerColumns('email')}), ${following({ now: 'made' }, ['queue'])}
    select id from made`.execute(tx);
  if (!withheld) await noteDelivery(tx, email);
  return rows.length > 0;
}

/**
 * Notifies the project's delivery run of a message. The run has a timer for the earliest message,
 * so messages that are due later need no notice.
 * @param email.scheduled_for when the message is due; null: now.
 */
export async function noteDelivery(
  tx: Database,
  email: { id?: string | undefined; project_id: string; scheduled_for?: Date | null },
): Promise<void> {
  const { id, project_id: projectId, scheduled_for: dueAt } = email;
  if (id && dueAt && (await hasEarlier(tx, projectId, { id, dueAt }))) return;
  notifyAfterCommit(tx, [{ runId: deliveryRunId(projectId), projectId }]);
}

/**
 * Returns true if the project's delivery run has a timer for other mail that is due earlier. Mail
 * that is due within seconds does not count: the run may deliver it, and find nothing else, before
 * this transaction is committed.
 */
async function hasEarlier(
  tx: Database,
  projectId: string,
  { id, dueAt }: { id: string; dueAt: Date },
): Promise<boolean> {
  const { rows } = await sql`
    select from ${waitingOf(sql`${projectId}`)}
      where due_at > now() + make_interval(secs => ${uncommittedSeconds}) and due_at <= ${dueAt}
        and email_id <> ${id}
      limit 1`.execute(tx);
  return rows.length > 0;
}

/**
 * Maximum expected duration of a transaction that inserts mail, in seconds. After a longer one, the
 * sweep finds the mail.
 */
const uncommittedSeconds = 15;

/** Finds the contact of a message, and the address that the message is sent to. */
export async function findEmailContact(
  db: Database,
  projectId: string,
  id: string,
): Promise<{ id: string; email: string } | undefined> {
  return db
    .selectFrom('email')
    .select(['contact_id as id', 'to_email as email'])
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Stores the attachments of one message. Returns their ids in the given order.
 * @param scheduledFor the send time, from which their retention counts; null: now.
 */
export async function insertAttachments(
  db: Database,
  projectId: string,
  contents: readonly Buffer[],
  scheduledFor: Date | null,
): Promise<string[]> {
  const ids: string[] = [];
  for (const content of contents) {
    const row = await db
      .insertInto('attachment')
      .values({ project_id: projectId, content, kept_from: scheduledFor })
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
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(rows.map((row) => [row.id, row.content]));
}

/** The number of due messages of a project, and the rules that apply to them. */
export interface DueEmails {
  count: number;
  /** True if the send policy or a ramp may hold some of the messages. */
  isPoliced: boolean;
  /** True if the project's routes choose the mail providers. */
  isRouted: boolean;
}

/** Counts a project's due messages, up to `max`. */
export async function countDueEmails(
  db: Database,
  projectId: string,
  max: number,
): Promise<DueEmails> {
  const { rows } = await sql<DueEmails>`
    select count(*)::int as count, ${holdsMail(sql`${projectId}`)} as "isPoliced",
        ${hasRouting(sql`${projectId}`)} as "isRouted" from (
      select from ${waitingOf(sql`${projectId}`)} where due_at <= now() limit ${max}) due`.execute(
    db,
  );
  return rows[0] ?? { count: 0, isPoliced: false, isRouted: false };
}

/**
 * A claim takes no further message once its bodies have this many bytes. So a worker needs about
 * this much memory for bodies in each of its parallel deliveries.
 */
const claimBodyBytes = 2 * 1024 * 1024;

/**
 * The columns of a claimed message: its content, and the columns that its counts and limits need.
 */
const claimedColumns = [
  'id',
  'project_id',
  'contact_id',
  'workflow_execution_id',
  'to_name',
  'to_email',
  'subject',
  'body',
  'from_email',
  'from_name',
  'reply_to',
  'headers',
  'attachments',
  'link_ids',
  'message_class',
  'source_type',
  'attempts',
  'created_at',
  'scheduled_for',
  'held_until',
  'retried_at',
  'billed_units',
  'allowance_month',
  'opt_in_id',
  'topic_id',
  'provider_id',
] as const satisfies (keyof EmailRow)[];

/** A claimed message, with the values that are checked again right before it is sent. */
export type ClaimedEmail = Pick<EmailRow, (typeof claimedColumns)[number]> & {
  contact_subscribed: boolean;
  contact_email: string;
  project_disabled: boolean;
  sender_gone: boolean;
  /** True if the contact is being erased. */
  contact_gone: boolean;
  has_suppressions: boolean;
  topic_left: boolean;
  /**
   * True if the provider of an earlier attempt may have accepted the message, so no other provider
   * may get it.
   */
  is_bound: boolean;
  /**
   * State of the opt-in request that this mail asks to confirm; null: it is not a confirmation
   * mail.
   */
  opt_in_state: string | null;
  /**
   * Data of the contact. Set only if the caller applies the send policy (`EmailClaim.isPoliced`);
   * otherwise null.
   */
  contact_data: Record<string, unknown> | null;
  /**
   * The workflow whose step sent the message. Set only with `EmailClaim.isPoliced`; otherwise null.
   */
  workflow_id: string | null;
  /** The setting that says which mail of the project is tracked. */
  project_tracking: TrackingSetting;
  /** Host of the tracked links; null: the host of the API. */
  tracking_host: string | null;
  /** The contact's language. */
  locale: string;
  /** Start of the first attempt; null: this is the first attempt. */
  first_attempt_at: string | null;
};

/** A claim of due messages. */
export interface EmailClaim {
  projectId: string;
  attemptId: string;
  max: number;
  leaseSeconds: number;
  /** True if the sending limits have delayed these messages. */
  throttled: boolean;
  /**
   * True: the caller applies the send policy. False: the claim is empty if the project has got a
   * policy meanwhile.
   */
  isPoliced?: boolean;
}

/**
 * Claims due messages of a project for one attempt: they become SENDING, with the attempt's id and
 * a lease, committed before any is given to the mail provider. No other attempt can claim them
 * until their outcomes are recorded. The bytes of one claim are limited, whatever `max` is; only a
 * single message may exceed the limit.
 */
export async function claimDueEmails(db: Database, given: EmailClaim): Promise<ClaimedEmail[]> {
  const { rows } = await sql<ClaimedEmail>`
    with due as (
      select id, email.due_at, octet_length(body) as body_bytes
        from ${waitingOf(sql`${given.projectId}`)} join email on id = email_id
        -- due_at of the locked row is compared too, because another transaction may have
        -- postponed the message.
        where waiting.due_at <= now() and email.due_at <= now() and status = 'PENDING'
          and (${given.isPoliced ?? false} or not ${holdsMail(sql`${given.projectId}`)})
        order by waiting.due_at, email_id
        limit ${given.max}
        for update of email skip locked
    ), weighed as (
      select id, coalesce(sum(body_bytes) over (order by due_at, id
          rows between unbounded preceding and 1 preceding), 0) as bytes_before
        from due
    ), claimed as (
      update email set ${claimed(given)}
        from weighed where email.id = weighed.id and bytes_before < ${claimBodyBytes}
        returning ${ledgerColumns('email', claimedColumns)}, ${isBound('email')} as is_bound,
          case when email.attempts > 1 then ${firstAttemptAt('email')} end as first_attempt_at
    ), ${following({ now: 'claimed' }, ['queue'])}
    select ${references(claimedColumns, 'claimed')}, claimed.first_attempt_at, claimed.is_bound, contact.subscribed as contact_subscribed,
        contact.email as contact_email,
        project.disabled_reason is not null as project_disabled,
        ${isSenderGone('claimed')} as sender_gone,
        contact.project_id <> claimed.project_id as contact_gone,
        ${hasAddressKey(given.projectId)} as has_suppressions,
        ${hasLeftTopic(sql`claimed.contact_id`, sql`claimed.topic_id`)} as topic_left,
        case when claimed.opt_in_id is not null then coalesce(
          (select state from opt_in where opt_in.id = claimed.opt_in_id), 'gone') end as opt_in_state,
        project.tracking as project_tracking, ${trackingHost('claimed')} as tracking_host,
        case when ${given.isPoliced ?? false} then contact.data end as contact_data,
        case when ${given.isPoliced ?? false} then (select execution.workflow_id from execution
          where execution.id = claimed.workflow_execution_id) end as workflow_id,
        coalesce(nullif(contact.data ->> 'locale', ''), project.language) as locale
      from claimed
      join contact on contact.id = claimed.contact_id
      join project on project.id = claimed.project_id
      order by claimed.due_at, claimed.id`.execute(db);
  return rows;
}

/**
 * The columns that a claim sets. A delay by the sending limits is added to the trace once, not by
 * each attempt.
 */
function claimed(given: { attemptId: string; leaseSeconds: number; throttled: boolean }) {
  const heldBack = given.throttled ? sql`${throttled(isoTime(sql`email.due_at`))} ||` : sql``;
  const attempt = sql`jsonb_build_object('attempt', email.attempts + 1)`;
  return sql`
    status = 'SENDING', attempt_id = ${given.attemptId}, attempts = attempts + 1, waits_for = null,
    lease_until = now() + make_interval(secs => ${given.leaseSeconds}), updated_at = now(),
    trace = email.trace || ${heldBack} ${traceEntry('handed_over', attempt)}`;
}

/**
 * Releases the claims of an attempt that has given no message to the mail provider: the messages
 * become due again.
 */
export async function releaseClaim(db: Database, attemptId: string): Promise<void> {
  await sql`
    with released as (
      update email set status = 'PENDING', attempt_id = null, attempts = attempts - 1,
          lease_until = null, trace = trace - (-1), updated_at = now()
        where status = 'SENDING' and attempt_id = ${attemptId}
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'released' }, ['queue'])}
    select from released`.execute(db);
}

/** Milliseconds until the project's next message is due (0: now); null: no message waits. */
export async function findNextDue(db: Database, projectId: string): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select ${millisecondsToWait(sql`min(due_at)`)} as ms
      from ${waitingOf(sql`${projectId}`)}`.execute(db);
  return rows[0]?.ms ?? null;
}

/**
 * Lists projects whose messages have been due for a while, so no run delivers them. While the
 * default provider cannot take mail, the mail of projects without routes waits: one of these
 * projects is listed when a probe is due. Reads one index entry for each project with waiting mail,
 * not one for each message.
 * @param given.provider the name of the default provider's circuit; null: the installation has
 * routes for all mail, so no project waits for this circuit
 */
export async function listForgottenDeliveries(
  db: Database,
  { max, provider }: { max: number; provider: string | null },
): Promise<string[]> {
  const next = (from: RawBuilder<unknown>) => sql`(
    select inner_next.project_id from email_queue inner_next
      where inner_next.campaign_id is null and inner_next.lease_until is null and ${from}
      order by inner_next.project_id limit 1)`;
  const isRouted = hasRouting(sql`waiting_of.project_id`);
  const hasDue = sql`exists (select from ${waitingOf(sql`waiting_of.project_id`)}
    where due_at < now() - interval '5 seconds')`;
  const { rows } = await sql<{ project_id: string }>`
    with recursive waiting_of(project_id) as (
      select ${next(sql`true`)}
      union all
      select ${next(sql`inner_next.project_id > waiting_of.project_id`)} from waiting_of
        where waiting_of.project_id is not null
    )
    (select project_id from waiting_of where ${isRouted} and ${hasDue} limit ${max}::int)
    union all
    (select project_id from waiting_of where not ${isRouted} and ${hasDue}
      limit (select case when count(*) = 0 then ${max}::int
            when min(next_probe_at) < now() - interval '5 seconds' then 1 else 0 end
        from provider_circuit where provider = ${provider} and next_probe_at is not null))`.execute(
    db,
  );
  return rows.map((row) => row.project_id);
}
