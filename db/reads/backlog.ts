import { sql } from 'kysely';
import { limits } from '../../domain/limits.ts';
import { chunkSize } from '../campaigns/chunks.ts';
import type { Database } from '../database.ts';
import { onlyRow } from '../expressions.ts';

/** Backlog of the whole installation. Ages are seconds; 0 when nothing waits. */
export interface Backlog {
  /** Messages that could be sent now, and the age of the oldest, counted from its due time. */
  emailsDue: number;
  emailsDueAge: number;
  /**
   * Messages that may have been sent: their worker died, or the connection to the provider broke.
   */
  emailsUnknown: number;
  /** Unsent requests to Temporal, and the age of the oldest. */
  outboxEntries: number;
  outboxAge: number;
  /** Executions whose run cannot continue, and the age of the oldest such problem. */
  executionsStuck: number;
  executionsStuckAge: number;
  /** Mail providers that cannot take mail now. */
  circuitsOpen: number;
}

/**
 * Maximum number of rows that are counted. A higher number would take longer to count, and would
 * not help the reader.
 */
const backlogMax = limits.countedForMetrics;

/** Maximum number of projects whose waiting mail is read. */
const projectsMax = 1_000;

/**
 * Reads the backlog. Every part uses an index and ends at `backlogMax` rows, so the cost does not
 * grow with the number of messages. Mail of projects is found by jumping from project to project in
 * `email_queue`, mail of campaigns by chunk. Paused campaigns have no due mail.
 */
export async function readBacklog(db: Database): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    with recursive waiting as (
      (select project_id, 1 as number from email_queue
        where campaign_id is null and lease_until is null order by project_id limit 1)
      union all
      select next.project_id, waiting.number + 1 from waiting, lateral (
        select project_id from email_queue
          where campaign_id is null and lease_until is null and project_id > waiting.project_id
          order by project_id limit 1) next
        where waiting.number < ${projectsMax}
    ), first_due as (
      select mail.due_at from waiting, lateral (
        select due_at from email_queue
          where project_id = waiting.project_id and campaign_id is null and lease_until is null
            and due_at <= now()
          order by due_at limit 1) mail
      union all
      select chunk.due_at from campaign, lateral (
        select due_at from campaign_chunk
          where campaign_id = campaign.id and attempt_id is null and due_at <= now()
          order by due_at limit 1) chunk
        where campaign.status = 'SENDING'
    ), due as (
      (select from waiting, lateral (
        select from email_queue
          where project_id = waiting.project_id and campaign_id is null and lease_until is null
            and due_at <= now()
          order by due_at limit ${backlogMax}) mail limit ${backlogMax})
    ), due_chunk as (
      select cardinality(chunk.email_ids) as emails from campaign, lateral (
        select email_ids from campaign_chunk
          where campaign_id = campaign.id and attempt_id is null and due_at <= now()
          order by due_at limit ${backlogMax / chunkSize}) chunk
        where campaign.status = 'SENDING' limit ${backlogMax / chunkSize}
    ), uncertain as (
      select from email_queue where lease_until < now()
        order by lease_until limit ${backlogMax}
    ), expired_chunk as (
      select cardinality(email_ids) as emails from campaign_chunk
        where attempt_id is not null and lease_until < now()
        order by lease_until limit ${backlogMax / chunkSize}
    ), unsent as (
      select created_at from outbox order by due_at limit ${backlogMax}
    ), stuck as (
      select stuck_since from execution
        where stuck_since is not null and status in ('RUNNING', 'WAITING')
        order by stuck_since limit ${backlogMax}
    )
    select (select count(*) from due)::int
        + (select coalesce(sum(emails), 0) from due_chunk)::int as "emailsDue",
      (select ${ageOf('min(due_at)')} from first_due) as "emailsDueAge",
      (select count(*) from uncertain)::int
        + (select coalesce(sum(emails), 0) from expired_chunk)::int as "emailsUnknown",
      (select count(*)::int from unsent) as "outboxEntries",
      (select ${ageOf('min(created_at)')} from unsent) as "outboxAge",
      (select count(*)::int from stuck) as "executionsStuck",
      (select ${ageOf('min(stuck_since)')} from stuck) as "executionsStuckAge",
      (select count(*)::int from provider_circuit
        where opened_at is not null) as "circuitsOpen"`.execute(db);
  return onlyRow(rows);
}

/** SQL of the seconds since a time; 0 if it is null. */
function ageOf(moment: string) {
  return sql`coalesce(extract(epoch from now() - ${sql.raw(moment)}), 0)::float8`;
}
