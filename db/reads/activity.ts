import { type RawBuilder, sql } from 'kysely';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import { readBodies } from '../emails/bodies.ts';
import type { Period } from '../events/statistics.ts';
import { anyOf, isoTime } from '../expressions.ts';
import { type Moment, countMoments, momentsOf } from '../sql/mail-moments.ts';
import { type PastType, itemForms, pastTypes, rowsBefore } from '../../domain/activity.ts';
import { limits } from '../../domain/limits.ts';
import { stepTypesWith } from '../../domain/workflow/steps/registry.ts';

/** Builds the activity feed of a project from the rows of several tables. */

const typesWithMail = stepTypesWith(({ sendsMail }) => sendsMail);

type Table = 'event' | 'email' | 'campaign' | 'execution';

/**
 * The rows from which items of one type are made. Each source has an index on (project_id, at, id).
 */
interface Source {
  table: Table;
  /** The time of the item, to the millisecond. */
  at: RawBuilder<Date>;
  /** The time `at` as a UTC timestamp without time zone, if the index has that form. */
  utc?: RawBuilder<Date>;
  /** SQL that selects the rows that are items. */
  where: RawBuilder<boolean>;
  /** For mail: the kind of moment that `at` is. */
  moment?: Moment;
}

// The expressions must equal those of the indexes exactly, so they have no parameters.
const column = (name: string) => sql.raw<Date>(name);
const startedUtc = `date_trunc('milliseconds', started_at at time zone 'UTC')`;
const named = (name: string): Source => ({
  table: 'event',
  at: column('created_at'),
  where: sql.raw(`name = '${name}'`),
});
const mailed = (at: string, moment: Moment): Source => ({
  table: 'email',
  at: column(at),
  where: sql.raw(`${at} is not null`),
  moment,
});

/** Mail that was accepted for sending: neither failed nor inbound. */
const isSent = sql.raw<boolean>(
  `sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND'`,
);

/** Executions of a deleted workflow remain until they are deleted in pages. */
const hasWorkflow =
  'exists (select from workflow inner_workflow where inner_workflow.id = workflow_id)';

const sources: Readonly<Record<PastType, Source>> = {
  'event.triggered': {
    table: 'event',
    at: column('created_at'),
    where: sql.raw(
      // The first part equals the condition of the index event_tracked.
      String.raw`name !~ '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$'
        and name not in ('contact.topic.subscribed', 'contact.topic.unsubscribed')`,
    ),
  },
  'contact.subscribed': named('contact.subscribed'),
  'contact.unsubscribed': named('contact.unsubscribed'),
  'email.sent': { ...mailed('sent_at', 'sent'), where: isSent },
  'email.delivered': mailed('delivered_at', 'delivered'),
  'email.opened': mailed('opened_at', 'opened'),
  'email.clicked': mailed('clicked_at', 'clicked'),
  'email.bounced': mailed('bounced_at', 'bounced'),
  'email.complaint': mailed('complained_at', 'complained'),
  'email.received': {
    table: 'email',
    at: column('created_at'),
    where: sql.raw(`source_type = 'INBOUND'`),
  },
  'campaign.sent': {
    table: 'campaign',
    at: column('sent_at'),
    where: sql.raw('sent_at is not null'),
  },
  'workflow.started': {
    table: 'execution',
    at: column(`(${startedUtc} at time zone 'UTC')`),
    utc: column(startedUtc),
    where: sql.raw(hasWorkflow),
  },
  'workflow.completed': {
    table: 'execution',
    at: column('completed_at'),
    where: sql.raw(`completed_at is not null and ${hasWorkflow}`),
  },
};

/** A position in the feed: after the item with the time `at` and this id. */
export interface FeedPosition {
  at: Date;
  /** '' is the position after all items with the time `at`. */
  id: string;
}

export interface FeedQuery {
  types: readonly PastType[];
  contactId?: string | undefined;
  from: Date | null;
  to: Date | null;
  after: FeedPosition | null;
  limit: number;
}

/**
 * Returns one page of the feed, newest first; items of one millisecond by descending id. Merges the
 * newest rows of each type. The page ends before `limit` if its bodies would take too much memory.
 */
export async function listActivity(
  db: Database,
  projectId: string,
  query: FeedQuery,
): Promise<{ rows: ActivityRow[]; hasMore: boolean }> {
  // One row more than requested shows if there is a next page.
  const more = { ...query, limit: query.limit + 1 };
  const parts = query.types
    .filter((type) => query.contactId === undefined || sources[type].table !== 'campaign')
    .map((type) => sourceRows(projectId, type, more));
  if (parts.length === 0) return { rows: [], hasMore: false };
  const { rows: found } = await sql<ListedRow>`
    with page as (
      select type, kind, id, at, item_id from (${sql.join(parts, sql` union all `)}) part
        order by at desc, item_id collate "C" desc
        limit ${more.limit}
    )
    select page.type, page.item_id, ${isoTime(sql`page.at`)} as at,
        contact.id as contact_id, contact.email as contact_email,
        event.name as event_name, event.data as event_data,
        email.subject, email.from_email, email.from_name, email.reply_to,
        email.to_name, email.source_type, email.opens, email.clicks, email.error,
        email.id as email_id, coalesce(octet_length(email.body),
          octet_length(email.body_values::text) + octet_length(body_template.body::text), 0) as body_bytes,
        campaign.name as campaign_name, campaign.subject as campaign_subject,
        campaign.total_recipients, campaign.audience_type, segment.name as segment_name,
        execution.workflow_name, execution.key, execution.status, execution.exit_reason
      from page
      left join event on page.kind = 'event' and event.id = page.id
      left join email on page.kind = 'email' and email.id = page.id
      left join campaign on campaign.id =
        case page.kind when 'campaign' then page.id else email.campaign_id end
      left join body_template on body_template.campaign_id = email.campaign_id
        and body_template.hash = email.body_template
      left join segment on segment.id = campaign.segment_id
      left join execution on execution.id =
        case page.kind when 'execution' then page.id else email.workflow_execution_id end
        and (select true from workflow where workflow.id = execution.workflow_id)
      left join contact on contact.id = case page.kind
        when 'event' then event.contact_id
        when 'email' then email.contact_id
        when 'execution' then execution.contact_id end
      order by page.at desc, page.item_id collate "C" desc`.execute(db);
  const page = found.slice(0, Math.min(query.limit, countThatFit(found)));
  const bodies = await readPageBodies(db, projectId, page);
  const rows = page.map((row) => ({ ...row, body: bodies.get(row.email_id ?? '') ?? null }));
  return { rows, hasMore: found.length > rows.length };
}

/** A row of the feed without the body of its mail. Bodies are read once the page is known. */
type ListedRow = Omit<ActivityRow, 'body'> & { email_id: string | null; body_bytes: number };

/** Returns the number of rows whose bodies fit into one page; at least one. */
function countThatFit(rows: readonly ListedRow[]): number {
  let bytes = 0;
  const end = rows.findIndex(({ body_bytes: own }, index) => {
    bytes += own;
    return index > 0 && bytes > limits.pageBodyBytes;
  });
  return end < 0 ? rows.length : end;
}

/** Returns the bodies of the mails on a page, by mail id. Several items may show the same mail. */
async function readPageBodies(
  db: Database,
  projectId: string,
  rows: readonly ListedRow[],
): Promise<Map<string, string | null>> {
  const ids = [...new Set(rows.flatMap(({ email_id: id }) => id ?? []))];
  if (ids.length === 0) return new Map();
  const emails = await db
    .selectFrom('email')
    .select(['id as email_id', 'contact_id', 'campaign_id', 'body', 'body_template', 'body_values'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .execute();
  const bodies = await readBodies(db, projectId, emails);
  return new Map(emails.map(({ email_id: id }, index) => [id, bodies[index] ?? null]));
}

export interface ActivityRow {
  type: PastType;
  item_id: string;
  at: string;
  contact_id: string | null;
  contact_email: string | null;
  event_name: string | null;
  event_data: Record<string, unknown> | null;
  subject: string | null;
  body: string | null;
  from_email: string | null;
  from_name: string | null;
  reply_to: string | null;
  to_name: string | null;
  source_type: string | null;
  opens: number | null;
  clicks: number | null;
  error: string | null;
  campaign_name: string | null;
  campaign_subject: string | null;
  total_recipients: number | null;
  audience_type: string | null;
  segment_name: string | null;
  workflow_name: string | null;
  key: string | null;
  status: string | null;
  exit_reason: string | null;
}

/** SQL that selects the newest rows of one type for the page. */
function sourceRows(projectId: string, type: PastType, query: FeedQuery): RawBuilder<unknown> {
  const { table, at, utc = at } = sources[type];
  const { prefix, suffix } = itemForms[type];
  const { from, isOwn } = rowsOf(projectId, type, query.contactId);
  const conditions = [isOwn, ...within(type, query)];
  if (query.after) {
    const { id, inclusive } = rowsBefore(itemForms[type], query.after.id);
    const before = sql.raw(inclusive ? '<=' : '<');
    conditions.push(sql`(${utc}, id) ${before} (${moment(type, query.after.at)}, ${id}::uuid)`);
  }
  return sql`
    (select ${sql.lit(type)} as type, ${sql.lit(table)} as kind, id, ${at} as at,
        ${sql.lit(prefix)} || id || ${sql.lit(suffix)} as item_id
      from ${from}
      where ${sql.join(conditions, sql` and `)}
      order by ${utc} desc, id desc
      limit ${query.limit})`;
}

/** SQL of the rows of a type, with `id` and time: those of a project, or of one of its contacts. */
function rowsOf(projectId: string, type: PastType, contactId?: string) {
  const { table, at, where, moment } = sources[type];
  const isOwn = sql`project_id = ${projectId} and ${where}`;
  if (contactId !== undefined) {
    // Filter by the contact first: for few rows, scanning an index by time would take long.
    const from = sql`(select ${columnList(table)} from ${sql.table(table)}
      where contact_id = ${contactId} offset 0) mine`;
    return { from, isOwn };
  }
  if (moment === undefined) return { from: sql.table(table), isOwn };
  const from = sql`(select email_id as id, at as ${at} from ${momentsOf(projectId, moment)}) mine`;
  return { from, isOwn: sql`true` };
}

/** Converts a time to the form in which it is compared with rows of the type. */
function moment(type: PastType, at: Date): RawBuilder<unknown> {
  const moment = sql`${at}::timestamptz`;
  return sources[type].utc ? sql`${moment} at time zone 'UTC'` : moment;
}

function within(
  type: PastType,
  { from, to }: { from: Date | null; to: Date | null },
): RawBuilder<unknown>[] {
  const { at, utc = at } = sources[type];
  return [
    ...(from ? [sql`${utc} >= ${moment(type, from)}`] : []),
    ...(to ? [sql`${utc} <= ${moment(type, to)}`] : []),
  ];
}

/** Counts the items of each type in a period of the feed. */
export async function countActivity<T extends PastType>(
  db: Database,
  projectId: string,
  types: readonly T[],
  period: Period,
): Promise<Record<T, number>> {
  const counts = types.map(
    (type) => sql`${countItems(projectId, type, period)} as ${sql.ref(type.replace('.', '_'))}`,
  );
  const { rows } = await sql<Record<string, number>>`select ${sql.join(counts)}`.execute(db);
  const [row = {}] = rows;
  const entries = types.map((type) => [type, row[type.replace('.', '_')] ?? 0] as const);
  return Object.fromEntries(entries) as Record<T, number>;
}

function countItems(projectId: string, type: PastType, period: Period): RawBuilder<number> {
  const { moment: mail } = sources[type];
  if (mail !== undefined) {
    const from = sql<Date>`${period.from}::timestamptz`;
    return countMoments(projectId, mail, {
      from,
      ...(period.to && { to: sql<Date>`${period.to}::timestamptz` }),
    });
  }
  const { from, isOwn } = rowsOf(projectId, type);
  return sql`(select count(*)::float8 from ${from}
    where ${sql.join([isOwn, ...within(type, period)], sql` and `)})`;
}

/** Counts the items since a time. */
export async function countRecentActivity(
  db: Database,
  projectId: string,
  from: Date,
): Promise<number> {
  const counts = await countActivity(db, projectId, pastTypes, { from, to: null });
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export interface UpcomingRow {
  item_id: string;
  kind: 'campaign' | 'step';
  at: string;
  contact_id: string | null;
  contact_email: string | null;
  campaign_name: string | null;
  subject: string | null;
  total_recipients: number | null;
  audience_type: string | null;
  segment_name: string | null;
  workflow_name: string | null;
  key: string | null;
  step_name: string | null;
  /** True for a mail that a step will send at this time. */
  is_email: boolean;
}

/**
 * Lists what is planned until `to`, soonest first: campaigns (also overdue ones), and executions
 * whose next step has a time or whose wait has a timeout.
 */
export async function listUpcoming(
  db: Database,
  projectId: string,
  query: { from: Date; to: Date; limit: number },
): Promise<UpcomingRow[]> {
  const { from, to, limit } = query;
  const { rows } = await sql<UpcomingRow>`
    with page as (
      (select 'campaign' as kind, id, scheduled_for as at, null::uuid as execution_id,
          null::uuid as step_id
        from campaign
        where project_id = ${projectId} and status = 'SCHEDULED'
          and scheduled_for <= ${to}::timestamptz
        order by scheduled_for, id limit ${limit})
      union all
      (select 'step', step.id, scheduled_for, execution_id, step_id
        from step_execution step join execution on execution.id = execution_id
        where step.project_id = ${projectId} and scheduled_for is not null
          and scheduled_for between ${from}::timestamptz and ${to}::timestamptz
          and step.status = 'SCHEDULED' and execution.status in ('RUNNING', 'WAITING')
        order by scheduled_for, step.id limit ${limit})
      union all
      (select 'step', step_execution_id, expires_at, wait.execution_id, step.step_id
        from wait join step_execution step on step.id = step_execution_id
        where wait.project_id = ${projectId} and expires_at is not null and event_id is null
          and expires_at between ${from}::timestamptz and ${to}::timestamptz
        order by expires_at, step_execution_id limit ${limit})
    ), item as (
      select page.kind, page.id, page.at,
          step ->> 'type' = ${anyOf(typesWithMail, 'text')} as is_email, step ->> 'name' as step_name,
          (step ->> 'templateId')::uuid as template_id, execution.contact_id,
          execution.workflow_name, execution.key
        from page
        left join execution on execution.id = page.execution_id
        left join workflow_graph version on version.workflow_id = execution.workflow_id
          and version.version = execution.workflow_version
        left join lateral graph_step(version.whole, version.difference, page.step_id) step on true
    ), named as (
      select kind, id, at, is_email, step_name, template_id, contact_id, workflow_name, key, case
          when kind = 'campaign' then 'campaign_' || id || '_scheduled'
          when is_email then 'workflow_step_' || id || '_scheduled'
          else 'workflow_step_' || id || '_waiting' end as item_id
        from item
    )
    select named.kind, named.item_id, ${isoTime(sql`named.at`)} as at,
        named.contact_id, contact.email as contact_email,
        campaign.name as campaign_name, coalesce(campaign.subject, template.subject) as subject,
        campaign.total_recipients, campaign.audience_type, segment.name as segment_name,
        named.workflow_name, named.key, named.step_name, coalesce(named.is_email, false) as is_email
      from named
      left join campaign on kind = 'campaign' and campaign.id = named.id
      left join segment on segment.id = campaign.segment_id
      left join template on template.id = named.template_id
      left join contact on contact.id = named.contact_id
      order by named.at, named.item_id collate "C"
      limit ${limit}`.execute(db);
  return rows;
}
