import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { dispatchStore } from '../../../db/dispatch-store.ts';
import {
  cancelExecutions,
  insertExecution,
  retryExecution,
} from '../../../db/workflows/executions.ts';
import { useApi } from '../../support/api.ts';

/** What is noted of executions after somebody has asked for something newer. */

const api = await useApi();
const store = dispatchStore(api.db);
const project = await api.createProject((await api.signUp()).cookie);

/** An execution whose start is due. Answers its id. */
async function started(): Promise<string> {
  const call = async (method: string, path: string, body: object) =>
    (await api.request(method, path, { key: project.secretKey, body })).body;
  const workflow = await call('POST', '/workflows', { name: 'W', eventName: randomUUID() });
  await call('POST', `/workflows/${workflow.id}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  await call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
  const contact = await call('POST', '/contacts', { email: `${randomUUID()}@people.test` });
  const given = { workflowId: workflow.id, contactId: contact.id, context: null };
  const { id } = await api.db
    .transaction()
    .execute((tx) => insertExecution(tx, { projectId: project.id, ...given }));
  return id;
}

const rowOf = (id: string) =>
  api.db.selectFrom('execution').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const stateOf = async (id: string) => {
  const { dispatch, temporal_run_id: runId } = await rowOf(id);
  return { dispatch, runId };
};

/** The start that is due now, as somebody tells it to Temporal: call it to note the run. */
async function startRun(id: string, runId: string) {
  const [due] = await store.listStarts([id]);
  const { generation } = due!;
  return () => store.markStarted([{ executionId: id, runId, generation }]);
}

async function failAndRetry(id: string): Promise<void> {
  await api.db.updateTable('execution').set({ status: 'FAILED' }).where('id', '=', id).execute();
  const row = await rowOf(id);
  await api.db.transaction().execute((tx) => retryExecution(tx, row));
}

const cancel = (id: string) =>
  api.db.transaction().execute((tx) => cancelExecutions(tx, { ids: [id] }, 'cancelled'));

const orphansOf = async (id: string) => {
  const rows = api.db.selectFrom('orphan_run').select('execution_id');
  return (await rows.where('execution_id', '=', id).execute()).length;
};

describe('the note of a start', () => {
  it('ends what was due, and names the run', async () => {
    const id = await started();
    await (
      await startRun(id, 'first')
    )();
    expect(await stateOf(id)).toEqual({ dispatch: null, runId: 'first' });
  });

  it('changes nothing when a retry is due meanwhile', async () => {
    const id = await started();
    const note = await startRun(id, 'first');
    await failAndRetry(id);
    await note();
    expect(await stateOf(id)).toEqual({ dispatch: 'start', runId: null });
  });

  it('changes nothing when the retry is noted meanwhile', async () => {
    const id = await started();
    const note = await startRun(id, 'first');
    await failAndRetry(id);
    await (
      await startRun(id, 'second')
    )();
    await note();
    expect(await stateOf(id)).toEqual({ dispatch: null, runId: 'second' });
  });

  it.each([false, true])('names the run of one cancelled meanwhile (told: %s)', async (isTold) => {
    const id = await started();
    const note = await startRun(id, 'first');
    await cancel(id);
    if (isTold) for (const due of await store.listCancels([id])) await store.markCancelled(due);
    await note();
    expect(await stateOf(id)).toEqual({ dispatch: isTold ? null : 'cancel', runId: 'first' });
  });

  it('changes nothing when another process of the version before has asked again', async () => {
    const id = await started();
    const note = await startRun(id, 'first');
    // That one knows nothing of generations.
    await api.db.updateTable('execution').set({ dispatch: 'start' }).where('id', '=', id).execute();
    await note();
    expect(await stateOf(id)).toEqual({ dispatch: 'start', runId: null });
  });
});

describe('the note of a cancel', () => {
  it('ends what was due', async () => {
    const id = await started();
    await cancel(id);
    for (const due of await store.listCancels([id])) await store.markCancelled(due);
    expect((await stateOf(id)).dispatch).toBeNull();
  });

  it('changes nothing when it was asked for again meanwhile', async () => {
    const id = await started();
    await cancel(id);
    const [due] = await store.listCancels([id]);
    await api.db
      .updateTable('execution')
      .set({ dispatch: 'cancel' })
      .where('id', '=', id)
      .execute();
    await store.markCancelled(due!);
    expect((await stateOf(id)).dispatch).toBe('cancel');
  });

  it('leaves the run of an execution that was deleted meanwhile to be stopped', async () => {
    const id = await started();
    await cancel(id);
    const [due] = await store.listCancels([id]);
    await api.db.deleteFrom('execution').where('id', '=', id).execute();
    expect(await orphansOf(id)).toBe(1);
    await store.markCancelled(due!);
    expect(await orphansOf(id)).toBe(1);
    for (const orphan of await store.listCancels([id])) await store.markCancelled(orphan);
    expect(await orphansOf(id)).toBe(0);
  });
});
