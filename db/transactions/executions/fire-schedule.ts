import { type RawBuilder, sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { lockContacts } from '../../contacts/contacts.ts';
import { anyOf, isoTime } from '../../expressions.ts';
import { replacingEarlier } from '../../outbox/outbox.ts';
import type { FiringRow } from '../../schedules/firings.ts';
import { beginFiring, holdFiringWorkflow } from '../../schedules/schedules.ts';
import { listConditionsFor } from '../../segments/segments.ts';
import { conditionSql } from '../../sql/filter.ts';
import { newSlot, startRefusal, unlessStarted } from '../../workflows/executions/start-rules.ts';
import { systemActor } from '../../../domain/access/actor.ts';
import type { Condition } from '../../../domain/filter/filter.ts';

/** Firings of schedules: each starts executions for the contacts that match. */

/** Number of contacts read in one transaction, which locks the matching ones. */
const pageSize = 1_000;

/** Begins a firing, unless it has begun. Returns true if it is running. */
export async function startFiring(db: Database, workflowId: string, at: Date): Promise<boolean> {
  return transact(db, (tx) => beginFiring(tx, workflowId, at));
}

/**
 * Starts executions for the next page of contacts. Returns how many matching contacts the firing
 * has handled so far, and true if it continues. Each page is one transaction with its position and
 * counts, so that no contact gets two executions after a crash.
 */
export async function firePage(
  db: Database,
  workflowId: string,
  at: Date,
): Promise<{ matched: number; shouldContinue: boolean }> {
  return transact(db, async (tx) => {
    const workflow = await holdFiringWorkflow(tx, workflowId);
    const firing = await tx
      .selectFrom('firing')
      .select(columnsOf('firing'))
      .where('workflow_id', '=', workflowId)
      .where('at', '=', at)
      .forUpdate()
      .executeTakeFirst();
    if (!firing || firing.status !== 'RUNNING') {
      return { matched: firing?.matched ?? 0, shouldContinue: false };
    }
    if (!workflow) {
      await end(tx, firing, 'STOPPED');
      return { matched: firing.matched, shouldContinue: false };
    }
    const { ids, last, isLast } = await nextContacts(tx, firing);
    const { matched, started } = await startAll(tx, firing, ids);
    await tx
      .updateTable('firing')
      .set({
        matched: firing.matched + matched,
        started: firing.started + started,
        ...(last && { after_created_at: last.created_at, after_id: last.id }),
      })
      .where('workflow_id', '=', workflowId)
      .where('at', '=', at)
      .execute();
    if (isLast) await end(tx, firing, 'COMPLETED');
    return { matched: firing.matched + matched, shouldContinue: !isLast };
  });
}

async function end(
  tx: Database,
  { workflow_id, at }: FiringRow,
  status: 'COMPLETED' | 'STOPPED',
): Promise<void> {
  await tx
    .updateTable('firing')
    .set({ status, completed_at: sql<Date>`clock_timestamp()` })
    .where('workflow_id', '=', workflow_id)
    .where('at', '=', at)
    .execute();
}

/**
 * Reads the next page of contacts in the order of their creation. Returns the ids of those that
 * match, and the last contact that was read.
 */
async function nextContacts(tx: Database, firing: FiringRow) {
  const { project_id: projectId, started_at, after_created_at: after, after_id: id } = firing;
  const holds = await audienceSql(tx, firing);
  const { rows } = await sql<{ id: string; created_at: Date; holds: boolean }>`
    with page as materialized (
      select id, created_at from contact
        where project_id = ${projectId} and created_at <= ${started_at}
          ${after ? sql`and (created_at, id) > (${after}, ${id}::uuid)` : sql``}
        order by created_at, id limit ${pageSize}
    )
    select contact.id, contact.created_at, ${holds} as holds
      from page join contact on contact.id = page.id and contact.project_id = ${projectId}
      order by contact.created_at, contact.id`.execute(tx);
  return {
    ids: rows.filter((row) => row.holds).map((row) => row.id),
    last: rows.at(-1),
    isLast: rows.length < pageSize,
  };
}

/** Returns SQL that is true if a row of `contact` matches. */
async function audienceSql(tx: Database, firing: FiringRow): Promise<RawBuilder<boolean>> {
  const { project_id: projectId, started_at, audience } = firing;
  const { segmentId, filter } = audience as unknown as { segmentId?: string; filter?: Condition };
  const member = { field: `segment.${segmentId}`, operator: 'memberOfSegment' } as const;
  if (!segmentId && !filter) return sql<boolean>`true`;
  const condition: Condition = {
    logic: 'AND',
    groups: [{ filters: segmentId ? [member] : [], ...(filter && { conditions: filter }) }],
  };
  const segments = await listConditionsFor(tx, projectId, condition);
  return conditionSql(condition, { now: started_at ?? new Date(), segments, projectId });
}

/** Executions that a schedule starts have no key. */
const withoutKey = sql`null::text`;

/** Starts executions by the rules of re-entry. Returns the number of contacts and of executions. */
async function startAll(
  tx: Database,
  { workflow_id: workflowId, project_id: projectId, at }: FiringRow,
  ids: readonly string[],
): Promise<{ matched: number; started: number }> {
  if (ids.length === 0) return { matched: 0, started: 0 };
  // Serializes starts for a contact, in the common order of locks.
  const held = await lockContacts(tx, ids);
  const context = JSON.stringify({ firedAt: at.toISOString() });
  const { rows } = await sql<{ runId: string }>`
    with started as (
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
          current_step_id, context, slot, caused_by)
        select workflow.project_id, workflow.id, workflow.version, workflow.name, contact.id,
            step.id, ${context}::jsonb, ${newSlot('workflow', withoutKey)},
            ${systemActor('schedule')}
          from workflow
          join workflow_step step on step.workflow_id = workflow.id and step.type = 'TRIGGER'
          join contact on contact.id = ${anyOf(held)}
          where workflow.id = ${workflowId}
            and ${startRefusal('workflow', { contactId: sql`contact.id`, key: withoutKey })} is null
        ${unlessStarted}
        returning id, project_id, current_step_id, started_at
    ), triggered as (
      insert into step_execution (project_id, execution_id, step_id, status, output,
          started_at, completed_at)
        select project_id, id, current_step_id, 'COMPLETED',
            jsonb_build_object('triggered', true, 'eventName', 'schedule',
              'timestamp', ${isoTime(sql`started_at`)}),
            started_at, started_at
          from started
    )
    insert into outbox (run_id, project_id, kind, action, input)
      select 'execution-' || id, project_id, 'customerWorkflow', 'start', '{}'::jsonb from started
      ${replacingEarlier}
      returning run_id as "runId"`.execute(tx);
  notifyAfterCommit(
    tx,
    rows.map((run) => ({ ...run, projectId, isStart: true })),
  );
  return { matched: held.length, started: rows.length };
}
