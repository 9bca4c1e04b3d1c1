import { type Selectable, sql } from 'kysely';
import type { Condition } from '../../domain/filter/filter.ts';
import { plannedInstants } from '../../domain/time/cron.ts';
import { type Database, transact } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { Workflow } from '../tables.ts';

/**
 * Schedules of workflows in Temporal. Temporal's own calendars skip local times that a clock change
 * leaves out, and fire twice at times that occur twice. So Everpost sends Temporal the planned
 * times themselves, some in advance.
 */

type WorkflowRow = Selectable<Workflow>;

/** The config of the SCHEDULE trigger; fields may still be missing. */
export interface TriggerSchedule {
  cron?: string;
  timeZone?: string;
  segmentId?: string;
  filter?: Condition;
}

export function scheduleOf(row: { trigger_schedule: unknown }): TriggerSchedule {
  return row.trigger_schedule ?? {};
}

/** Returns true if the trigger has all fields of a schedule. */
export function isScheduled({ cron, timeZone }: TriggerSchedule): boolean {
  return cron !== undefined && timeZone !== undefined;
}

/**
 * Number of planned times that Temporal gets in advance. At the shortest interval, they last for a
 * day.
 */
const plannedAhead = 100;
/** When Temporal has fewer planned times left, it gets more. */
const plannedAheadMin = 20;
/** Milliseconds that a firing may be late before the sweep starts it. */
const graceMs = 40_000;
/** A firing that has not begun this many milliseconds after its planned time is missed. */
const missedAfterMs = 3_600_000;
/** Number of firings of a workflow that are kept. */
export const firingsKept = 100;

/** The columns of a schedule after a change: it is due for a check. */
const changedNow = {
  next_reconcile_at: sql<Date>`now()`,
  revision: sql<number>`workflow_schedule.revision + 1`,
};

/**
 * Records, in the transaction that changes a workflow, that its schedule in Temporal must be
 * changed or deleted.
 * @param workflow the workflow after the change
 */
export async function changeSchedule(tx: Database, workflow: WorkflowRow): Promise<void> {
  const isOn = workflow.enabled && workflow.trigger_type === 'SCHEDULE';
  const [next] = isOn ? plannedInstants(scheduleOf(workflow), new Date(), 1) : [];
  if (next) {
    await sql`
      insert into workflow_schedule (workflow_id, project_id, next_at, next_reconcile_at)
        values (${workflow.id}, ${workflow.project_id}, ${next}, now())
        on conflict (workflow_id) do update set next_at = excluded.next_at, next_reconcile_at = now(),
          revision = workflow_schedule.revision + 1`.execute(tx);
  } else {
    const { numUpdatedRows } = await tx
      .updateTable('workflow_schedule')
      .set(changedNow)
      .where('workflow_id', '=', workflow.id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
  }
  await keep(tx, workflow.id);
}

async function keep(tx: Database, workflowId: string): Promise<void> {
  const input = { projectId: null, workflowId };
  await enqueue(tx, {
    kind: 'workflowSchedule',
    input,
    summary: 'Update the schedule of a workflow',
  });
}

/**
 * Makes the schedules of a project due for a check, because the project was disabled, enabled or
 * deleted.
 */
export async function markSchedulesDue(tx: Database, projectId: string): Promise<void> {
  await tx
    .updateTable('workflow_schedule')
    .set(changedNow)
    .where('project_id', '=', projectId)
    .execute();
}

/**
 * Makes all schedules due for a check, because Temporal may have lost them. Returns their number.
 */
export async function markAllSchedulesDue(db: Database): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('workflow_schedule')
    .set({ next_reconcile_at: sql<Date>`now()` })
    .where('next_reconcile_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Requests the deletion of the schedules of workflows, in the transaction that deletes the
 * workflows.
 */
export async function forgetSchedules(tx: Database, ids: readonly string[]): Promise<void> {
  const rows = await tx
    .updateTable('workflow_schedule')
    .set({ next_reconcile_at: sql<Date>`now()` })
    .where('workflow_id', '=', anyOf(ids))
    .returning('workflow_id')
    .execute();
  for (const { workflow_id: id } of rows) await keep(tx, id);
}

/**
 * Starts the runs that check schedules, for at most `max` due schedules: those with a late firing
 * or a change.
 */
export async function keepDueSchedules(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const due = await tx
      .updateTable('workflow_schedule')
      // The check itself sets the time of the next check.
      .set({ next_reconcile_at: sql<Date>`now() + interval '1 minute'` })
      .where('workflow_id', 'in', (eb) =>
        eb
          .selectFrom('workflow_schedule')
          .select('workflow_id')
          .where('next_reconcile_at', '<', sql<Date>`now()`)
          .orderBy('next_reconcile_at')
          .limit(max)
          .forUpdate()
          .skipLocked(),
      )
      .returning('workflow_id')
      .execute();
    for (const { workflow_id: id } of due) await keep(tx, id);
  });
}

/**
 * Returns a workflow if it can fire now, and prevents its deletion until the transaction ends. Call
 * it before locking other rows of the workflow, because a deletion locks in this order.
 */
export async function holdFiringWorkflow(
  tx: Database,
  workflowId: string,
): Promise<WorkflowRow | undefined> {
  const { rows } = await sql<WorkflowRow>`
    select workflow.id, workflow.project_id, workflow.name, workflow.enabled, workflow.trigger_type,
        workflow.trigger_schedule, workflow.version
      from workflow join project on project.id = workflow.project_id
      where workflow.id = ${workflowId} and workflow.enabled
        and workflow.trigger_type = 'SCHEDULE' and project.disabled_reason is null
        and project.removal is null
      for key share of workflow`.execute(tx);
  return rows[0];
}

/** A schedule to send to Temporal. If `instants` is empty, the schedule is deleted in Temporal. */
export interface ScheduleUpdate {
  workflowId: string;
  projectId: string;
  name: string;
  instants: Date[];
  /** The row's `revision` when it was read. */
  revision: number;
}

/**
 * Records the firings of a workflow that will not begin any more, starts those that are late, and
 * returns the schedule to send to Temporal; null: Temporal already has none.
 */
export async function prepareSchedule(
  db: Database,
  workflowId: string,
): Promise<ScheduleUpdate | null> {
  return transact(db, async (tx) => {
    const workflow = await holdFiringWorkflow(tx, workflowId);
    const row = await tx
      .selectFrom('workflow_schedule')
      .select(['project_id', 'next_at', 'revision'])
      .where('workflow_id', '=', workflowId)
      .forUpdate()
      .executeTakeFirst();
    if (!row) return null;
    const { project_id: projectId, revision } = row;
    const update = { workflowId, projectId, name: workflow?.name ?? '', revision };
    if (!workflow) return { ...update, instants: [] };
    const now = new Date();
    const schedule = scheduleOf(workflow);
    let next: Date | undefined;
    for (const at of plannedUntil(schedule, row.next_at, now)) {
      const outcome = await judgeFiring(tx, workflow, at, now);
      if (outcome === 'late') await signalFiring(tx, workflow, at);
      if (outcome !== 'listed') {
        next = at;
        break;
      }
    }
    const instants = plannedInstants(schedule, now, plannedAhead);
    next ??= instants[0];
    if (next) await updateNext(tx, workflowId, next);
    return { ...update, instants };
  });
}

/** Returns the last planned times of a period, at most `firingsKept`. */
function plannedUntil(schedule: TriggerSchedule, from: Date, until: Date): Date[] {
  let found: Date[] = [];
  for (let after = new Date(from.getTime() - 1); ;) {
    const page = plannedInstants(schedule, after, plannedAhead);
    found = [...found, ...page.filter((at) => at <= until)].slice(-firingsKept);
    const last = page.at(-1);
    if (!last || last > until) return found;
    after = last;
  }
}

/**
 * Checks a firing that has not begun. Returns `listed` if it will not begin any more and is
 * recorded, `late` if it must begin now, and `young` if Temporal may still begin it.
 */
async function judgeFiring(
  tx: Database,
  workflow: WorkflowRow,
  at: Date,
  now: Date,
): Promise<'listed' | 'late' | 'young'> {
  const firings = tx.selectFrom('firing').select('at').where('workflow_id', '=', workflow.id);
  if (await firings.where('at', '=', at).executeTakeFirst()) return 'listed';
  const before = await firings
    .where('started_at', '<=', at)
    .where((or) => or.or([or('completed_at', 'is', null), or('completed_at', '>', at)]))
    .executeTakeFirst();
  const age = now.getTime() - at.getTime();
  if (!before && age <= missedAfterMs) return age > graceMs ? 'late' : 'young';
  await insertFiring(tx, workflow, at, before ? 'OVERLAPPED' : 'MISSED');
  return 'listed';
}

/** Starts the run of a firing, also again if the run was ended in Temporal. */
async function signalFiring(
  tx: Database,
  { id: workflowId, project_id: projectId, name }: WorkflowRow,
  at: Date,
): Promise<void> {
  const input = { projectId, workflowId, at: at.toISOString() };
  await enqueue(tx, { kind: 'firing', input, summary: name });
}

/** Records a firing, and deletes the oldest firings beyond `firingsKept`. */
async function insertFiring(
  tx: Database,
  { id, project_id }: Pick<WorkflowRow, 'id' | 'project_id'>,
  at: Date,
  status: 'OVERLAPPED' | 'MISSED' | 'RUNNING',
  begun: { started_at?: Date; audience?: string } = {},
): Promise<void> {
  await tx
    .insertInto('firing')
    .values({ workflow_id: id, project_id, at, status, ...begun })
    .execute();
  await sql`
    delete from firing where workflow_id = ${id} and status <> 'RUNNING' and at < (
      select min(at) from (select at from firing where workflow_id = ${id}
        order by at desc limit ${firingsKept}) kept)`.execute(tx);
}

async function updateNext(tx: Database, workflowId: string, next: Date): Promise<void> {
  await tx
    .updateTable('workflow_schedule')
    .set({
      next_at: next,
      next_reconcile_at: new Date(Math.max(next.getTime(), Date.now()) + graceMs),
    })
    .where('workflow_id', '=', workflowId)
    .execute();
}

/**
 * Records that Temporal has the schedule, unless the schedule has changed since it was prepared: a
 * run then prepares it again. A schedule that is switched off is deleted.
 */
export async function recordScheduleUpdate(db: Database, update: ScheduleUpdate): Promise<void> {
  const { workflowId, instants, revision } = update;
  const last = instants.at(-1);
  if (last) {
    await db
      .updateTable('workflow_schedule')
      .set({ planned_until: last })
      .where('workflow_id', '=', workflowId)
      .where('revision', '=', revision)
      .execute();
    return;
  }
  await sql`
    with kept as (
      select id from workflow
        where id = ${workflowId} and enabled and trigger_type = 'SCHEDULE'
    ), waiting as (
      -- The project is disabled, so no times are planned. Enabling it makes the schedule due for a
      -- check.
      update workflow_schedule set planned_until = null, next_reconcile_at = null, next_at = '9999-01-01'
        where workflow_id in (select id from kept) and revision = ${revision}
    )
    delete from workflow_schedule where workflow_id = ${workflowId}
      and workflow_id not in (select id from kept) and revision = ${revision}`.execute(db);
}

/**
 * Begins a firing, in the caller's transaction, or records it as missed or overlapped. Returns true
 * if it is running, even if an earlier attempt has begun it.
 */
export async function beginFiring(tx: Database, workflowId: string, at: Date): Promise<boolean> {
  const workflow = await holdFiringWorkflow(tx, workflowId);
  const row = await tx
    .selectFrom('workflow_schedule')
    .select(['next_at', 'planned_until'])
    .where('workflow_id', '=', workflowId)
    .forUpdate()
    .executeTakeFirst();
  const listed = await tx
    .selectFrom('firing')
    .select('status')
    .where('workflow_id', '=', workflowId)
    .where('at', '=', at)
    .executeTakeFirst();
  if (listed) return listed.status === 'RUNNING';
  const schedule = workflow ? scheduleOf(workflow) : {};
  const [planned, ...following] = plannedInstants(
    schedule,
    new Date(at.getTime() - 1),
    plannedAheadMin,
  );
  // If `isPlanned` is false, `at` belongs to an earlier version of the schedule.
  const isPlanned = planned?.getTime() === at.getTime();
  if (!workflow || !row || !isPlanned || at < row.next_at) return false;
  const now = new Date();
  const running = await tx
    .selectFrom('firing')
    .select('at')
    .where('workflow_id', '=', workflowId)
    .where('status', '=', 'RUNNING')
    .executeTakeFirst();
  const isMissed = now.getTime() - at.getTime() > missedAfterMs;
  const { segmentId, filter } = schedule;
  await insertFiring(
    tx,
    workflow,
    at,
    running ? 'OVERLAPPED' : isMissed ? 'MISSED' : 'RUNNING',
    running || isMissed ? {} : { started_at: now, audience: JSON.stringify({ segmentId, filter }) },
  );
  if (running) await signalFiring(tx, workflow, running.at);
  const [next] = following;
  // If `next_at` is before this firing, earlier firings are not recorded yet: the sweep records
  // them.
  const isNext = row.next_at.getTime() === at.getTime();
  if (next && isNext) await updateNext(tx, workflowId, next);
  const last = following.at(-1);
  if (!row.planned_until || (last && last >= row.planned_until)) await keep(tx, workflowId);
  return !running && !isMissed;
}
