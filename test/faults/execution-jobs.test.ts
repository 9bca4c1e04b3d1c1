import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import {
  askForJob,
  countStatuses,
  endOfExecutionJob,
  insertFailed,
} from '../support/histories/execution-jobs.ts';
import { createWorkflow } from '../support/histories/executions.ts';
import { insertContacts } from '../support/projects/campaigns.ts';
import { useWorkerProcess } from '../support/processes/processes.ts';
import { waitFor } from '../support/wait-for.ts';

/** Kills a real worker process in the middle of a job on executions. */

const engine = await useEngine({}, { worker: false });
const { db } = engine.api;

/** Kills a worker each time the job has reached a position, then lets another one finish it. */
async function endAfterKills(workflowId: string, jobId: string, goals: number[]) {
  const position = async () =>
    (await db.selectFrom('job').select('position').where('id', '=', jobId).executeTakeFirst())
      ?.position ?? 0;
  for (const goal of goals) {
    const worker = await useWorkerProcess(engine);
    await waitFor('progress', async () => (await position()) >= goal, 60_000);
    await worker.kill();
  }
  await useWorkerProcess(engine);
  return endOfExecutionJob(engine, workflowId, jobId, 90_000);
}

/** Creates so many executions that wait in a delay. */
async function inDelay(count: number) {
  const workflow = await createWorkflow(engine, {
    eventName: 'contact.unsubscribed',
    steps: [
      { type: 'DELAY', name: 'Wait', config: { amount: 10, unit: 'days' } },
      { type: 'EXIT', name: 'Out', config: { reason: 'done' } },
    ],
  });
  const worker = await useWorkerProcess(engine);
  const [address = ''] = await insertContacts(engine, count);
  const filter = { search: address.slice(0, 8) };
  await engine.call('POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter });
  await allTo(workflow.id, 'WAITING', count);
  await worker.kill();
  const path = `/workflows/${workflow.id}`;
  await engine.call('PATCH', path, { enabled: false });
  return { ...workflow, path };
}

const allTo = (workflowId: string, status: string, count: number) =>
  waitFor(
    `${count} to be ${status}`,
    async () => (await countStatuses(engine, workflowId))[status] === count,
    120_000,
  );

describe('a worker killed again and again', () => {
  it('retries every failed execution once, and no faster', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'EXIT', name: 'Out', config: { reason: 'done' } }],
    });
    await insertFailed(engine, workflow, { step: 'Out', count: 400 });
    const jobId = await askForJob(engine, workflow.id, 'executions/retry-all');
    const job = await endAfterKills(workflow.id, jobId, [100, 200]);
    expect(job.result).toEqual({ retried: 400, refused: 0 });
    await allTo(workflow.id, 'EXITED', 400);
    const { rows } = await sql<{ changes: number; inSecond: number }>`
      select max(jsonb_array_length(history))::int as changes,
          max(begun)::int as "inSecond" from (
        select history, count(*) over (order by (history #>> '{1,at}')::timestamptz
            range between interval '999 milliseconds' preceding and current row) as begun
          from execution where workflow_id = ${workflow.id}) as retried`.execute(db);
    // One row each: failed, running, exited.
    expect(rows[0]?.changes).toBe(3);
    expect(rows[0]?.inSecond).toBeLessThanOrEqual(100);
  }, 180_000);

  it('moves every wait once', async () => {
    const workflow = await inDelay(600);
    const path = `steps/${workflow.steps['Wait']}/move-waits`;
    const jobId = await askForJob(engine, workflow.id, path, { shiftBySeconds: -432_000 });
    const job = await endAfterKills(workflow.id, jobId, [200]);
    expect(job.result).toEqual({ moved: 600, skipped: 0 });
    const { rows } = await sql<{ days: number; moves: number }>`
      select distinct round(extract(epoch from next.scheduled_for - execution.started_at) / 86400)
            ::int as days,
          (select count(*)::int from jsonb_array_elements(delay.history) as entry
            where entry -> 'detail' ->> 'moved' = 'true') as moves
        from execution
        join step_execution delay
          on delay.execution_id = execution.id and delay.step_id = ${workflow.steps['Wait']}
        join step_execution next
          on next.execution_id = execution.id and next.step_id = ${workflow.steps['Out']}
        where execution.workflow_id = ${workflow.id}`.execute(db);
    expect(rows).toEqual([{ days: 5, moves: 1 }]);
  }, 300_000);

  it('migrates every execution once', async () => {
    const workflow = await inDelay(500);
    await engine.call('PATCH', `${workflow.path}/steps/${workflow.steps['Out']}`, { name: 'New' });
    const { version } = (await engine.call('GET', workflow.path)).body;
    const jobId = await askForJob(engine, workflow.id, 'migrate');
    const job = await endAfterKills(workflow.id, jobId, [100, 300]);
    expect(job.result).toMatchObject({ migrated: 500, unchanged: 0, unmappable: 0, finished: 0 });
    const rows = await db
      .selectFrom('execution')
      .select(['workflow_version', 'earlier_versions'])
      .distinct()
      .where('workflow_id', '=', workflow.id)
      .execute();
    expect(rows).toEqual([{ workflow_version: version, earlier_versions: [version - 1] }]);
  }, 300_000);
});
