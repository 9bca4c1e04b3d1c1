import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { createSweepActivities, type SweepServices } from '../../activities/upkeep/sweep.ts';
import type { TestApi } from './api.ts';
import type { Engine } from './engine.ts';
import { writeMail } from './mail-tables.ts';

/** Moves all due times a minute into the past, so that a sweep treats the work as forgotten. */
export async function outliveGrace({ api: { db } }: Engine): Promise<void> {
  const past = sql<Date>`now() - interval '1 minute'`;
  await db.updateTable('outbox').set({ due_at: past }).execute();
  await writeMail(db, (tx) =>
    tx
      .updateTable('email')
      .set({ due_at: past })
      .where('status', '=', 'PENDING')
      .where('due_at', '<=', sql<Date>`now()`)
      .execute(),
  );
}

/** Runs one sweep on a worker of the engine's task queue, and waits for its end. */
export async function sweepNow(
  engine: Engine,
  client: Client = engine.temporal.client,
): Promise<void> {
  await outliveGrace(engine);
  await client.workflow.execute('sweep', {
    taskQueue: engine.taskQueue,
    workflowId: `sweep-${randomUUID()}`,
    args: [],
  });
}

/** Returns the tasks of the sweep, for running one at a time. `settings` replace the defaults. */
export function tasksOf(api: TestApi, settings: Partial<SweepServices>) {
  const services: SweepServices = {
    mailer: { provider: 'local mailbox' },
    routes: [],
    describeExecutionRun: async () => ({ kind: 'missing' }),
    listClosedExecutions: async function* none() {},
    listStartedExecutions: async function* none() {},
    signalExecution: async () => false,
    describeSweep: async () => ({ createdAt: new Date(0), plannedAt: [], heartbeat: null }),
    settleMinutes: 15,
    unknownPolicy: 'fail',
    idempotencyTtlHours: 24,
    bodyRetentionDays: 90,
    securityLogDays: 365,
    requestLogDays: 30,
    startFeedbackMailbox: null,
    billingRules: null,
    platformFrom: null,
    dashboardUrl: '',
    ...api.services,
    ...settings,
  };
  return createSweepActivities(services, () => `sweep-${new Date().toISOString().slice(0, 19)}Z`);
}
