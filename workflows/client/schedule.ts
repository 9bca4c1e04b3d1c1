import {
  type CalendarSpec,
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Heartbeat, KnownSweeps } from '../../domain/runs/lost-history.ts';
import { priorities, runIds, sweepIdOf, sweepTimeOf } from '../../domain/runs/runs.ts';
import { ensureSearchAttributes, projectKey } from './search-attributes.ts';

const everyMs = 30_000;
/**
 * Milliseconds after which Temporal ends a run of the sweep. A sweep with much work takes a
 * fraction of this time.
 */
const runTimeoutMs = 15 * 60_000;

/**
 * Makes sure the sweep is scheduled every half minute, without overlap. Each task queue has its own
 * schedule, because installations that share a namespace have different queues and databases.
 */
export async function ensureSweep(client: Client, taskQueue: string): Promise<void> {
  const id = sweepIdOf(taskQueue);
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'sweep',
    workflowId: id,
    taskQueue,
    args: [],
    priority: { priorityKey: priorities.upkeep },
    // While one sweep is open, the next sweeps are skipped, so a sweep that hangs must be ended.
    workflowRunTimeout: runTimeoutMs,
  };
  const schedule: Schedule = {
    spec: { intervals: [{ every: everyMs }] },
    action,
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' as const },
  };
  await store(client, id, schedule);
}

/**
 * Maximum milliseconds between two checks for the schedule of the sweep, so that a lost schedule is
 * restored within a minute.
 */
const lookEveryMs = 20_000;

/**
 * Creates the schedule of the sweep and the search attributes again whenever they are missing,
 * until `stop` is called. Temporal may lose its data, or be restored from a backup, while the
 * processes run.
 */
export function keepSweep(
  client: Client,
  taskQueue: string,
  log: { warn(details: object, message: string): void },
): { stop(): void } {
  let isStopped = false;
  const look = async () => {
    try {
      await ensureSearchAttributes(client);
      if (!(await hasSweep(client, taskQueue))) {
        log.warn({ taskQueue }, 'Temporal has lost the schedule of the sweep; creating it again');
        await ensureSweep(client, taskQueue);
      }
    } catch {
      // Temporal is unavailable, which other parts report. The next check follows.
    }
    if (!isStopped) timer.refresh();
  };
  // The moment is random, so that processes do not check at the same time.
  const timer = setTimeout(look, lookEveryMs * (0.5 + Math.random() / 2)).unref();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Returns true if Temporal has the schedule of the sweep. @throws Error when Temporal does not
 * answer
 */
export async function hasSweep(client: Client, taskQueue: string): Promise<boolean> {
  try {
    await client.schedule.getHandle(sweepIdOf(taskQueue)).describe();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

/**
 * Returns when the schedule of the sweep was created, the planned times of recent sweeps, and the
 * newest heartbeat that one of them has recorded. Without a schedule, no sweep is known.
 * @throws Error when Temporal does not answer
 */
export async function describeSweep(client: Client, taskQueue: string): Promise<KnownSweeps> {
  const found = await client.schedule
    .getHandle(sweepIdOf(taskQueue))
    .describe()
    .catch((error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    });
  if (!found) return { createdAt: new Date(), plannedAt: [], heartbeat: null };
  const { info } = found;
  const runs = info.recentActions.map(({ action }) => action.workflow.workflowId);
  const plannedAt = runs.flatMap((id) => sweepTimeOf(id) ?? []);
  return { createdAt: info.createdAt, plannedAt, heartbeat: await findHeartbeat(client, runs) };
}

/**
 * Returns the newest heartbeat of these sweeps; null: no sweep has recorded a heartbeat.
 * @param runs ids of sweeps, oldest first. The newest sweep may not have recorded a heartbeat yet
 */
async function findHeartbeat(client: Client, runs: readonly string[]): Promise<Heartbeat | null> {
  for (const id of runs.toReversed()) {
    const run = await client.workflow
      .getHandle(id)
      .describe()
      .catch((error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      });
    const heartbeat = run?.memo?.['heartbeat'];
    if (heartbeat) return heartbeat as Heartbeat;
  }
  return null;
}

/**
 * Makes Temporal's schedule of a workflow fire at these times; without times, deletes the schedule.
 * Each time becomes a calendar entry in UTC, with a precision of a second.
 */
export async function updateSchedule(
  client: Client,
  taskQueue: string,
  update: { workflowId: string; projectId: string; name: string; instants: readonly Date[] },
): Promise<void> {
  const { workflowId, projectId, name, instants } = update;
  const id = `schedule-${workflowId}`;
  if (instants.length === 0) {
    return client.schedule
      .getHandle(id)
      .delete()
      .catch((error: unknown) => {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      });
  }
  await store(client, id, {
    spec: { calendars: instants.map(calendarOf) },
    action: {
      type: 'startWorkflow',
      workflowType: 'firing',
      // The id has no time here, because Temporal appends the planned time.
      workflowId: runIds.firing({ projectId, workflowId, at: '' }).slice(0, -1),
      taskQueue,
      args: [{ projectId, workflowId }],
      staticSummary: name,
      typedSearchAttributes: [{ key: projectKey, value: projectId }],
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 hour' },
  });
}

type Schedule = Omit<Parameters<Client['schedule']['create']>[0], 'scheduleId'>;

/** Creates a schedule, or changes the existing one. */
async function store(client: Client, scheduleId: string, schedule: Schedule): Promise<void> {
  try {
    await client.schedule.create({ scheduleId, ...schedule });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    // The state is kept, because an operator may have paused the schedule in Temporal.
    await client.schedule.getHandle(scheduleId).update(({ state }) => ({ ...schedule, state }));
  }
}

const months = [
  'JANUARY',
  'FEBRUARY',
  'MARCH',
  'APRIL',
  'MAY',
  'JUNE',
  'JULY',
  'AUGUST',
  'SEPTEMBER',
  'OCTOBER',
  'NOVEMBER',
  'DECEMBER',
] as const;

function calendarOf(at: Date): CalendarSpec {
  return {
    year: at.getUTCFullYear(),
    month: months[at.getUTCMonth()]!,
    dayOfMonth: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
  };
}
