import { type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { millisecondsToWait } from '../expressions.ts';
import type { Experiment as ExperimentTable } from '../tables.ts';
import {
  type ArmNumbers,
  type DecisionReason,
  type DrawReason,
  manualSecondsMax,
  testSendingSecondsMax,
} from '../../domain/experiment/experiment.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';

/** The experiments of campaigns that have begun to send. */

export type ExperimentRow = Omit<Selectable<ExperimentTable>, 'numbers' | 'decided_by' | 'draw'> & {
  draw: DrawReason | null;
  decided_by: DecisionReason | null;
  numbers: ArmNumbers[] | null;
};

export async function findExperiment(
  db: Database,
  campaignId: string,
): Promise<ExperimentRow | undefined> {
  const row = await db
    .selectFrom('experiment')
    .select(columnsOf('experiment'))
    .where('campaign_id', '=', campaignId)
    .executeTakeFirst();
  return row as unknown as ExperimentRow | undefined;
}

/** Stores the experiment of a locked campaign that starts to send, if it has one. */
export async function insertExperiment(tx: Database, campaignId: string): Promise<void> {
  await sql`
    insert into experiment (campaign_id, project_id, started_at)
      select id, project_id, frozen_at from campaign
        where id = ${campaignId} and experiment is not null`.execute(tx);
}

/** State of an experiment, for the run of its campaign. */
export interface ExperimentWork {
  /** Milliseconds until the run must check the experiment again; null: it is decided. */
  waitMs: number | null;
  /** True if the experiment is decided, and messages still wait to be released. */
  hasRest: boolean;
}

/**
 * Sets the time of the decision once: when all test mail has been sent, or a day after the start.
 * @param isTestSent true if no message of the test group waits or is being sent.
 */
export async function advanceExperiment(
  tx: Database,
  campaignId: string,
  isTestSent: boolean,
): Promise<ExperimentWork> {
  const day = sql`${testSendingSecondsMax} * interval '1 second'`;
  await sql`
    update experiment set decide_at = least(now(), started_at + ${day})
        + (campaign.experiment ->> 'decideAfterSeconds')::int * interval '1 second'
      from campaign where campaign.id = campaign_id and campaign_id = ${campaignId}
        and decide_at is null and decided_at is null
        and (${isTestSent} or started_at + ${day} <= now())`.execute(tx);
  const { rows } = await sql<ExperimentWork>`
    select case when decided_at is null then ${millisecondsToWait(
      sql`coalesce(waits_until, decide_at, started_at + ${day})`,
    )} end as "waitMs",
        decided_at is not null and exists (select from campaign_chunk rest
          where rest.campaign_id = ${campaignId} and rest.due_at = ${openEnd}::timestamptz)
          as "hasRest"
      from experiment where campaign_id = ${campaignId}`.execute(tx);
  return rows[0] ?? { waitMs: null, hasRest: false };
}

export interface Decision {
  arm: string;
  by: DecisionReason;
  /** The actor that decided; null: the decision followed from the numbers or the time. */
  actor: string | null;
  numbers: readonly ArmNumbers[];
}

/** Records the decision of an experiment. Returns false if it was decided before. */
export async function recordDecision(
  tx: Database,
  campaignId: string,
  { arm, by, actor, numbers }: Decision,
): Promise<boolean> {
  const { rows } = await sql`
    update experiment set decided_at = clock_timestamp(), arm = ${arm}, decided_by = ${by},
        actor = ${actor}, numbers = ${JSON.stringify(numbers)}::jsonb
      where campaign_id = ${campaignId} and decided_at is null
      returning campaign_id`.execute(tx);
  return rows.length > 0;
}

/** Makes an experiment wait for a manual decision, because its numbers do not decide. */
export async function awaitDecision(
  tx: Database,
  campaignId: string,
  draw: DrawReason,
): Promise<void> {
  await sql`
    update experiment set draw = ${draw},
        waits_until = now() + ${manualSecondsMax} * interval '1 second'
      where campaign_id = ${campaignId} and decided_at is null and waits_until is null`.execute(tx);
}

/** Number of chunks that one statement releases. */
const releasedPage = 100;

/**
 * Makes messages due that have waited for the decision, with the content of the winning arm.
 * Returns the number of chunks; 0: none waits, or the campaign is not sending.
 */
export async function releaseRest(db: Database, campaignId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with decided as materialized (
      select won.subject, won."from", won."templateId"
        from experiment join campaign on campaign.id = campaign_id and campaign.status = 'SENDING'
        join jsonb_to_recordset(campaign.experiment -> 'arms')
          as won(id text, subject text, "from" text, "templateId" uuid) on won.id = experiment.arm
        where campaign_id = ${campaignId} and decided_at is not null
    ), released as (
      update campaign_chunk set due_at = now() where (campaign_id, number) in (
          select campaign_id, number from campaign_chunk
            where campaign_id = ${campaignId} and attempt_id is null
              and due_at = ${openEnd}::timestamptz
            order by number limit ${releasedPage} for update skip locked)
          and exists (select from decided)
        returning email_ids
    ), changed as (
      -- With held_until, the mail is sent as after a hold: its sender is checked again, and its
      -- Date header is the time of sending.
      update email set subject = coalesce(decided.subject, email.subject),
          from_email = coalesce(decided."from", email.from_email),
          template_id = coalesce(decided."templateId", email.template_id),
          held_until = now(), updated_at = now()
        from decided where email.id = any(array(select unnest(email_ids) from released))
          and email.status = 'PENDING'
    )
    select count(*)::int as count from released`.execute(db);
  return rows[0]?.count ?? 0;
}
