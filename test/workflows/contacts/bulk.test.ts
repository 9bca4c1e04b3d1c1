import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startBulk } from '../../../db/transactions/contacts/change-in-bulk.ts';
import { useEngine } from '../../support/engine.ts';
import { createWorkflow, executionIn, startByHand } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { endOfJob } from '../../support/projects/upload.ts';
import { deleteContacts } from '../../support/projects/campaigns.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();
// Each test has only its own contacts.
beforeEach(async () => {
  await deleteContacts(engine);
});

const create = async (more: object = {}) =>
  (await engine.call('POST', '/contacts', { email: newAddress(), ...more })).body.id as string;

async function post(operation: string, body: object): Promise<string> {
  const answer = await engine.call('POST', `/contacts/bulk-${operation}`, body);
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  return answer.body.jobId;
}

const done = async (operation: string, body: object) =>
  endOfJob(engine, await post(operation, body));

const states = async () => {
  const rows = await engine.api.db.selectFrom('contact').select(['id', 'subscribed']).execute();
  return new Map(rows.map(({ id, subscribed }) => [id, subscribed]));
};

const events = () =>
  engine.api.db.selectFrom('event').select(['contact_id', 'name', 'data']).execute();

/** Inserts many contacts. Every third is subscribed. */
async function insertMany(count: number, projectId = engine.project.id): Promise<void> {
  await sql`
    insert into contact (project_id, email, subscribed)
      select ${projectId}, gen_random_uuid() || '@people.test', number % 3 = 0
        from generate_series(1, ${count}::int) as number`.execute(engine.api.db);
}

describe('a bulk action on ids', () => {
  it('subscribes: two real changes, one contact that was so, one unknown id', async () => {
    const off = [await create({ subscribed: false }), await create({ subscribed: false })];
    const on = await create();
    const unknown = randomUUID();
    const job = await done('subscribe', { contactIds: [...off, on, unknown, on] });
    expect(job).toEqual({
      id: job.id,
      state: 'completed',
      progress: 100,
      data: {
        projectId: engine.project.id,
        operation: 'subscribe',
        mode: 'ids',
        totalRequested: 4,
      },
      result: {
        operation: 'subscribe',
        totalRequested: 4,
        successCount: 3,
        unchanged: 1,
        failureCount: 1,
        errors: [
          { contactId: unknown, email: null, error: 'The project has no contact with this id.' },
        ],
      },
      failedReason: null,
      causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    expect([...(await states()).values()]).toEqual([true, true, true]);
    const recorded = await events();
    expect(recorded.map(({ contact_id: id }) => id).toSorted()).toEqual(off.toSorted());
    for (const { name, data } of recorded) {
      expect([name, data]).toEqual(['contact.subscribed', { source: 'bulk' }]);
    }
  });

  it('unsubscribes, and starts the workflows of that', async () => {
    const { id } = await createWorkflow(engine, {
      eventName: 'contact.unsubscribed',
      steps: [{ type: 'EXIT', name: 'Exit' }],
    });
    const ids = [await create(), await create()];
    const { result } = await done('unsubscribe', { contactIds: ids });
    expect(result).toMatchObject({ operation: 'unsubscribe', successCount: 2, unchanged: 0 });
    await waitFor('the executions to end', async () => {
      const { body } = await engine.call('GET', `/workflows/${id}/executions`);
      const ends = body.executions.filter(({ status }: { status: string }) => status === 'EXITED');
      return ends.length === 2;
    });
    const names = (await events()).map(({ name }) => name);
    expect(names).toEqual(['contact.unsubscribed', 'contact.unsubscribed']);
  });

  it('of another project counts them as failures and leaves them alone', async () => {
    const { cookie } = await engine.api.signUp();
    const other = await engine.api.createProject(cookie);
    await insertMany(2, other.id);
    const before = await states();
    const job = await done('delete', { contactIds: [...before.keys()] });
    expect(job.result).toMatchObject({ successCount: 0, failureCount: 2 });
    expect(await states()).toEqual(before);
  });

  it('deletes them with all that is theirs; runs that wait end', async () => {
    const workflow = await createWorkflow(engine, {
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
    });
    const [gone, kept] = [await create(), await create()];
    const execution = await startByHand(engine, workflow.id, gone);
    const other = await startByHand(engine, workflow.id, kept);
    await executionIn(engine, workflow.id, execution, 'WAITING');
    await executionIn(engine, workflow.id, other, 'WAITING');
    const { result } = await done('delete', { contactIds: [gone, randomUUID()] });
    expect(result).toMatchObject({ successCount: 1, unchanged: 0, failureCount: 1 });
    expect([...(await states()).keys()]).toEqual([kept]);
    const handle = (id: string) => engine.temporal.client.workflow.getHandle(`execution-${id}`);
    await waitFor('the run to end', async () => {
      const { status } = await handle(execution).describe();
      return status.name === 'CANCELLED';
    });
    expect((await handle(other).describe()).status.name).toBe('RUNNING');
    const path = `/workflows/${workflow.id}/executions/${execution}`;
    expect((await engine.call('GET', path)).status).toBe(404);
    const { db } = engine.api;
    const left = db.selectFrom('outbox').select('run_id').where('action', '=', 'cancel');
    await waitFor('an empty outbox', async () => (await left.execute()).length === 0);
  });
});

describe('a bulk action on a query', () => {
  it('subscribes all that are unsubscribed, in several batches, with one event each', async () => {
    await insertMany(3_500);
    const { data, result } = await done('subscribe', {
      mode: 'query',
      filter: { subscribed: false },
    });
    const changed = 3_500 - Math.floor(3_500 / 3);
    expect(data).toMatchObject({ mode: 'query', totalRequested: changed });
    expect(result).toMatchObject({ successCount: changed, unchanged: 0, failureCount: 0 });
    expect(new Set((await states()).values())).toEqual(new Set([true]));
    const recorded = (await events()).map(({ contact_id: id }) => id);
    expect([recorded.length, new Set(recorded).size]).toEqual([changed, changed]);
  });

  it('finds by a part of the address in any case, where % and _ are plain, but for the excluded', async () => {
    const ids = [
      await create({ email: 'ada_1@x.example' }),
      await create({ email: 'ada_2@x.example' }),
      await create({ email: 'adam1@x.example' }),
      await create({ email: '50%@x.example' }),
    ];
    const query = (search: string, excludeIds: string[] = []) =>
      done('unsubscribe', { mode: 'query', filter: { search }, excludeIds });
    expect((await query('ADA_', [ids[0]!])).result.successCount).toBe(1);
    expect((await query('%')).result.successCount).toBe(1);
    expect(
      [...(await states())]
        .filter(([, on]) => !on)
        .map(([id]) => id)
        .toSorted(),
    ).toEqual([ids[1]!, ids[3]!].toSorted());
  });

  it('with an empty filter means all contacts of this project alone', async () => {
    await insertMany(5);
    const { cookie } = await engine.api.signUp();
    await insertMany(5, (await engine.api.createProject(cookie)).id);
    const { result } = await done('delete', { mode: 'query', filter: {} });
    expect(result).toMatchObject({ totalRequested: 5, successCount: 5 });
    expect((await states()).size).toBe(5);
  });

  it('takes a condition, with search and subscription', async () => {
    const pro = { data: { plan: 'pro' } };
    const mine = [await create({ email: 'a@pro.example', ...pro }), await create(pro)];
    await create({ subscribed: false, ...pro });
    await create({ data: { plan: 'free' } });
    const filters = [{ field: 'plan', operator: 'equals', value: 'pro' }];
    const condition = { logic: 'AND', groups: [{ filters }] };
    const query = (filter: object) =>
      done('unsubscribe', { mode: 'query', filter: { condition, ...filter } });
    expect((await query({ search: 'PRO.example' })).result.successCount).toBe(1);
    expect((await states()).get(mine[0]!)).toBe(false);
    const { data, result } = await query({ subscribed: true });
    expect(data.totalRequested).toBe(1);
    expect(result).toMatchObject({ successCount: 1, unchanged: 0 });
    expect((await query({})).result).toMatchObject({ successCount: 3, unchanged: 3 });
  });

  it('refuses a condition that is wrong, and one on a segment of others', async () => {
    const of = async (filters: object[]) => {
      const condition = { logic: 'AND', groups: [{ filters }] };
      const body = { mode: 'query', filter: { condition } };
      const { status, body: answer } = await engine.call('POST', '/contacts/bulk-delete', body);
      return [status, ...answer.error.errors.map(({ field }: { field: string }) => field)];
    };
    expect(await of([{ field: 'email', operator: 'likes', value: 'x' }])).toEqual([
      422,
      'filter.condition.groups.0.filters.0.operator',
    ]);
    const field = `segment.${randomUUID()}`;
    expect(await of([{ field, operator: 'memberOfSegment' }])).toEqual([
      422,
      'filter.condition.groups.0.filters.0.field',
    ]);
  });

  it('that matches no contact is completed at once', async () => {
    const job = await done('delete', { mode: 'query', filter: { search: 'nobody' } });
    expect([job.state, job.progress, job.result.totalRequested]).toEqual(['completed', 100, 0]);
  });

  describe('is about the moment it starts:', () => {
    beforeEach(() => engine.stopWorker());
    afterEach(async () => {
      await engine.stopWorker();
      await engine.startWorker();
    });

    it('it fails if its condition takes too long, and changes no contact', async () => {
      const { db } = engine.api;
      const id = await create();
      const jobId = await post('delete', { mode: 'query', filter: {} });
      await db.transaction().execute(async (tx) => {
        await sql`lock table contact in access exclusive mode`.execute(tx);
        await startBulk(db, { projectId: engine.project.id, jobId }, 200);
      });
      await engine.startWorker();
      expect(await endOfJob(engine, jobId)).toMatchObject({
        state: 'failed',
        failedReason: 'The condition takes too long to evaluate over all contacts.',
      });
      expect((await states()).has(id)).toBe(true);
    });

    it('who comes later is not in it, who changes meanwhile is', async () => {
      const before = await create({ subscribed: false });
      const jobId = await post('delete', { mode: 'query', filter: { subscribed: false } });
      const waiting = await create({ subscribed: false });
      await startBulk(engine.api.db, { projectId: engine.project.id, jobId });
      const late = await create({ subscribed: false });
      await engine.call('PATCH', `/contacts/${before}`, { subscribed: true });
      await engine.startWorker();
      const { result } = await endOfJob(engine, jobId);
      expect(result).toMatchObject({ totalRequested: 2, successCount: 2 });
      const left = await states();
      expect([left.has(waiting), left.has(before), left.has(late)]).toEqual([false, false, true]);
    });

    it('in a disabled project it is cancelled', async () => {
      await insertMany(3);
      const jobId = await post('delete', { mode: 'query', filter: {} });
      const disable = (reason: string | null) =>
        engine.api.db.updateTable('project').set({ disabled_reason: reason }).execute();
      await disable('MANUAL');
      await engine.startWorker();
      expect((await endOfJob(engine, jobId)).state).toBe('cancelled');
      await disable(null);
      expect((await states()).size).toBe(3);
    });
  });
});
