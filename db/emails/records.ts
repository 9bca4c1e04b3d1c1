import { type RawBuilder, sql } from 'kysely';
import { withinTime } from '../bounded.ts';
import { references } from '../columns.ts';
import type { Database } from '../database.ts';
import { columns } from '../tables.ts';
import { type KeptBody, readBodies } from './bodies.ts';
import type { EmailRow } from './emails.ts';
import { type Moment, momentsOf } from '../sql/mail-moments.ts';
import { heldUntil } from '../sql/send-policy.ts';
import { armOf, providerOf } from '../sql/mail-claims.ts';
import { type TraceEntry, traceOf } from '../sql/mail-trace.ts';
import {
  campaignStatusOf,
  hasWaiting,
  idsUnderWay,
  isUnsettled,
  statusOf,
} from '../sql/mail-status.ts';
import { limits } from '../../domain/limits.ts';

/** Reads messages, sent or not. */

/** Columns that a list does not read, because they may be large. */
const large = ['body', 'body_template', 'body_values', 'trace'] as const;

/** Columns whose value is computed: see `summary`. */
const computed: ReadonlySet<string> = new Set([
  'status',
  'held_until',
  'caused_by',
  'arm',
  'provider_id',
]);

const summaryColumns = columns.email.filter(
  (name) => !computed.has(name) && !(large as readonly string[]).includes(name),
);

const summary = sql`${references(summaryColumns, 'email')}, ${statusOf('email')} as status,
  ${campaignStatusOf('email')} as campaign_status, ${isUnsettled('email')} as is_unsettled,
  ${heldUntil('email')} as held_until, ${armOf('email')} as arm,
  ${providerOf('email')} as provider_id,
  coalesce(caused_by,
    (select inner_sent.sent_by from campaign inner_sent where inner_sent.id = email.campaign_id),
    (select inner_started.caused_by from execution inner_started
      where inner_started.id = email.workflow_execution_id)) as caused_by,
  (select inner_named.key from topic inner_named where inner_named.id = email.topic_id) as topic_key,
  (body is not null or body_values is not null) as has_body`;

export type EmailSummary = Omit<EmailRow, (typeof large)[number]> & {
  /** True if the body is stored. */
  has_body: boolean;
  /** null: the message has no topic, or the topic was deleted. */
  topic_key: string | null;
  /** Status of the message's campaign while the message waits; see `outcomeOf`. */
  campaign_status: string | null;
  is_unsettled: boolean;
};

/** A message with its body and trace, if they are stored. */
export type EmailRecord = EmailSummary & { body: string | null; trace: TraceEntry[] };

export interface EmailQuery {
  contactId?: string | undefined;
  campaignId?: string | undefined;
  executionId?: string | undefined;
  status?: string | undefined;
  sourceType?: string | undefined;
  /** True: only mail with a requested send time. */
  scheduled?: boolean | undefined;
  templateId?: string | undefined;
  /** The whole recipient address, in its stored form. */
  email?: string | undefined;
  /** Part of the recipient address or subject, in any case. */
  search?: string | undefined;
  /** Only mail that was queued at this time or later. */
  createdAfter?: Date | undefined;
  /** Only mail that was queued before this time. */
  createdBefore?: Date | undefined;
  after?: { value: string; id: string } | undefined;
  limit: number;
}

/** The moments (times in `email_moment`) by which messages with these states are found. */
const momentOf: Record<string, Moment> = {
  OPENED: 'opened',
  CLICKED: 'clicked',
  BOUNCED: 'bounced',
  COMPLAINED: 'complained',
};

/**
 * Maximum number of messages with a moment for which a page is read by their ids. With more,
 * reading all mail in order is faster.
 */
const fewMax = 10_000;

/**
 * Returns SQL conditions that find a page, and its count, by mail with a moment. Returns none for
 * the mail of a contact or an execution, because there is little.
 */
async function findByMoment(db: Database, projectId: string, query: EmailQuery) {
  const { contactId, campaignId, executionId, status } = query;
  const moment = status && momentOf[status];
  if (!moment || contactId || executionId) return { ofPage: [], ofCount: [] };
  const ids = sql`select email_id from ${momentsOf(projectId, moment)}`;
  const { rows } = await sql<{ isFew: boolean }>`
    select count(*) <= ${fewMax} as "isFew" from (${ids} limit ${fewMax + 1}) first`.execute(db);
  if (rows[0]?.isFew) {
    const isOne = [sql`id = any(array(${ids}))`];
    return { ofPage: isOne, ofCount: isOne };
  }
  return { ofPage: [], ofCount: campaignId ? [] : [sql`id in (${ids})`] };
}

function matching(
  projectId: string,
  query: EmailQuery,
  byMoment: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  const { contactId, campaignId, executionId, status, sourceType, scheduled } = query;
  const { templateId, email, search, createdAfter, createdBefore } = query;
  const isFound = (text: RawBuilder<unknown>) =>
    sql`position(lower(${search}::text) in lower(${text})) > 0`;
  return sql.join(
    [
      sql`project_id = ${projectId}`,
      ...(templateId ? [sql`template_id = ${templateId}`] : []),
      ...(createdAfter ? [sql`created_at >= ${createdAfter}`] : []),
      ...(createdBefore ? [sql`created_at < ${createdBefore}`] : []),
      ...(email === undefined ? [] : [sql`to_email = ${email}`]),
      ...(search ? [sql`(${isFound(sql`to_email`)} or ${isFound(sql`subject`)})`] : []),
      ...(contactId ? [sql`contact_id = ${contactId}`] : []),
      ...(campaignId ? [sql`campaign_id = ${campaignId}`] : []),
      ...(executionId ? [sql`workflow_execution_id = ${executionId}`] : []),
      ...(status ? [hasStatus(projectId, status)] : []),
      ...(campaignId && status === 'PENDING' ? [hasWaiting(sql`${campaignId}`)] : []),
      ...byMoment,
      ...(scheduled === undefined
        ? []
        : [scheduled ? sql`scheduled_for is not null` : sql`scheduled_for is null`]),
      ...(sourceType ? [sql`source_type = ${sql.lit(sourceType)}`] : []),
    ],
    sql` and `,
  );
}

/**
 * SQL that is true for messages with a status. Campaign mail that is being given to the mail
 * provider counts as SENDING, although its row says PENDING. SENDING mail is found by id, because
 * there is always little of it.
 */
function hasStatus(projectId: string, status: string) {
  const underWay = idsUnderWay(sql`${projectId}`);
  if (status === 'SENDING') {
    return sql`status in ('SENDING', 'PENDING') and id = any(array(
      select inner_sending.email_id from email_queue inner_sending
        where inner_sending.project_id = ${projectId} and inner_sending.lease_until is not null
      union all ${underWay}))`;
  }
  const isStatus = sql`status = ${sql.lit(status)}`;
  // Every failed message has an error, and an index finds messages by error.
  if (status === 'FAILED') return sql`${isStatus} and error is not null`;
  return status === 'PENDING' ? sql`${isStatus} and id not in ${underWay}` : isStatus;
}

interface EmailPage {
  rows: EmailSummary[];
  total: number;
}

/**
 * Lists messages of a project, newest first, and counts all matches (0 on later pages). Bodies are
 * not read, because a page of them would not fit in memory.
 * @throws Problem STATS_TOO_HEAVY if a search for texts takes too long, because no index has the
 * texts
 */
export function listEmails(db: Database, projectId: string, query: EmailQuery): Promise<EmailPage> {
  if (!query.search && query.email === undefined) return listMatching(db, projectId, query);
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, (tx) =>
    listMatching(tx, projectId, query),
  );
}

async function listMatching(
  db: Database,
  projectId: string,
  query: EmailQuery,
): Promise<EmailPage> {
  const { after, limit } = query;
  const { ofPage, ofCount } = await findByMoment(db, projectId, query);
  const { rows } = await sql<EmailSummary>`
    select ${summary} from email where ${matching(projectId, query, ofPage)}
        and ${after ? sql`(created_at, id) < (${after.value}, ${after.id})` : sql`true`}
      order by created_at desc, id desc
      limit ${limit}`.execute(db);
  const counted = after
    ? []
    : (
        await sql<{ total: number }>`
        select count(*)::int as total from email where ${matching(projectId, query, ofCount)}`.execute(
          db,
        )
      ).rows;
  return { rows, total: counted[0]?.total ?? 0 };
}

export async function findEmail(
  db: Database,
  projectId: string,
  id: string,
): Promise<EmailRecord | undefined> {
  const { rows } = await sql<Omit<EmailRecord, 'body'> & KeptBody>`
    select ${summary}, trace, id as email_id, body, body_template, body_values
      from email where project_id = ${projectId} and id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const [body = null] = await readBodies(db, projectId, [row]);
  return { ...row, body, trace: traceOf(row) };
}
