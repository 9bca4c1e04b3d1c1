import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { columnsOf } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import {
  type ListQuery,
  type RowSize,
  anyOf,
  containsText,
  countRows,
  orderOf,
  sortColumns,
} from '../expressions.ts';
import { deleteUnusedLists, lockFollowUpLists } from './follow-ups.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import { unqueuedOf } from '../sql/mail-queue.ts';
import { hasWaiting } from '../sql/mail-status.ts';
import type { Campaign } from '../tables.ts';
import { type CampaignStatus, openCampaignStatuses } from '../../domain/campaign/campaign.ts';
import type { FollowUp } from '../../domain/campaign/follow-up.ts';
import type { Retry } from '../../domain/campaign/retry.ts';
import { type Experiment, testSendingSecondsMax } from '../../domain/experiment/experiment.ts';
import type { Condition } from '../../domain/filter/filter.ts';
import type { Goal } from '../../domain/goals/goal.ts';
import type { UtmValues } from '../../domain/links/utm.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';
import type { ZonePolicy } from '../../domain/time/zones.ts';

export interface CampaignRef {
  projectId: string;
  campaignId: string;
}

export type CampaignRow = Omit<
  Selectable<Campaign>,
  | 'status'
  | 'audience_condition'
  | 'zone_policy'
  | 'utm'
  | 'goal'
  | 'follow_up'
  | 'experiment'
  | 'retry'
> & {
  status: CampaignStatus;
  audience_condition: Condition | null;
  /**
   * Settings from which the send time of each contact is computed; null: the campaign has no local
   * time, or does not send yet.
   */
  zone_policy: ZonePolicy | null;
  /** UTM parameters that override those of the project; null: none. */
  utm: UtmValues | null;
  goal: Goal | null;
  /** null: the campaign is not a follow-up. */
  follow_up: FollowUp | null;
  /** Settings of the campaign's experiment; null: all recipients get the same content. */
  experiment: Experiment | null;
  /** The last retry of the campaign's failed mail; null: there was none. */
  retry: Retry | null;
};

/** The row of the campaign has changed since it was read. */
export class StaleRow extends Error {}

export type NamedCampaignRow = CampaignRow & { segment_name: string | null };

type Values<T> = Omit<T, 'audience_condition' | 'utm' | 'goal' | 'follow_up' | 'experiment'> & {
  audience_condition?: Condition | null;
  utm?: UtmValues | null;
  goal?: Goal | null;
  follow_up?: FollowUp | null;
  experiment?: Experiment | null;
};

const jsonColumns: readonly string[] = [
  'audience_condition',
  'utm',
  'goal',
  'follow_up',
  'experiment',
];

/**
 * Converts objects and lists to JSON texts, because the driver would convert lists to PostgreSQL
 * arrays.
 */
function stored<T extends object>(values: Values<T>) {
  return Object.fromEntries(
    Object.entries(values).map(([column, value]) => [
      column,
      value && jsonColumns.includes(column) ? JSON.stringify(value) : value,
    ]),
  );
}

function named(db: Database) {
  return db
    .selectFrom('campaign')
    .leftJoin('segment', 'segment.id', 'campaign.segment_id')
    .select(columnsOf('campaign'))
    .select('segment.name as segment_name');
}

export async function findCampaign(
  db: Database,
  projectId: string,
  id: string,
): Promise<NamedCampaignRow | undefined> {
  const row = await named(db)
    .where('campaign.project_id', '=', projectId)
    .where('campaign.id', '=', id)
    .executeTakeFirst();
  return row as unknown as NamedCampaignRow | undefined;
}

/**
 * Finds a campaign and locks it until the transaction ends. Lock contacts before, if both are
 * needed.
 */
export async function lockCampaign(
  tx: Database,
  projectId: string,
  id: string,
): Promise<CampaignRow | undefined> {
  const row = await tx
    .selectFrom('campaign')
    .select(columnsOf('campaign'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row as unknown as CampaignRow | undefined;
}

/** Locks several campaigns in a fixed order; missing ones are left out of the result. */
export async function lockCampaigns(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string; status: CampaignStatus }[]> {
  const rows = await tx
    .selectFrom('campaign')
    .select(['id', 'status'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute();
  return rows as { id: string; status: CampaignStatus }[];
}

export type CampaignQuery = ListQuery & { status?: string | undefined; archived: boolean };

/**
 * Returns the ids and sizes of one page of a project's campaigns, and the number of all matches.
 */
export async function listCampaigns(
  db: Database,
  projectId: string,
  query: CampaignQuery,
): Promise<{ rows: RowSize[]; total: number }> {
  const { search, status } = query;
  const columns = ['campaign.name', 'campaign.subject', 'campaign.from_email'];
  const matches = sql<boolean>`campaign.project_id = ${projectId}
    and campaign.archived = ${query.archived}
    and ${status === undefined ? sql`true` : sql`campaign.status = ${status}`}
    and ${search === undefined ? sql`true` : containsText(columns, search)}`;
  const total = await countRows(db.selectFrom('campaign').where(matches));
  const rows = await db
    .selectFrom('campaign')
    .select([
      'id',
      sql<number>`octet_length(body) + coalesce(octet_length(audience_condition::text), 0)`.as(
        'bytes',
      ),
    ])
    .where(matches)
    .orderBy(`campaign.${sortColumns[query.sort]}`, query.dir)
    .orderBy('campaign.id', 'desc')
    .limit(query.pageSize)
    .offset((query.page - 1) * query.pageSize)
    .execute();
  return { rows, total };
}

/** Returns the campaigns with these ids, in this order. */
export async function readCampaigns(
  db: Database,
  ids: readonly string[],
): Promise<NamedCampaignRow[]> {
  const rows = await named(db)
    .where('campaign.id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'campaign.id'))
    .execute();
  return rows as unknown as NamedCampaignRow[];
}

/** Creates a campaign. Returns its id. */
export async function insertCampaign(
  tx: Database,
  values: Values<Insertable<Campaign>>,
): Promise<string> {
  const { id } = await tx
    .insertInto('campaign')
    .values(stored<Insertable<Campaign>>(values) as Insertable<Campaign>)
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Stores an edit of a locked campaign. */
export async function updateCampaign(
  tx: Database,
  id: string,
  values: Values<Updateable<Campaign>>,
): Promise<void> {
  await tx
    .updateTable('campaign')
    .set({ ...stored<Updateable<Campaign>>(values), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/**
 * Deletes drafts, and campaigns that were sent or cancelled. The run of a cancelled campaign
 * suppresses its waiting mail.
 */
export async function deleteCampaigns(tx: Database, ids: readonly string[]): Promise<void> {
  const campaigns = await tx
    .selectFrom('campaign')
    .select(['id', 'project_id', 'name'])
    .where('id', '=', anyOf(ids))
    .where(hasWaiting(sql`campaign.id`))
    .execute();
  for (const campaign of campaigns) await signalCampaign(tx, campaign);
  const lists = await lockFollowUpLists(tx, ids);
  await tx.deleteFrom('campaign').where('id', '=', anyOf(ids)).execute();
  await tx.deleteFrom('campaign_tally').where('campaign_id', '=', anyOf(ids)).execute();
  await deleteUnusedLists(tx, lists);
}

/**
 * Stores the current content of a campaign as a new version, from which its messages are made. Each
 * arm of an experiment has its own content. If no sender name is set, the content gets the
 * project's name. UTM parameters that the campaign does not set are copied from the project.
 */
export async function insertCampaignContent(tx: Database, id: string): Promise<void> {
  await sql`
    with next as (
      update campaign set content_version = content_version + 1 where id = ${id}
        returning id, content_version, project_id, subject, body, from_email, from_name, reply_to,
          template_id, utm, experiment
    )
    insert into campaign_content (campaign_id, version, arm, project_id, subject, body, from_email,
        from_name, reply_to, template_id, utm, utm_hosts)
      select next.id, next.content_version, coalesce(arm.id, ''), next.project_id,
          coalesce(arm.subject, next.subject), coalesce(arm.body, next.body),
          coalesce(arm."from", next.from_email),
          coalesce(arm."fromName", next.from_name, project.name),
          coalesce(arm."replyTo", next.reply_to), coalesce(arm."templateId", next.template_id),
          nullif(jsonb_strip_nulls(coalesce(project.utm, '{}') || coalesce(next.utm, '{}')), '{}'),
          project.utm_hosts
        from next join project on project.id = next.project_id
        left join jsonb_to_recordset(next.experiment -> 'arms') as arm(id text, subject text,
          body text, "from" text, "fromName" text, "replyTo" text, "templateId" uuid) on true`.execute(
    tx,
  );
}

/** Lists the campaigns made from a template, oldest first. */
export async function listTemplateCampaigns(
  db: Database,
  projectId: string,
  templateId: string,
): Promise<{ id: string; name: string; status: string }[]> {
  return db
    .selectFrom('campaign')
    .select(['id', 'name', 'status'])
    .where('project_id', '=', projectId)
    .where('template_id', '=', templateId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/**
 * The campaigns that have not ended and have an arm made from one of the templates, oldest first.
 */
export async function listArmCampaigns(
  db: Database,
  projectId: string,
  templateIds: readonly string[],
): Promise<{ id: string; name: string; status: string }[]> {
  const isNamed = sql<boolean>`(experiment is not null and exists (
    select from jsonb_array_elements(experiment -> 'arms') as inner_arm(given)
      where (inner_arm.given ->> 'templateId')::uuid = ${anyOf(templateIds)}))`;
  return db
    .selectFrom('campaign')
    .select(['id', 'name', 'status'])
    .where('project_id', '=', projectId)
    .where('status', 'in', openCampaignStatuses)
    .where(isNamed)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Signals the runs of campaigns that are sending, in the caller's transaction. */
export async function signalSendingCampaigns(tx: Database, max: number): Promise<void> {
  const rows = await tx
    .selectFrom('campaign')
    .select(['id', 'project_id', 'name'])
    .where('status', '=', sql.lit('SENDING'))
    .limit(max)
    .execute();
  for (const row of rows) await signalCampaign(tx, row);
}

/**
 * Returns SQL that is true if the run of a sending campaign has nothing to do now: all its mail is
 * held, or is due later. False if no mail waits at all, because the run then completes the
 * campaign.
 * @param campaign the table or its alias.
 */
function isResting(campaign: string): RawBuilder<boolean> {
  const id = sql.ref(`${campaign}.id`);
  return sql<boolean>`(${sql.ref(`${campaign}.audience_fixed`)}
    and coalesce(${sql.ref(`${campaign}.retry_look_at`)} > now(), true)
    and not exists (select from campaign_chunk inner_handed
      where inner_handed.campaign_id = ${id} and inner_handed.attempt_id is not null)
    and not exists (select from email_queue inner_leased
      where inner_leased.campaign_id = ${id} and inner_leased.lease_until is not null)
    and coalesce(least(
      (select inner_open.due_at from campaign_chunk inner_open
        where inner_open.campaign_id = ${id} and inner_open.attempt_id is null
        order by inner_open.due_at limit 1),
      (select waiting.due_at from ${unqueuedOf(id)}
        order by waiting.due_at limit 1)) > now(), false)
    and not ${needsDecision(id, sql.ref(`${campaign}.experiment`))})`;
}

/**
 * SQL that is true if the run of a sending campaign must continue its experiment:
 * - the decision is due;
 * - the decision has no time yet, but all test mail is sent, or a day has passed;
 * - or the experiment is decided, and other mail still waits.
 */
function needsDecision(id: RawBuilder<unknown>, experiment: RawBuilder<unknown>) {
  const isTestSent = sql`(not exists (select from campaign_chunk inner_tested
      where inner_tested.campaign_id = ${id} and inner_tested.due_at < ${openEnd}::timestamptz)
    and not exists (select from email_queue inner_queued where inner_queued.campaign_id = ${id}))`;
  return sql<boolean>`(${experiment} is not null and exists (select from experiment inner_experiment
    where inner_experiment.campaign_id = ${id} and case
      when inner_experiment.decided_at is not null then exists (select from campaign_chunk inner_rest
        where inner_rest.campaign_id = ${id} and inner_rest.due_at = ${openEnd}::timestamptz)
      when inner_experiment.decide_at is not null
        then coalesce(inner_experiment.waits_until, inner_experiment.decide_at) <= now()
      else inner_experiment.started_at < now() - ${testSendingSecondsMax} * interval '1 second'
        or ${isTestSent} end))`;
}

/**
 * Checks campaigns whose `reconciled_at` is more than two minutes ago, for the sweep. Signals the
 * runs of those that have work, because these runs are lost or were ended in Temporal. The check
 * sets `reconciled_at` to now. For a cancelled campaign without waiting mail, it sets `infinity`:
 * such a campaign is never checked again.
 * @returns the number of checked campaigns; if this number is `max`, there may be more
 */
export async function signalStalledCampaigns(db: Database, max: number): Promise<number> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; project_id: string; name: string; has_work: boolean }>`
      with page as materialized (
        select id, status, case status
            when 'SENDING' then held_at is null and not ${isResting('campaign')}
            when 'SCHEDULED' then held_at is null and scheduled_for < now() - interval '1 minute'
            else frozen_at is not null and ${hasWaiting(sql`campaign.id`)} end as has_work
          from campaign
          where reconciled_at < now() - interval '2 minutes'
            and status in ('SCHEDULED', 'SENDING', 'CANCELLED')
          order by reconciled_at limit ${max} for update skip locked
      )
      update campaign set reconciled_at = case when page.status = 'CANCELLED' and not has_work
          then 'infinity' else now() end
        from page where campaign.id = page.id
        returning campaign.id, project_id, name, has_work`.execute(tx);
    for (const { has_work: hasWork, ...row } of rows) if (hasWork) await signalCampaign(tx, row);
    return rows.length;
  });
}
