import { type RawBuilder, sql } from 'kysely';
import type { GoalSums } from '../../domain/goals/goal.ts';
import type { Graph } from '../../domain/workflow/graph.ts';
import { stepModules } from '../../domain/workflow/steps/registry.ts';
import { limits } from '../../domain/limits.ts';
import { withinTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { anyOf, finite, onlyRow } from '../expressions.ts';
import { branchOf } from './branches.ts';
import { countNotStarted } from './not-started.ts';
import {
  countOutcomes,
  type OutcomeCounts,
  type ReasonCount,
} from '../../domain/outcomes/tally.ts';
import { humanColumns } from '../sql/mail-moments.ts';
import { reasonOf } from '../sql/mail-status.ts';
import type { NotStartedReason } from '../../domain/workflow/start.ts';
import type { StepModule } from '../../domain/workflow/steps/step.ts';

/** Statistics of a workflow's executions, which are counted at each request. */

/** The executions to count. */
export interface StatsPeriod {
  /** Current version of the executions; undefined: any. */
  version?: number | undefined;
  /** Start of the period in which the executions started; both ends are included. */
  startDate?: Date | undefined;
  endDate?: Date | undefined;
}

/** Number of started executions, and of executions in each state. */
export interface ExecutionCounts {
  started: number;
  /** Active executions, including paused ones. */
  active: number;
  /** Active executions that were paused individually. */
  paused: number;
  completed: number;
  exited: number;
  failed: number;
  cancelled: number;
}

export interface MailCounts extends OutcomeCounts {
  total: number;
  sent: number;
  delivered: number;
  opened: number;
  clicked: number;
  bounced: number;
  humanOpened: number;
  humanClicked: number;
  machineOpened: number;
  machineClicked: number;
}

export interface StepCounts {
  /** Executions that have begun the step. */
  entered: number;
  completed: number;
  skipped: number;
  failed: number;
  /** Active executions that are at the step now. */
  waiting: number;
  /**
   * Median of the seconds between entering and leaving the step; null: no execution has done both.
   */
  medianSeconds: number | null;
  /** Executions that left the step, by the branch that they took. */
  branches: Map<string, number>;
  /** Counts of the mail of a step that sends mail. */
  emails?: MailCounts;
}

export interface WorkflowStats {
  executions: ExecutionCounts;
  /** Counts by step id, for all steps of the graph. */
  steps: Map<string, StepCounts>;
  /** Conversions of the mail of the counted executions. */
  goal: GoalCounts;
  /** Events of the period that started no execution. */
  notStarted: Record<NotStartedReason, number>;
}

export interface GoalCounts extends GoalSums {
  /** Messages that were sent. */
  sent: number;
}

/**
 * Returns statistics of a workflow and of each step of a graph. PostgreSQL counts, so this process
 * gets only a few rows for each step. The time is proportional to the number of step executions;
 * each statement takes at most `limits.statsTimeMs`. If there are more than `sampleMax` executions,
 * medians are those of a sample.
 * @throws Problem STATS_TOO_HEAVY
 */
export async function findStats(
  db: Database,
  { id: workflowId, project_id: projectId }: { id: string; project_id: string },
  graph: Graph,
  period: StatsPeriod,
): Promise<WorkflowStats> {
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const counted = countedSql(workflowId, period);
    const executions = await countExecutions(tx, counted);
    const steps = new Map(
      graph.steps.map(({ id, type }) => [id, zeros(stepModules[type]?.sendsMail ?? false)]),
    );
    const idsOf = (holds: (module: StepModule) => unknown) =>
      graph.steps
        .filter(({ type }) => stepModules[type] && holds(stepModules[type]))
        .map(({ id }) => id);
    for (const row of await countSteps(
      tx,
      counted,
      idsOf(({ branches }) => branches),
    )) {
      const step = steps.get(row.stepId);
      if (step) add(step, row);
    }
    const sampled = sampledSql(counted, executions.started);
    const found: ({ stepId: string } & Partial<StepCounts>)[] = [
      ...(await countWaiting(tx, counted)),
      ...(await findMedians(tx, sampled)),
      ...(await findDelayMedians(
        tx,
        sampled,
        idsOf(({ rests }) => rests === 'delay'),
      )),
      ...(await countMails(
        tx,
        projectId,
        counted,
        idsOf(({ sendsMail }) => sendsMail),
      )),
    ];
    for (const { stepId, ...counts } of found) {
      const step = steps.get(stepId);
      if (step) Object.assign(step, counts);
    }
    const goal = await countGoal(tx, counted);
    return { executions, steps, goal, notStarted: await countNotStarted(tx, workflowId, period) };
  });
}

const mailNumbers = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'humanOpened',
  'humanClicked',
  'machineOpened',
  'machineClicked',
] as const;

function zeros(sendsMail: boolean): StepCounts {
  const numbers = Object.fromEntries(['total', ...mailNumbers].map((name) => [name, 0]));
  const emails = { ...numbers, ...countOutcomes([]) } as MailCounts;
  return {
    entered: 0,
    completed: 0,
    skipped: 0,
    failed: 0,
    waiting: 0,
    medianSeconds: null,
    branches: new Map(),
    ...(sendsMail && { emails }),
  };
}

/** Returns SQL that is true if a row of `execution` belongs to the counted ones. */
function countedSql(workflowId: string, { version, startDate, endDate }: StatsPeriod) {
  return sql<boolean>`execution.workflow_id = ${workflowId}
    ${version === undefined ? sql`` : sql`and execution.workflow_version = ${version}`}
    ${startDate ? sql`and execution.started_at >= ${startDate}` : sql``}
    ${endDate ? sql`and execution.started_at <= ${endDate}` : sql``}`;
}

async function countExecutions(
  tx: Database,
  counted: RawBuilder<boolean>,
): Promise<ExecutionCounts> {
  const { rows } = await sql<ExecutionCounts>`
    select count(*)::int as started,
        count(*) filter (where status in ('RUNNING', 'WAITING'))::int as active,
        (select count(*)::int from execution where ${counted} and paused_at is not null
          and status in ('RUNNING', 'WAITING')) as paused,
        count(*) filter (where status = 'COMPLETED')::int as completed,
        count(*) filter (where status = 'EXITED')::int as exited,
        count(*) filter (where status = 'FAILED')::int as failed,
        count(*) filter (where status = 'CANCELLED')::int as cancelled
      from execution where ${counted}`.execute(tx);
  return onlyRow(rows);
}

type OfStep<T> = { stepId: string } & T;

/** An outcome of a step, and how often it occurred. */
interface StepCount {
  status: string;
  isBegun: boolean;
  branch: string | null;
  times: number;
}

async function countSteps(
  tx: Database,
  counted: RawBuilder<boolean>,
  branching: readonly string[],
): Promise<OfStep<StepCount>[]> {
  // One pass over the rows: there are few groups, so PostgreSQL need not sort the rows.
  const { rows } = await sql<OfStep<StepCount>>`
    select step.step_id as "stepId", step.status, step.started_at is not null as "isBegun",
        case when step.status in ('COMPLETED', 'SKIPPED') and step.step_id = ${anyOf(branching)}
          then ${branchOf('step')} end as branch,
        count(*)::int as times
      from execution join step_execution step on step.execution_id = execution.id
      where ${counted}
      group by 1, 2, 3, 4`.execute(tx);
  return rows;
}

function add(step: StepCounts, { status, isBegun, branch, times }: StepCount): void {
  if (isBegun) step.entered += times;
  if (status === 'COMPLETED') step.completed += times;
  if (status === 'SKIPPED') step.skipped += times;
  if (status === 'FAILED') step.failed += times;
  if (branch !== null) step.branches.set(branch, (step.branches.get(branch) ?? 0) + times);
}

/** Approximate maximum number of executions from which medians are taken. */
const sampleMax = 100_000;

/**
 * SQL that is true for all counted executions; if there are more than `sampleMax`, for a regular
 * sample, which is the same in each statement.
 */
function sampledSql(counted: RawBuilder<boolean>, started: number): RawBuilder<boolean> {
  const nth = Math.ceil(started / sampleMax);
  return nth <= 1 ? counted : sql<boolean>`${counted} and uuid_hash(execution.id) % ${nth} = 0`;
}

/**
 * SQL of the median of the seconds between two times, to the millisecond, because some columns have
 * more digits than others.
 */
const medianSeconds = (from: RawBuilder<unknown>, to: RawBuilder<unknown>) =>
  sql`percentile_cont(0.5) within group (
    order by extract(epoch from ${to}::timestamptz(3) - ${from})::float8)`;

type Median = OfStep<Pick<StepCounts, 'medianSeconds'>>;

async function findMedians(tx: Database, sampled: RawBuilder<boolean>): Promise<Median[]> {
  const { rows } = await sql<Median>`
    select step.step_id as "stepId",
        ${medianSeconds(sql`step.started_at`, sql`step.completed_at`)} as "medianSeconds"
      from execution join step_execution step on step.execution_id = execution.id
      where ${sampled} and step.status = 'COMPLETED'
      group by 1`.execute(tx);
  return rows;
}

/**
 * Returns the median time that executions spent in each delay. A delay is COMPLETED as soon as its
 * wait begins, so `completed_at` is not the end of the wait. The wait ends when the delay is skipped,
 * when the next step begins, or when the execution completes.
 */
async function findDelayMedians(
  tx: Database,
  sampled: RawBuilder<boolean>,
  delays: readonly string[],
): Promise<Median[]> {
  if (delays.length === 0) return [];
  const { rows } = await sql<Median>`
    select delay.step_id as "stepId",
        ${medianSeconds(sql`delay.started_at`, sql`left_at`)} as "medianSeconds"
      from execution join step_execution delay on delay.execution_id = execution.id
      cross join lateral (
        select coalesce(case when delay.status = 'SKIPPED' then delay.completed_at end,
          (select min(next.started_at) from step_execution next
            where next.execution_id = execution.id and next.started_at > delay.started_at),
          case when execution.status = 'COMPLETED' then execution.completed_at end) as left_at
      ) leaving
      where ${sampled} and delay.step_id = ${anyOf(delays)}
        and delay.status in ('COMPLETED', 'SKIPPED')
      group by 1`.execute(tx);
  return rows;
}

async function countWaiting(tx: Database, counted: RawBuilder<boolean>) {
  const { rows } = await sql<OfStep<Pick<StepCounts, 'waiting'>>>`
    select current_step_id as "stepId", count(*)::int as waiting from execution
      where ${counted} and status in ('RUNNING', 'WAITING') and current_step_id is not null
      group by 1`.execute(tx);
  return rows;
}

async function countMails(
  tx: Database,
  projectId: string,
  counted: RawBuilder<boolean>,
  ids: readonly string[],
) {
  if (ids.length === 0) return [];
  const { rows } = await sql<OfStep<ReasonCount & Omit<MailCounts, keyof OutcomeCounts>>>`
    select step.step_id as "stepId", email.status = 'FAILED' as "isFailed",
        ${reasonOf('email', sql`${projectId}::uuid`)} as code, count(*)::int as count,
        count(email.sent_at)::int as sent,
        count(email.delivered_at)::int as delivered, count(email.opened_at)::int as opened,
        count(email.clicked_at)::int as clicked, count(email.bounced_at)::int as bounced,
        ${humanColumns('email')}
      from execution join step_execution step on step.execution_id = execution.id
      join email on email.workflow_step_execution_id = step.id
      where ${counted} and step.step_id = ${anyOf(ids)}
      group by 1, 2, 3`.execute(tx);
  return [...new Set(rows.map(({ stepId }) => stepId))].map((stepId) => {
    const groups = rows.filter((row) => row.stepId === stepId);
    const sum = (field: 'count' | (typeof mailNumbers)[number]) =>
      groups.reduce((total, group) => total + group[field], 0);
    const numbers = Object.fromEntries(mailNumbers.map((name) => [name, sum(name)]));
    const emails = { total: sum('count'), ...countOutcomes(groups), ...numbers } as MailCounts;
    return { stepId, emails };
  });
}

/**
 * Counts the conversions that followed the mail of executions. Conversions of deleted mail are not
 * included.
 */
async function countGoal(tx: Database, counted: RawBuilder<boolean>): Promise<GoalCounts> {
  const { rows } = await sql<Omit<GoalCounts, 'value'> & { value: string }>`
    select count(email.sent_at)::int as sent, count(email.converted_at)::int as converted,
        coalesce(sum(conversions), 0)::float8 as conversions,
        coalesce(round(sum(value), 6), 0)::text as value
      from execution join email on email.workflow_execution_id = execution.id
      left join lateral (select count(*) as conversions, sum(conversion.value) as value
        from conversion where conversion.email_id = email.id) led on email.converted_at is not null
      where ${counted}`.execute(tx);
  const row = onlyRow(rows);
  return { ...row, value: finite(Number(row.value)) };
}
