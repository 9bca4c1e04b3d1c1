import { type RawBuilder, sql } from 'kysely';
import type { ContactRow } from '../contacts/contacts.ts';
import type { Database } from '../database.ts';
import { isoInstant, isoTime } from '../expressions.ts';
import { listMissedCampaigns, type MissedCampaign } from './missed-campaigns.ts';
import { heldUntil } from '../sql/send-policy.ts';
import { campaignStatusOf, isUnsettled, statusOf } from '../sql/mail-status.ts';
import type { Position } from '../../domain/cursor.ts';
import type { NotStartedReason } from '../../domain/workflow/start.ts';

/**
 * Builds the timeline of one contact from rows of several tables, including campaigns that did not
 * reach the contact.
 */

export const timelineTypes = [
  'event',
  'email',
  'execution',
  'not_started',
  'segment',
  'consent',
  'not_reached',
] as const;

export type TimelineType = (typeof timelineTypes)[number];

/**
 * SQL of the item type of an event, by its name. Events of mail have none, because the mail itself
 * is an item.
 */
const typeOfEvent = sql<string>`case
  when name ~ '^contact\\.((un)?subscribed|topic\\..+)$' then 'consent'
  when name ~ '^segment\\..+\\.(entry|exit)$' then 'segment'
  when name ~ '^email\\.' then 'mail'
  else 'event' end`;

/**
 * SQL of the item type of a message. A campaign or workflow message that has failed is
 * `not_reached`, unless it may have been sent.
 */
const typeOfMail = sql<string>`case
  when status = 'FAILED' and source_type in ('CAMPAIGN', 'WORKFLOW')
    and error is distinct from 'delivery_unknown' then 'not_reached'
  else 'email' end`;

/**
 * Fields of all items of the timeline, which is sorted by `at` and `id`, newest first. `id` is the
 * id of the item's row.
 */
interface Item {
  type: TimelineType;
  id: string;
  /** Time of the item, to the microsecond. */
  at: string;
}

export type TimelineItem = Item &
  (
    | { kind: 'event'; name: string; data: Record<string, unknown> | null; email_id: string | null }
    | { kind: 'email'; mail: TimelineMail }
    | { kind: 'execution'; execution: TimelineExecution }
    | { kind: 'campaign'; campaign: MissedCampaign }
    | { kind: 'opt_in'; optIn: TimelineOptIn }
    | { kind: 'not_started'; notStarted: TimelineNotStarted }
  );

export interface TimelineMail {
  subject: string;
  status: string;
  sourceType: string;
  from: string;
  error: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  openedAt: string | null;
  clickedAt: string | null;
  bouncedAt: string | null;
  judged: JudgedColumns;
  campaignId: string | null;
  executionId: string | null;
  workflowId: string | null;
}

/** The columns that `holdOf` and `outcomeOf` need besides the shown ones; times as JSON. */
export interface JudgedColumns {
  scheduled_for: string | null;
  retry_at: string | null;
  hold_reason: string | null;
  held_until: string | null;
  refusal: string | null;
  campaign_status: string | null;
  is_unsettled: boolean;
}

export interface TimelineExecution {
  workflowId: string;
  workflowName: string;
  key: string | null;
  version: number;
  status: string;
  exitReason: string | null;
  error: string | null;
  completedAt: string | null;
  /**
   * The output of the step that waits for an event; null: no step waits, or it waits without
   * conditions on the event.
   */
  waiting: Record<string, unknown> | null;
}

export interface TimelineNotStarted {
  workflowId: string;
  workflowName: string;
  reason: NotStartedReason;
  eventName: string;
}

export interface TimelineOptIn {
  state: 'pending' | 'confirmed' | 'expired';
  /** Keys of the requested topics. */
  topics: string[];
  endedAt: string | null;
}

export interface TimelineQuery {
  types: readonly TimelineType[];
  after?: Position | undefined;
  limit: number;
}

export interface TimelinePage {
  /** Up to `limit` items; fewer if the limit of checked campaigns is reached. */
  items: TimelineItem[];
  /** Start of the next page; null: there is none. */
  next: Position | null;
  /** Number of all matches; 0 on later pages. */
  total: number;
}

/**
 * Returns a page of a contact's timeline. Merges the newest rows of each kind by their keys, and
 * then reads these rows. Events are read per name, in the order of an index, so the cost of a page
 * depends on the number of event names of the contact, not on the number of its events.
 */
export async function listTimeline(
  db: Database,
  contact: ContactRow,
  query: TimelineQuery,
): Promise<TimelinePage> {
  const { types, after, limit } = query;
  const missed = types.includes('not_reached')
    ? await listMissedCampaigns(db, contact, { after, limit: after ? limit + 1 : evaluatedMax })
    : { rows: [], checkedTo: null };
  const stored = await listStored(db, contact, { ...query, limit: limit + 1 });
  const campaigns = missed.rows.map((campaign): TimelineItem => ({
    type: 'not_reached',
    kind: 'campaign',
    id: campaign.id,
    at: campaign.at,
    campaign,
  }));
  const { checkedTo } = missed;
  const known = [...stored, ...campaigns]
    .toSorted(newestFirst)
    // Drop older items, because campaigns before this position are not checked yet.
    .filter(
      (item) => !checkedTo || newestFirst(item, { at: checkedTo.value, id: checkedTo.id }) <= 0,
    );
  const items = known.slice(0, limit);
  const last = items.at(-1);
  const next = known.length > limit && last ? { value: last.at, id: last.id } : checkedTo;
  const total = after ? 0 : (await countStored(db, contact, types)) + campaigns.length;
  return { items, next, total };
}

/** Maximum number of campaigns whose audience is evaluated for the count on the first page. */
const evaluatedMax = 500;

function newestFirst(one: { at: string; id: string }, other: { at: string; id: string }): number {
  const isBefore = one.at === other.at ? one.id > other.id : one.at > other.at;
  return isBefore ? -1 : one.id === other.id && one.at === other.at ? 0 : 1;
}

/** Lists the newest items that are rows of the contact. */
async function listStored(
  db: Database,
  contact: ContactRow,
  query: TimelineQuery,
): Promise<TimelineItem[]> {
  const sources = sourcesOf(contact, query.types).map(
    ({ kind, type, at, from }) => sql`
      (select ${sql.lit(kind)} as kind, ${type} as type, id, ${at} as at from ${from}
          and ${before(at, query.after)}
        order by ${at} desc, id desc limit ${query.limit})`,
  );
  const events = eventItems(contact, query);
  const parts = [...events, ...sources];
  if (parts.length === 0) return [];
  const { rows } = await sql<TimelineItem>`
    with page as (
      select kind, type, id, at from (${sql.join(parts, sql` union all `)}) part
        order by at desc, id desc limit ${query.limit}
    )
    select page.kind, page.type, page.id, ${isoInstant(sql`page.at`)} as at,
        event.name, event.data, event.email_id,
        case when page.kind = 'email' then jsonb_build_object('subject', email.subject,
          'status', ${statusOf('email')}, 'sourceType', email.source_type, 'from', email.from_email,
          'error', email.error, 'sentAt', ${isoTime(sql`email.sent_at`)},
          'deliveredAt', ${isoTime(sql`email.delivered_at`)},
          'openedAt', ${isoTime(sql`email.opened_at`)},
          'clickedAt', ${isoTime(sql`email.clicked_at`)},
          'bouncedAt', ${isoTime(sql`email.bounced_at`)},
          'judged', jsonb_build_object('scheduled_for', ${isoTime(sql`email.scheduled_for`)},
            'retry_at', ${isoTime(sql`email.retry_at`)}, 'hold_reason', email.hold_reason,
            'held_until', ${isoTime(heldUntil('email'))}, 'refusal', email.refusal,
            'campaign_status', ${campaignStatusOf('email')},
            'is_unsettled', ${isUnsettled('email')}), 'campaignId', email.campaign_id,
          'executionId', email.workflow_execution_id, 'workflowId', execution.workflow_id) end as mail,
        case when page.kind = 'execution' then jsonb_build_object(
          'workflowId', execution.workflow_id, 'workflowName', execution.workflow_name,
          'key', execution.key, 'version', execution.workflow_version, 'status', execution.status,
          'exitReason', execution.exit_reason, 'error', execution.error,
          'completedAt', ${isoTime(sql`execution.completed_at`)},
          'waiting', (select step.output from step_execution step where step.status = 'WAITING'
            and step.execution_id = execution.id and step.step_id = execution.current_step_id)
          ) end as execution,
        case when page.kind = 'opt_in' then jsonb_build_object('state', opt_in.state,
          'topics', array(select key from topic where topic.id = any(opt_in.topic_ids)
            order by topic.created_at, topic.id),
          'endedAt', ${isoTime(sql`opt_in.ended_at`)}) end as "optIn",
        case when page.kind = 'not_started' then jsonb_build_object('workflowId', workflow.id,
          'workflowName', workflow.name, 'reason', not_started.reason,
          'eventName', not_started.event_name) end as "notStarted"
      from page
      left join event on page.kind = 'event' and event.id = page.id
      left join email on page.kind = 'email' and email.id = page.id
      left join not_started on page.kind = 'not_started' and not_started.id = page.id
      left join workflow on workflow.id = not_started.workflow_id
      left join opt_in on page.kind = 'opt_in' and opt_in.id = page.id
      left join execution on execution.id =
        case page.kind when 'execution' then page.id else email.workflow_execution_id end
      order by page.at desc, page.id desc`.execute(db);
  return rows;
}

interface Source {
  kind: 'email' | 'execution' | 'not_started' | 'opt_in';
  type: RawBuilder<unknown>;
  at: RawBuilder<unknown>;
  /** SQL of a table with a condition on its rows. */
  from: RawBuilder<unknown>;
}

/** Returns the sources of items of these types, except events. */
function sourcesOf(
  { id, project_id: projectId }: ContactRow,
  types: readonly TimelineType[],
): Source[] {
  const isOwn = sql`contact_id = ${id} and project_id = ${projectId}`;
  // Rows of a deleted workflow remain until they are deleted in pages.
  const hasWorkflow = (table: string) => sql`exists (
    select from workflow inner_kept where inner_kept.id = ${sql.ref(`${table}.workflow_id`)})`;
  const mails = types.filter((type) => type === 'email' || type === 'not_reached');
  const sources: (Source & { isAsked: boolean })[] = [
    {
      isAsked: mails.length > 0,
      kind: 'email',
      type: typeOfMail,
      at: sql`created_at`,
      from: sql`email where ${isOwn} and (${typeOfMail}) = any(${mails}::text[])`,
    },
    {
      isAsked: types.includes('consent'),
      kind: 'opt_in',
      type: sql`'consent'`,
      at: sql`created_at`,
      from: sql`opt_in where ${isOwn}`,
    },
    {
      isAsked: types.includes('not_started'),
      kind: 'not_started',
      type: sql`'not_started'`,
      at: sql`at`,
      from: sql`not_started where ${isOwn} and ${hasWorkflow('not_started')}`,
    },
    {
      isAsked: types.includes('execution'),
      kind: 'execution',
      type: sql`'execution'`,
      at: sql`started_at`,
      from: sql`execution where ${isOwn} and ${hasWorkflow('execution')}`,
    },
  ];
  return sources.filter(({ isAsked }) => isAsked);
}

/**
 * SQL that lists the names of the contact's events of these types, jumping from name to name in the
 * index.
 */
function namesOf({ id }: ContactRow, types: readonly TimelineType[]): RawBuilder<unknown> {
  return sql`(with recursive names as (
      (select name from event inner_first where contact_id = ${id} order by name limit 1)
      union all
      select (select inner_later.name from event inner_later
          where inner_later.contact_id = ${id} and inner_later.name > names.name
          order by inner_later.name limit 1)
        from names where names.name is not null
    )
    select name, ${typeOfEvent} as type from names
      where name is not null and (${typeOfEvent}) = any(${types}::text[])) as named`;
}

const eventTypes: readonly TimelineType[] = ['event', 'segment', 'consent'];

function eventItems(contact: ContactRow, { types, after, limit }: TimelineQuery) {
  const asked = types.filter((type) => eventTypes.includes(type));
  if (asked.length === 0) return [];
  return [
    sql`(select 'event' as kind, named.type, found.id, found.at
      from ${namesOf(contact, asked)} cross join lateral (
        select id, recorded_at as at from event inner_item_of
          where contact_id = ${contact.id} and project_id = ${contact.project_id}
            and inner_item_of.name = named.name and ${before(sql`recorded_at`, after)}
          order by recorded_at desc, id desc limit ${limit}) found)`,
  ];
}

function before(at: RawBuilder<unknown>, after: Position | undefined): RawBuilder<unknown> {
  if (!after) return sql`true`;
  const moment = sql`${after.value}::timestamptz`;
  // The first condition can also use an index without the id.
  return sql`(${at} <= ${moment} and (${at}, id) < (${moment}, ${after.id}::uuid))`;
}

async function countStored(
  db: Database,
  contact: ContactRow,
  types: readonly TimelineType[],
): Promise<number> {
  const asked = types.filter((type) => eventTypes.includes(type));
  const counts = [
    sql`(select count(*) from ${namesOf(contact, asked)} join event
        on event.contact_id = ${contact.id} and event.name = named.name
          and event.project_id = ${contact.project_id})`,
    ...sourcesOf(contact, types).map(({ from }) => sql`(select count(*) from ${from})`),
  ];
  const { rows } = await sql<{ total: number }>`
    select (${sql.join(counts, sql` + `)})::int as total`.execute(db);
  return rows[0]?.total ?? 0;
}
