import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, it } from 'vitest';
import { insertExecution } from '../../db/transactions/executions/start-execution.ts';
import { createContact, createWorkflow } from '../support/histories/executions.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';
import { holdAt, type Point } from './table/points.ts';
import { useWorld } from './table/world.ts';
import { writeMail } from '../support/mail-tables.ts';

/** Kills a worker while the sweep does one of its tasks. */

const world = await useWorld(100);
const { db, engine } = world;
const projectId = engine.project.id;
// An API also finds some of this work, so all APIs are stopped.
await Promise.all(world.apis.splice(0).map((api) => api.stop()));

interface Chore {
  task: string;
  /** The statement at which the worker is killed. */
  at: Point;
  /** Creates work that is due. Returns a query that has rows until it is done. */
  arrange(): Promise<ReturnType<typeof sql>>;
}

const run = (query: ReturnType<typeof sql>) => query.execute(db);

/** Inserts an execution without a run in Temporal. */
async function insertForgotten(): Promise<{ id: string; workflowId: string }> {
  const steps = [{ type: 'EXIT', name: 'Out', config: {} }];
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps });
  const contactId = await createContact(engine, newAddress());
  const given = {
    projectId,
    workflowId: workflow.id,
    contactId,
    context: null,
    causedBy: 'key:secret',
  };
  const { id } = await db.transaction().execute(async (tx) => {
    const execution = await insertExecution(tx, given);
    await sql`delete from outbox where project_id = ${projectId}`.execute(tx);
    return execution;
  });
  return { id, workflowId: workflow.id };
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
    at: { table: 'execution', when: 'update', condition: "old.next_reconcile_at = '2020-01-01'" },
    async arrange() {
      const { id } = await insertForgotten();
      await run(sql`update execution set next_reconcile_at = '2020-01-01' where id = ${id}`);
      return sql`select from execution where id = ${id} and completed_at is null`;
    },
  },
  {
    task: 'CANCEL_LATE_EXECUTIONS',
    at: { table: 'execution', when: 'update', condition: "new.status = 'CANCELLED'" },
    async arrange() {
      const { workflowId } = await insertForgotten();
      await run(sql`insert into workflow_cancellation (workflow_id, project_id, until)
        values (${workflowId}, ${projectId}, now())`);
      return sql`select from workflow_cancellation where workflow_id = ${workflowId}`;
    },
  },
  {
    task: 'CONTINUE_REMOVALS',
    at: { table: 'execution', when: 'delete', condition: 'true' },
    async arrange() {
      const { id, workflowId } = await insertForgotten();
      await run(sql`update execution set status = 'COMPLETED', completed_at = now()
        where id = ${id}`);
      await run(sql`delete from workflow where id = ${workflowId}`);
      return sql`select from removal where id = ${workflowId}
        union all select from execution where workflow_id = ${workflowId}`;
    },
  },
  {
    task: 'SETTLE_UNCERTAIN',
    at: { table: 'email', when: 'update', condition: "new.status = 'FAILED'" },
    async arrange() {
      const contactId = await createContact(engine, newAddress());
      const { rows } = await writeMail(db, (tx) =>
        sql<{ id: string }>`
        insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
            source_type, status, attempts, attempt_id, lease_until)
          values (${projectId}, ${contactId}, 'to@people.test', 'Hi', ${`a@${engine.domain}`},
            'TRANSACTIONAL', 'TRANSACTIONAL', 'SENDING', 1, ${randomUUID()},
            now() - interval '1 hour')
          returning id`.execute(tx),
      );
      return sql`select from email where id = ${rows[0]!.id} and status <> 'FAILED'`;
    },
  },
  {
    task: 'CLEAR_IDEMPOTENCY_KEYS',
    at: { table: 'idempotency', when: 'delete', condition: 'true' },
    async arrange() {
      await run(sql`insert into idempotency (owner_id, key, request, body_hash, use_id, created_at)
        values (${projectId}, 'an old key', 'POST /v1/send', '', ${randomUUID()},
          now() - interval '1 year')`);
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
    task: 'TALLY_MAIL',
    at: {
      table: 'watermark',
      when: 'update',
      condition: `new.name = 'email_tally' and new.at > '2000-01-01'`,
    },
    async arrange() {
      await run(sql`update watermark set at = '-infinity' where name = 'email_tally'`);
      return sql`select from watermark
        where name = 'email_tally' and at < now() - interval '4 days'`;
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
    let left: ReturnType<typeof sql>;
    try {
      left = await arrange();
      await hold.isReached();
      await Promise.all(world.workers.splice(0).map((worker) => worker.kill()));
    } finally {
      await hold.release();
    }
    // PostgreSQL may have committed what the killed client asked for.
    world.workers.push(await world.startWorker());
    await waitFor('the end', async () => (await run(left)).rows.length === 0, 60_000);
  });
});
