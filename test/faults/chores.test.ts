import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createContact, createWorkflow } from '../support/histories/executions.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';
import { holdAt, type Point } from './table/points.ts';
import { useWorld } from './table/world.ts';

/** A worker that is killed while the sweep does one of its tasks. */

const world = await useWorld(100);
const { db, engine } = world;
const projectId = engine.project.id;
// What an API finds by itself is none of the sweep's.
await Promise.all(world.apis.splice(0).map((api) => api.stop()));

interface Chore {
  task: string;
  /** The statement at which the worker is killed. */
  at: Point;
  /** Makes something due. Returns the query that has rows until it is done. */
  arrange(): Promise<ReturnType<typeof sql>>;
}

const run = (query: ReturnType<typeof sql>) => query.execute(db);

/** An execution that no run of Temporal serves. */
async function insertExecution(values: {
  workflowId: string;
  status: 'RUNNING' | 'COMPLETED';
  stepId?: string;
}): Promise<string> {
  const { workflowId, status, stepId = null } = values;
  const contactId = await createContact(engine, newAddress());
  const { rows } = await sql<{ id: string }>`
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, current_step_id, completed_at, next_look_at)
      values (${projectId}, ${workflowId}, 1, 'W', ${contactId}, ${status}, ${stepId}::uuid,
        case when ${status} = 'COMPLETED' then now() end, now() - interval '1 minute')
      returning id`.execute(db);
  return rows[0]!.id;
}

const chores: readonly Chore[] = [
  {
    task: 'DISPATCH_FORGOTTEN',
    at: { table: 'outbox', when: 'update', condition: 'new.due_at > old.due_at' },
    async arrange() {
      const runId = `execution-${randomUUID()}`;
      await run(sql`insert into outbox (run_id, project_id, kind, action, due_at)
        values (${runId}, ${projectId}, 'customerWorkflow', 'cancel', now() - interval '1 minute')`);
      return sql`select from outbox where run_id = ${runId}`;
    },
  },
  {
    task: 'REPAIR_EXECUTIONS',
    at: { table: 'execution', when: 'update', condition: 'new.next_look_at > old.next_look_at' },
    async arrange() {
      const workflow = await createWorkflow(engine, {
        eventName: randomUUID(),
        steps: [{ type: 'EXIT', name: 'Out', config: {} }],
      });
      const { rows } = await sql<{ id: string }>`select id from workflow_step
        where workflow_id = ${workflow.id} and type = 'TRIGGER'`.execute(db);
      const stepId = rows[0]!.id;
      const id = await insertExecution({ workflowId: workflow.id, status: 'RUNNING', stepId });
      return sql`select from execution where id = ${id} and completed_at is null`;
    },
  },
  {
    task: 'CANCEL_LATE_EXECUTIONS',
    at: { table: 'execution', when: 'update', condition: "new.status = 'CANCELLED'" },
    async arrange() {
      const workflowId = randomUUID();
      const id = await insertExecution({ workflowId, status: 'RUNNING' });
      await run(
        sql`update execution set next_look_at = now() + interval '1 hour' where id = ${id}`,
      );
      await run(sql`insert into workflow_cancellation (workflow_id, project_id, until)
        values (${workflowId}, ${projectId}, now())`);
      return sql`select from workflow_cancellation where workflow_id = ${workflowId}`;
    },
  },
  {
    task: 'CONTINUE_REMOVALS',
    at: { table: 'execution', when: 'delete', condition: 'true' },
    async arrange() {
      const workflowId = randomUUID();
      await insertExecution({ workflowId, status: 'COMPLETED' });
      await run(sql`insert into removal (id, project_id, kind)
        values (${workflowId}, ${projectId}, 'workflow')`);
      return sql`select from removal where id = ${workflowId}
        union all select from execution where workflow_id = ${workflowId}`;
    },
  },
  {
    task: 'SETTLE_UNCERTAIN',
    at: { table: 'email', when: 'update', condition: "new.status = 'FAILED'" },
    async arrange() {
      const contactId = await createContact(engine, newAddress());
      const { rows } = await sql<{ id: string }>`
        insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
            source_type, status, attempts, attempt_id, lease_until)
          values (${projectId}, ${contactId}, 'to@people.test', 'Hi', ${`a@${engine.domain}`},
            'TRANSACTIONAL', 'TRANSACTIONAL', 'SENDING', 1, ${randomUUID()},
            now() - interval '1 hour')
          returning id`.execute(db);
      return sql`select from email where id = ${rows[0]!.id} and status <> 'FAILED'`;
    },
  },
  {
    task: 'CLEAR_IDEMPOTENCY_KEYS',
    at: { table: 'idempotency', when: 'delete', condition: 'true' },
    async arrange() {
      await run(sql`insert into idempotency (owner_id, key, request, body_hash, created_at)
        values (${projectId}, 'an old key', 'POST /v1/send', '', now() - interval '1 year')`);
      return sql`select from idempotency where key = 'an old key'`;
    },
  },
  {
    task: 'FOLD_EVENT_TALLY',
    at: { table: 'event_tally', when: 'delete', condition: 'true' },
    async arrange() {
      await run(sql`insert into event (project_id, name) values (${projectId}, 'counted')`);
      return sql`select from event_tally where project_id = ${projectId} and fresh`;
    },
  },
  {
    task: 'CLEAR_JOBS',
    at: { table: 'job', when: 'delete', condition: 'true' },
    async arrange() {
      await run(sql`insert into job (id, project_id, kind, state, data, finished_at)
        values ('an old job', ${projectId}, 'bulk', 'completed', '{}', now() - interval '1 year')`);
      return sql`select from job where id = 'an old job'`;
    },
  },
  {
    task: 'CLEAR_TOKENS_AND_RECEIPTS',
    at: { table: 'payment_receipt', when: 'delete', condition: 'true' },
    async arrange() {
      await run(sql`insert into payment_receipt (event_id, created_at)
        values ('an old receipt', now() - interval '1 year')`);
      return sql`select from payment_receipt where event_id = 'an old receipt'`;
    },
  },
];

describe('is done within a minute of the death of the worker that was at it', () => {
  it.each(chores)('$task', { timeout: 180_000 }, async ({ at, arrange }) => {
    const hold = await holdAt(world, at);
    const left = await arrange();
    await hold.isReached();
    await Promise.all(world.workers.splice(0).map((worker) => worker.kill()));
    await hold.release();
    expect((await run(left)).rows).not.toEqual([]);
    world.workers.push(await world.startWorker());
    await waitFor('the end', async () => (await run(left)).rows.length === 0, 60_000);
  });
});
