import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf, countRows } from '../../expressions.ts';
import type { ExecutionPage, LockedExecutionJob } from '../../jobs/execution-jobs.ts';
import { activeStatuses } from '../../workflows/executions/executions.ts';
import { nextVersion } from './active-pages.ts';
import { listPendingMoves, moveExecutions } from '../executions/move-executions.ts';
import { countPositions } from '../../workflows/executions/positions.ts';
import { type FindGraph, graphReader } from '../../workflows/graphs.ts';
import { counterpartOf, type Mapping } from '../../../domain/workflow/compare.ts';
import { findStep, type Graph } from '../../../domain/workflow/graph.ts';

/** Moves the active executions of a workflow to another version. */

/**
 * The executions to move, the target version, and how to treat executions at a step without a
 * counterpart.
 */
export interface Migrate {
  /** Source versions; null: all but `to`. */
  from: number[] | null;
  to: number;
  mapping: Mapping;
  onUnmappable: 'stay' | 'cancel';
  /** Executions to move; null: all. */
  executionIds: string[] | null;
}

type MigrateJob = LockedExecutionJob<Migrate>;
type Page = ExecutionPage<'migrate'>;

/** Maximum number of executions moved in one transaction, which locks their contacts. */
const pageSize = 100;

/** Maximum number of positions that one page skips. */
const positionsMax = 50;

/**
 * Maximum number of passes over the positions. An execution may move from a position after the
 * cursor to one before it, so the positions are searched again. The number is limited, because
 * another job may move the executions back.
 */
const passesMax = 5;

/** Milliseconds between two checks for the end of running steps. */
const checkEveryMs = 1_000;

/** Position of active executions: one version and one step. */
interface Position {
  version: number;
  stepId: string;
}

type Cursor = { phase: 'given'; next: number } | PositionsCursor | AtWorkCursor;

/** Cursor over executions whose step was running. */
interface AtWorkCursor {
  phase: 'atWork';
  /** The last execution that was checked; null: none was. */
  after: string | null;
  /** True if the running step of an execution up to `after` has not ended. */
  isLeft: boolean;
  /** Number of executions that the last pass over the positions could not move. */
  stuck: number;
}

interface PositionsCursor {
  phase: 'positions';
  pass: number;
  /**
   * The last position that was searched, and the last execution checked there. `id` null: all
   * executions there are checked. `at` null: no position was searched yet.
   */
  at: (Position & { id: string | null }) | null;
  /** True if this pass has moved an execution. */
  hasMoved: boolean;
  /**
   * Number of executions that this pass could not move, because they had already begun the
   * counterpart of their step.
   */
  stuck: number;
}

interface Target {
  graph: Graph;
  graphs: FindGraph;
}

export const migrate = {
  nothing: { migrated: 0, unchanged: 0, unmappable: 0, cancelled: 0, finished: 0 },

  async count(tx: Database, { workflowId, asked }: MigrateJob): Promise<number> {
    if (asked.executionIds) return asked.executionIds.length;
    return countRows(
      activeOf(tx, workflowId)
        .where('workflow_version', '<>', asked.to)
        .$if(asked.from !== null, (query) =>
          query.where('workflow_version', '=', sql<number>`any(${asked.from}::int[])`),
        ),
    );
  },

  async page(tx: Database, job: MigrateJob): Promise<Page> {
    const graphs = graphReader(tx);
    const graph = await graphs(job.workflowId, job.asked.to);
    if (!graph) throw new Error(`Workflow ${job.workflowId} has no version ${job.asked.to}.`);
    const target = { graph, graphs };
    const cursor = job.cursor as Cursor | null;
    if (cursor === null) return begin(tx, job);
    switch (cursor.phase) {
      case 'given':
        return givenPage(tx, job, target, cursor.next);
      case 'positions':
        return positionsPage(tx, job, target, cursor);
      case 'atWork':
        return atWorkPage(tx, job, target, cursor);
    }
  },
};

function activeOf(tx: Database, workflowId: string) {
  return tx
    .selectFrom('execution')
    .where('workflow_id', '=', workflowId)
    .where('status', 'in', activeStatuses);
}

const isFrom = ({ from }: Migrate, version: number) => !from || from.includes(version);

/**
 * Executions that are already on the target version are counted now, before the job moves others to
 * it.
 */
async function begin(tx: Database, { workflowId, asked }: MigrateJob): Promise<Page> {
  if (asked.executionIds) return { checked: 0, outcome: {}, cursor: given(0), pauseMs: 0 };
  const unchanged = isFrom(asked, asked.to)
    ? await countRows(activeOf(tx, workflowId).where('workflow_version', '=', asked.to))
    : 0;
  return { checked: 0, outcome: { unchanged }, cursor: pass(1), pauseMs: 0 };
}

const given = (next: number): Cursor => ({ phase: 'given', next });
const pass = (number: number): PositionsCursor => ({
  phase: 'positions',
  pass: number,
  at: null,
  hasMoved: false,
  stuck: 0,
});
const waitForWork = (stuck: number): AtWorkCursor => ({
  phase: 'atWork',
  after: null,
  isLeft: false,
  stuck,
});

/**
 * Moves the next of the given executions. Those of other workflows or other source versions are
 * left out.
 */
async function givenPage(
  tx: Database,
  job: MigrateJob,
  target: Target,
  next: number,
): Promise<Page> {
  const { workflowId, asked } = job;
  const all = asked.executionIds ?? [];
  const ids = all.slice(next, next + pageSize);
  if (ids.length === 0) return { checked: 0, outcome: {}, cursor: waitForWork(0), pauseMs: 0 };
  const rows = await tx
    .selectFrom('execution')
    .select(['id', 'workflow_version'])
    .where('workflow_id', '=', workflowId)
    .where('id', '=', anyOf(ids))
    .execute();
  const meant = rows.filter((row) => isFrom(asked, row.workflow_version)).map(({ id }) => id);
  const { pending: _, ...outcome } = await move(tx, job, target, meant);
  return { checked: ids.length, outcome, cursor: given(next + ids.length), pauseMs: 0 };
}

/**
 * Moves the next executions at the position of the cursor, or at the next position that has some.
 */
async function positionsPage(
  tx: Database,
  job: MigrateJob,
  target: Target,
  before: PositionsCursor,
): Promise<Page> {
  let { at } = before;
  for (let passed = 0; passed < positionsMax; passed++) {
    if (at === null || at.id === null) {
      const position = await nextPosition(tx, job, at);
      if (!position) return { checked: 0, outcome: {}, cursor: afterPass(before), pauseMs: 0 };
      at = { ...position, id: null };
      const isMappable = await hasCounterpart(job, target, position);
      if (!isMappable && job.asked.onUnmappable === 'stay') continue;
    }
    const { checked, ids, next } = await idsAt(tx, job, at);
    at = next;
    if (ids.length === 0) continue;
    const { pending: _, unmappable, ...outcome } = await move(tx, job, target, ids);
    const hasMoved = before.hasMoved || outcome.migrated + outcome.cancelled + outcome.finished > 0;
    const cursor = { ...before, at, hasMoved, stuck: before.stuck + unmappable };
    return { checked, outcome, cursor, pauseMs: 0 };
  }
  return { checked: 0, outcome: {}, cursor: { ...before, at }, pauseMs: 0 };
}

function afterPass({ pass: number, hasMoved, stuck }: PositionsCursor): Cursor {
  return hasMoved && number < passesMax ? pass(number + 1) : waitForWork(stuck);
}

/**
 * Returns some executions at a position. Those that began after the job are left out, because
 * otherwise the job might never end.
 */
async function idsAt(
  tx: Database,
  { workflowId, createdAt }: MigrateJob,
  at: Position & { id: string | null },
) {
  const rows = await activeOf(tx, workflowId)
    .select(['id', 'started_at'])
    .where('workflow_version', '=', at.version)
    .where('current_step_id', '=', at.stepId)
    .$if(at.id !== null, (query) => query.where('id', '>', at.id ?? ''))
    .orderBy('id')
    .limit(pageSize)
    .execute();
  const id = rows.length < pageSize ? null : (rows.at(-1)?.id ?? null);
  const ids = rows.filter((row) => row.started_at <= createdAt).map((row) => row.id);
  return { checked: rows.length, ids, next: { ...at, id } };
}

/**
 * Returns the next position after `after` that is not on the target version; null: there is none.
 * Each version and each position is found by one index lookup.
 */
async function nextPosition(
  tx: Database,
  { workflowId, asked }: MigrateJob,
  after: Position | null,
): Promise<Position | null> {
  let version = after?.version ?? null;
  let stepId = after?.stepId ?? null;
  for (;;) {
    if (version !== null && version !== asked.to) {
      const row = await activeOf(tx, workflowId)
        .select('current_step_id')
        .where('workflow_version', '=', version)
        .$if(stepId !== null, (query) => query.where('current_step_id', '>', stepId ?? ''))
        .orderBy('current_step_id')
        .limit(1)
        .executeTakeFirst();
      if (row?.current_step_id) return { version, stepId: row.current_step_id };
    }
    version = await nextVersion(tx, { workflowId, versions: asked.from }, (version ?? 0) + 1);
    stepId = null;
    if (version === null) return null;
  }
}

async function hasCounterpart(
  { workflowId, asked }: MigrateJob,
  { graph, graphs }: Target,
  { version, stepId }: Position,
): Promise<boolean> {
  const before = await graphs(workflowId, version);
  const step = before && findStep(before, stepId);
  return step !== undefined && counterpartOf(step, graph, asked.mapping).step !== null;
}

/**
 * Moves the executions that were left because their step was running, if this step has ended by
 * now. After the last of them, the job pauses, and then checks again those that are still left.
 */
async function atWorkPage(
  tx: Database,
  job: MigrateJob,
  target: Target,
  { after, isLeft: wasLeft, stuck }: AtWorkCursor,
): Promise<Page> {
  const ids = await listPendingMoves(tx, job.id, { after, max: pageSize });
  const { pending, unmappable, ...outcome } = await move(tx, job, target, ids);
  const isGiven = job.asked.executionIds !== null;
  const counted = isGiven ? { ...outcome, unmappable } : outcome;
  const isLeft = wasLeft || pending > 0;
  if (ids.length === pageSize) {
    const cursor = { ...waitForWork(stuck), after: ids.at(-1) ?? null, isLeft };
    return { checked: 0, outcome: counted, cursor, pauseMs: 0 };
  }
  if (isLeft) {
    return { checked: 0, outcome: counted, cursor: waitForWork(stuck), pauseMs: checkEveryMs };
  }
  if (isGiven) return { checked: 0, outcome: counted, cursor: null, pauseMs: 0 };
  const left = stuck + (await countUnmappable(tx, job, target));
  return { checked: 0, outcome: { ...outcome, unmappable: left }, cursor: null, pauseMs: 0 };
}

async function countUnmappable(tx: Database, job: MigrateJob, target: Target): Promise<number> {
  const { workflowId, asked } = job;
  let count = 0;
  for (const { active, ...position } of await countPositions(
    tx,
    workflowId,
    asked.from ?? undefined,
  )) {
    if (position.version === asked.to) continue;
    if (!(await hasCounterpart(job, target, position))) count += active;
  }
  return count;
}

function move(
  tx: Database,
  { id: jobId, asked }: MigrateJob,
  { graphs }: Target,
  ids: readonly string[],
) {
  return moveExecutions(tx, ids, { ...asked, jobId }, graphs);
}
