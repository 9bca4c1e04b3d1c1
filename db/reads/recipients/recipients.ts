import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../../domain/cursor.ts';
import { lowerAscii } from '../../../domain/email-address.ts';
import type { JudgedMail, ReasonCode } from '../../../domain/outcomes/outcome.ts';
import {
  isRecipientEvent,
  type ReasonSelection,
  type RecipientEvent,
  type RecipientOutcome,
  selectionOf,
} from '../../../domain/outcomes/selection.ts';
import { references, snakeCase } from '../../columns.ts';
import { countCampaignMail, countedEvents } from '../../campaigns/tally.ts';
import type { Database } from '../../database.ts';
import { countClickedMail } from '../../engagement/links.ts';
import { anyOf } from '../../expressions.ts';
import {
  allClicked,
  clicksIn,
  type LinkOf,
  type MailClicks,
  newestClicked,
} from './clicked-link.ts';
import { armOf } from '../../sql/mail-claims.ts';
import {
  campaignStatusOf,
  hasFailedBy,
  isUnsettled,
  reasonOf,
  statusOf,
} from '../../sql/mail-status.ts';

/**
 * Lists the messages of a campaign, a template or a step, each with its contact and its outcome.
 */

/**
 * The messages of one campaign, template or step. `column`: the column by which they are found.
 * Each of these columns has an index that includes the creation time.
 */
export interface RecipientScope {
  projectId: string;
  column: 'campaign_id' | 'template_id' | 'workflow_step_id';
  id: string;
}

/** Filters of a list; all of them must match. */
export interface RecipientFilter {
  outcome?: RecipientOutcome | undefined;
  reason?: ReasonCode | undefined;
  /** Part of the contact's address. */
  search?: string | undefined;
  /** The id of a link that was clicked. */
  link?: string | undefined;
  /** The id of an arm of an experiment. */
  arm?: string | undefined;
}

export interface RecipientPage<Row> {
  /** Up to `limit` rows; fewer or none, if the search for more would take too long. */
  rows: Row[];
  /** Start of the next page; null: there is none. */
  next: Position | null;
  /** Number of all matches; 0 on later pages. */
  total: number;
}

export interface RecipientRow extends JudgedMail {
  id: string;
  contact_id: string;
  /** The current address of the contact. */
  address: string;
  workflow_execution_id: string | null;
  created_at: Date;
  /**
   * The arm of the message in an experiment. `is_in_test`: the message belongs to the test group.
   */
  arm: string | null;
  is_in_test: boolean;
  opens: number;
  clicks: number;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
  human_opened_at: Date | null;
  human_clicked_at: Date | null;
  bounced_at: Date | null;
  /** The clicks on the link of the filter; absent without this filter. */
  link?: MailClicks;
  converted_at: Date | null;
}

/**
 * Maximum number of messages that are checked for one page. So a page takes a bounded time, even if
 * few of a million messages match. The next page continues after the checked messages.
 */
const checkedMax = 5_000;

/** Maximum number of waiting messages of a campaign that are found by id. */
const waitingMax = 10_000;

/** Lists messages, newest first. */
export async function listRecipients(
  db: Database,
  scope: RecipientScope,
  filter: RecipientFilter,
  { after, limit }: { after: Position | undefined; limit: number },
): Promise<RecipientPage<RecipientRow>> {
  const search = await searchFor(db, scope, filter);
  const max = search.isExact ? limit + 1 : checkedMax;
  const source = search.newest({ after, max });
  const { rows: found } = await sql<RecipientRow>`
    select ${references(shown, 'email')}, ${statusOf('email')} as status,
        ${campaignStatusOf('email')} as campaign_status, ${isUnsettled('email')} as is_unsettled,
        ${address} as address, ${armOf('email')} as arm, email.arm is not null as is_in_test
        ${search.link ? sql`, (${clicksIn('found', search.link)}) as link` : sql``}
      from ${source} found
      cross join lateral (select ${references(read, 'inner_found')} from email inner_found
        where inner_found.id = found.id offset 0) email
      left join lateral (select inner_receiver.email from contact inner_receiver
        where inner_receiver.id = email.contact_id and inner_receiver.project_id = email.project_id
        offset 0) receiver on true
      where ${search.matches}
      order by found.created_at desc, found.id desc
      limit ${limit + 1}`.execute(db);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : await findLastChecked(db, source, max);
  return {
    rows,
    next: last ? { value: last.created_at.toISOString(), id: last.id } : null,
    total: after ? 0 : await countRecipients(db, scope, search),
  };
}

/** The columns of a page, except computed ones. */
const shown = [
  'id',
  'contact_id',
  'workflow_execution_id',
  'created_at',
  'scheduled_for',
  'retry_at',
  'hold_reason',
  'held_until',
  'error',
  'refusal',
  'opens',
  'clicks',
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
  'human_opened_at',
  'human_clicked_at',
  'bounced_at',
  'converted_at',
] as const;

/** The columns that a page, its outcomes or its conditions need. */
const read = [
  ...shown,
  'project_id',
  'campaign_id',
  'arm',
  'to_email',
  'status',
  'lease_until',
  'complained_at',
  'unsubscribed_at',
] as const;

/**
 * SQL of the address of a message's contact. A contact that is being erased no longer belongs to
 * the project, so its address is read from the message.
 */
const address = sql<string>`coalesce(receiver.email, email.to_email)`;

interface Search {
  /** SQL that selects `id` and `created_at` of at most `max` messages to check, newest first. */
  newest(page: { after: Position | undefined; max: number }): RawBuilder<unknown>;
  /**
   * SQL that is true for a matching row of `email`. The address of its contact is in `receiver`.
   */
  matches: RawBuilder<boolean>;
  /** True if all messages of `newest` match. */
  isExact: boolean;
  readsAddress: boolean;
  /** True if there is no condition, or the link is the only one. */
  isWhole: boolean;
  /** The event, if it is the only condition. */
  onlyEvent: RecipientEvent | undefined;
  link: LinkOf | null;
}

async function searchFor(
  db: Database,
  scope: RecipientScope,
  { outcome, reason, search: text, link: linkId, arm }: RecipientFilter,
): Promise<Search> {
  const event = outcome && isRecipientEvent(outcome) ? outcome : undefined;
  const selection = selectionOf(
    outcome && !isRecipientEvent(outcome) ? outcome : undefined,
    reason,
  );
  const isOfCampaign = scope.column === 'campaign_id';
  const isFew = isOfCampaign && selection !== null && !selection.isSent;
  const ids = isFew && (selection.waiting.length > 0 ? await findWaiting(db, scope) : []);
  const parts = isFew && ids ? partsOf(selection, ids) : null;
  const isRare = isOfCampaign && event !== undefined && rareEvents.has(event);
  const link = linkId === undefined ? null : { ownerId: scope.id, linkId };
  const isExact =
    text === undefined &&
    arm === undefined &&
    (selection === null
      ? event === undefined || (isRare && !link)
      : !link && parts !== null && ids !== false && ids?.length === 0 && event === undefined);
  return {
    newest: (page) => {
      if (link) return sql`(${newestClicked(link, page)})`;
      if (parts) return newestOfParts(scope, parts, page);
      return newestOf(scope, isRare ? hasHappened('inner_checked', event) : sql`true`, page);
    },
    matches: allOf([
      ...(selection ? [isSelected(scope, selection, ids || null)] : []),
      ...(event ? [hasHappened('email', event)] : []),
      ...(arm === undefined ? [] : [sql`${armOf('email')} = ${arm}`]),
      ...(text === undefined ? [] : [sql`position(${lowerAscii(text)} in ${address}) > 0`]),
    ]),
    isExact,
    readsAddress: text !== undefined,
    onlyEvent: [reason, text, arm, linkId].every(isAbsent) ? event : undefined,
    isWhole: [outcome, reason, text, arm].every(isAbsent),
    link,
  };
}

const isAbsent = (filter: unknown) => filter === undefined;

/** Moments that few messages have: an index of campaigns contains only these. */
const rareEvents: ReadonlySet<RecipientEvent> = new Set(['bounced', 'complained', 'unsubscribed']);

function hasHappened(email: string, event: RecipientEvent): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(`${email}.${snakeCase(event)}_at`)} is not null`;
}

/** SQL that is true for a message of a scope. The scope's index returns them in order. */
function isOf({ projectId, column, id }: RecipientScope, email: string): RawBuilder<boolean> {
  const own = sql.ref(`${email}.${column}`);
  return sql<boolean>`${own} = ${id} and ${sql.ref(`${email}.project_id`)} = ${projectId}`;
}

function newestOf(
  scope: RecipientScope,
  holds: RawBuilder<unknown>,
  { after, max }: { after: Position | undefined; max: number },
): RawBuilder<unknown> {
  const isAfter = after
    ? sql`(inner_checked.created_at, inner_checked.id) < (${after.value}, ${after.id})`
    : sql`true`;
  return sql`(select inner_checked.id, inner_checked.created_at from email inner_checked
    where ${isOf(scope, 'inner_checked')} and ${holds} and ${isAfter}
    order by inner_checked.created_at desc, inner_checked.id desc limit ${max})`;
}

/** SQL conditions on `inner_checked`; for each there is an index. */
function partsOf(selection: ReasonSelection, waiting: readonly string[]): RawBuilder<boolean>[] {
  const ofIds = sql<boolean>`inner_checked.id = ${anyOf(waiting)}`;
  return [
    ...selection.failed.map((code) => hasFailedBy('inner_checked', code)),
    ...(waiting.length > 0 ? [ofIds] : []),
  ];
}

function newestOfParts(
  scope: RecipientScope,
  parts: readonly RawBuilder<boolean>[],
  page: { after: Position | undefined; max: number },
): RawBuilder<unknown> {
  if (parts.length === 0) return newestOf(scope, sql`false`, page);
  const newest = parts.map((holds) => newestOf(scope, holds, page));
  return sql`(select part.id, part.created_at from (${sql.join(newest, sql` union all `)}) part
    order by part.created_at desc, part.id desc limit ${page.max})`;
}

function isSelected(
  { projectId }: RecipientScope,
  { isSent, failed, waiting }: ReasonSelection,
  ids: readonly string[] | null,
): RawBuilder<boolean> {
  const reason = reasonOf('email', sql`${projectId}::uuid`);
  const isWaiting = sql`email.status in ('PENDING', 'SENDING')
    and ${ids ? sql`email.id = ${anyOf(ids)}` : sql`true`}
    and ${reason} = ${anyOf(waiting, 'text')}`;
  const parts = [
    ...(isSent ? [sql`email.status not in ('PENDING', 'SENDING', 'FAILED')`] : []),
    ...failed.map((code) => hasFailedBy('email', code)),
    ...(waiting.length > 0 ? [isWaiting] : []),
  ];
  if (parts.length === 0) return sql<boolean>`false`;
  return sql<boolean>`(${sql.join(
    parts.map((part) => sql`(${part})`),
    sql` or `,
  )})`;
}

/** Returns the ids of a campaign's waiting messages; null: there are too many. */
async function findWaiting(db: Database, { id }: RecipientScope): Promise<string[] | null> {
  const { rows } = await sql<{ ids: string[] | null }>`
    select array_agg(waiting.email_id) as ids from (
      select email_id from email_queue where campaign_id = ${id}
      union all select unnest(email_ids) from campaign_chunk where campaign_id = ${id}
      limit ${waitingMax + 1}) waiting`.execute(db);
  const ids = rows[0]?.ids ?? [];
  return ids.length > waitingMax ? null : ids;
}

/** Returns the last message that was checked; undefined: all were checked. */
async function findLastChecked(db: Database, source: RawBuilder<unknown>, max: number) {
  const { rows } = await sql<{ id: string; created_at: Date }>`
    select id, created_at from ${source} checked
      order by created_at desc, id desc offset ${max - 1} limit 1`.execute(db);
  return rows[0];
}

async function countRecipients(
  db: Database,
  scope: RecipientScope,
  { matches, readsAddress, isWhole, onlyEvent, link }: Search,
): Promise<number> {
  if (link && isWhole) return countClickedMail(db, link);
  const isOfCampaign = scope.column === 'campaign_id';
  if (isOfCampaign && isWhole) return countCampaignMail(db, scope.id);
  const event = countedEvents.find((one) => one === onlyEvent);
  if (isOfCampaign && event) return countCampaignMail(db, scope.id, event);
  const joined = readsAddress
    ? sql`left join contact receiver
        on receiver.id = email.contact_id and receiver.project_id = email.project_id`
    : sql``;
  const all = link ? sql`(${allClicked(link)}) clicked` : sql`email`;
  const read = link ? sql`join email on email.id = clicked.id` : sql``;
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from ${all} ${read} ${joined}
      where ${link ? sql`true` : isOf(scope, 'email')} and ${matches}`.execute(db);
  return rows[0]?.total ?? 0;
}

function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  if (conditions.length === 0) return sql<boolean>`true`;
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}
