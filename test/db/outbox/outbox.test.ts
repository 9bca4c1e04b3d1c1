import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { dispatchStore } from '../../../workflows/client/dispatch-store.ts';
import { retryExecution } from '../../../db/transactions/executions/retry-execution.ts';
import { claimOverdue, enqueue, listPending, markSent } from '../../../db/outbox/outbox.ts';
import { cancelExecutions } from '../../../db/transactions/executions/cancel-executions.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const { db } = api;
const store = dispatchStore(db);
const project = await api.createProject((await api.signUp()).cookie);

/** Inserts an execution whose start is due. Returns its id. */
async function started(): Promise<string> {
  const call = async (method: string, path: string, body: object) =>
    (await api.request(method, path, { key: project.secretKey, body })).body;
  const workflow = await call('POST', '/workflows', { name: 'W', eventName: randomUUID() });
  await call('POST', `/workflows/${workflow.id}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  await call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
  const contact = await call('POST', '/contacts', { email: `${randomUUID()}@people.test` });
  const given = {
    workflowId: workflow.id,
    contactId: contact.id,
    context: null,
    causedBy: 'key:secret',
  };
  const { id } = await transact(db, (tx) =>
    insertExecution(tx, { projectId: project.id, ...given }),
  );
  return id;
}

const rowOf = (id: string) =>
  db.selectFrom('execution').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const stateOf = async (id: string) => {
  const [entry] = await listPending(db, [`execution-${id}`]);
  const row = await rowOf(id);
  return { due: entry?.action ?? null, runId: row.temporal_run_id };
};

/** Sends the due entry to Temporal under this run id. Returns a function that records it. */
async function send(id: string, runId: string) {
  const [entry] = await listPending(db, [`execution-${id}`]);
  const [due] = await store.listStarts([id]);
  const run = { executionId: id, generation: due!.generation, runId };
  return () =>
    markSent(db, [{ entry: entry!, ...(entry!.action === 'start' && { started: run }) }]);
}

async function failAndRetry(id: string): Promise<void> {
  await db.updateTable('execution').set({ status: 'FAILED' }).where('id', '=', id).execute();
  const row = await rowOf(id);
  await transact(db, (tx) => retryExecution(tx, row));
}

const cancel = (id: string) => transact(db, (tx) => cancelExecutions(tx, [id], 'cancelled'));

describe('a commit', () => {
  it('hands on what its transaction has noted, once', async () => {
    api.dispatched.length = 0;
    const id = await started();
    expect(api.dispatched).toEqual([`execution-${id}`]);
  });

  it('that fails hands on nothing', async () => {
    const id = await started();
    api.dispatched.length = 0;
    const failing = transact(db, async (tx) => {
      await cancelExecutions(tx, [id], 'cancelled');
      throw new Error('Not now.');
    });
    await expect(failing).rejects.toThrow('Not now.');
    expect(api.dispatched).toEqual([]);
    expect((await stateOf(id)).due).toBe('start');
  });
});

describe('a start that was sent', () => {
  it('leaves the outbox, and names the run', async () => {
    const id = await started();
    await (
      await send(id, 'first')
    )();
    expect(await stateOf(id)).toEqual({ due: null, runId: 'first' });
  });

  it('changes nothing when a retry is due meanwhile', async () => {
    const id = await started();
    const note = await send(id, 'first');
    await failAndRetry(id);
    await note();
    expect(await stateOf(id)).toEqual({ due: 'start', runId: null });
  });

  it('changes nothing when the retry was sent meanwhile', async () => {
    const id = await started();
    const note = await send(id, 'first');
    await failAndRetry(id);
    await (
      await send(id, 'second')
    )();
    await note();
    expect(await stateOf(id)).toEqual({ due: null, runId: 'second' });
  });

  it.each([false, true])('names the run of one cancelled meanwhile (sent: %s)', async (isSent) => {
    const id = await started();
    const note = await send(id, 'first');
    await cancel(id);
    if (isSent) await (await send(id, ''))();
    await note();
    expect(await stateOf(id)).toEqual({ due: isSent ? null : 'cancel', runId: 'first' });
  });
});

describe('a request that was sent', () => {
  /** Signals a campaign, as pausing, resuming or editing it does. Returns its run. */
  async function signal(campaignId: string): Promise<string> {
    const input = { projectId: randomUUID(), campaignId };
    await transact(db, (tx) => enqueue(tx, { kind: 'campaignSend', input, summary: 'News' }));
    return `campaign-${campaignId}`;
  }

  const sent = async (runId: string) =>
    (await listPending(db, [runId])).map((entry) => ({ entry }));

  it('stays when it was asked for again meanwhile', async () => {
    const campaignId = randomUUID();
    const runId = await signal(campaignId);
    const told = await sent(runId);
    await signal(campaignId);
    await markSent(db, told);
    expect(await listPending(db, [runId])).toHaveLength(1);
  });

  it('stays when it was asked for after another process had sent and deleted it', async () => {
    const campaignId = randomUUID();
    const runId = await signal(campaignId);
    const told = await sent(runId);
    await markSent(db, told);
    expect(await listPending(db, [runId])).toEqual([]);
    await signal(campaignId);
    await markSent(db, told);
    expect(await listPending(db, [runId])).toHaveLength(1);
  });

  it('is claimed by one process only, and not before the grace has passed', async () => {
    const runId = await signal(randomUUID());
    const claim = async () => (await claimOverdue(db)).runs.map(({ runId }) => runId);
    expect(await claim()).not.toContain(runId);
    await db
      .updateTable('outbox')
      .set({ due_at: sql<Date>`now() - interval '1 second'` })
      .where('run_id', '=', runId)
      .execute();
    const claims = await Promise.all([claim(), claim(), claim()]);
    expect(claims.flat().filter((claimed) => claimed === runId)).toHaveLength(1);
    const triesOf = async () =>
      (await db.selectFrom('outbox').select('tries').where('run_id', '=', runId).execute())[0];
    expect(await triesOf()).toEqual({ tries: 1 });
    await signal(runId.replace('campaign-', ''));
    expect(await triesOf()).toEqual({ tries: 0 });
  });

  describe('is claimed in turns', () => {
    const leave = (owner: string | null, count: number, age: string) =>
      sql`
      insert into outbox (run_id, project_id, kind, action, due_at)
        select gen_random_uuid()::text, ${owner}::uuid, 'campaignSend', 'signal',
            now() - ${age}::interval
          from generate_series(1, ${count}::int)`.execute(db);
    afterEach(() => db.deleteFrom('outbox').where('kind', '=', 'campaignSend').execute());

    it('so the leftovers of one project delay no other', async () => {
      const [much, little] = [randomUUID(), randomUUID()];
      await leave(much, 600, '1 hour');
      await leave(little, 1, '1 minute');
      await leave(null, 1, '1 minute');
      const { runs, isMore } = await claimOverdue(db);
      const of = (owner: string | null) =>
        runs.filter(({ projectId }) => projectId === owner).length;
      expect([of(much), of(little), of(null)]).toEqual([250, 1, 1]);
      expect(isMore).toBe(true);
    });

    it('by many projects at once, and by those first that have waited longest', async () => {
      for (let project = 0; project < 12; project += 1) await leave(randomUUID(), 100, '1 hour');
      const ownersOf = ({ runs }: { runs: { projectId: string | null }[] }) =>
        new Set(runs.map(({ projectId }) => projectId));
      expect(ownersOf(await claimOverdue(db)).size).toBe(12);
      const last = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
      await sql`
        insert into outbox (run_id, project_id, kind, action, due_at)
          select gen_random_uuid()::text, gen_random_uuid(), 'campaignSend', 'signal',
              now() - interval '1 minute'
            from generate_series(1, 600)`.execute(db);
      await leave(last, 1, '2 hours');
      expect(ownersOf(await claimOverdue(db))).toContain(last);
      expect((await claimOverdue(db)).isMore).toBe(true);
    });

    it('until none is left', async () => {
      await leave(randomUUID(), 1, '1 minute');
      expect((await claimOverdue(db)).runs).toHaveLength(1);
      expect(await claimOverdue(db)).toEqual({ runs: [], isMore: false });
    });
  });
});

describe('an execution that is deleted while it is active', () => {
  it('leaves the cancel of its run', async () => {
    const id = await started();
    await (
      await send(id, 'first')
    )();
    await db.deleteFrom('execution').where('id', '=', id).execute();
    expect(await listPending(db, [`execution-${id}`])).toMatchObject([{ action: 'cancel' }]);
  });
});
