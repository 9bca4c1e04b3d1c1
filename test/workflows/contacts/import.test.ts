import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { cancelJobs } from '../../../db/jobs/jobs.ts';
import { useEngine } from '../../support/engine.ts';
import { createWorkflow } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

const create = async (email: string, more: object = {}) =>
  (await engine.call('POST', '/contacts', { email, ...more })).body.id as string;

async function contact(email: string) {
  const row = await engine.api.db
    .selectFrom('contact')
    .select(['id', 'subscribed', 'data', 'updated_at'])
    .where('project_id', '=', engine.project.id)
    .where('email', '=', email)
    .executeTakeFirst();
  return row ?? null;
}

const eventsOf = (email: string) =>
  engine.api.db
    .selectFrom('event')
    .innerJoin('contact', 'contact.id', 'event.contact_id')
    .select(['event.name', 'event.data'])
    .where('contact.email', '=', email)
    .orderBy('event.recorded_at')
    .execute();

async function imported(...lines: string[]) {
  return endOfJob(engine, await importFile(engine, lines.join('\n')));
}

describe('an import', () => {
  it('of three rows with one bad address in the second is completed, with the error of row 3', async () => {
    const [ada, bo] = [newAddress(), newAddress()];
    const job = await imported('Email,Plan', `${ada.toUpperCase()},pro`, 'nope,free', `${bo},`);
    expect(job).toEqual({
      id: job.id,
      state: 'completed',
      progress: 100,
      data: { projectId: engine.project.id, filename: 'people.csv', totalRows: 3 },
      result: {
        totalRows: 3,
        successCount: 2,
        createdCount: 2,
        updatedCount: 0,
        failureCount: 1,
        errors: [{ row: 3, email: 'nope', error: 'Not an email address.' }],
      },
      failedReason: null,
      causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    expect(await contact(ada)).toMatchObject({ subscribed: true, data: { plan: 'pro' } });
    expect(await contact(bo)).toMatchObject({ subscribed: true, data: null });
    expect([...(await eventsOf(ada)), ...(await eventsOf(bo))]).toEqual([]);
    expect(await engine.api.db.selectFrom('import_file').select('job_id').execute()).toEqual([]);
  });

  it('stores cells as what they are: 007, 42, 4.50, yes, 1e10', async () => {
    const ada = newAddress();
    await imported('email,a,b,c,d,e,id', `${ada},007,42,4.50,yes,1e10,5`);
    expect((await contact(ada))?.data).toEqual({ a: '007', b: 42, c: 4.5, d: true, e: '1e10' });
  });

  it('merges into what is there; numbers beyond JavaScript stay as they are', async () => {
    const [ada, bo] = [newAddress(), newAddress()];
    await create(ada, { data: { plan: 'free', city: 'Rome' } });
    await create(bo, { data: { plan: 'pro' } });
    await engine.api.db
      .updateTable('contact')
      .set({ data: sql<string>`data || '{"big": 12345678901234567890123}'` })
      .where('email', '=', ada)
      .execute();
    const before = await contact(bo);
    const job = await imported('email,plan,city', `${ada},pro,`, `${bo},pro,`);
    expect(job.result).toMatchObject({ successCount: 2, createdCount: 0, updatedCount: 2 });
    const { rows } = await sql<{ text: string }>`
      select data::text as text from contact where email = ${ada}`.execute(engine.api.db);
    expect(rows[0]?.text).toBe('{"big": 12345678901234567890123, "city": "Rome", "plan": "pro"}');
    // A row without changes does not touch the contact.
    expect(await contact(bo)).toEqual(before);
  });

  it('changes subscriptions where the column says so, with one event for each real change', async () => {
    const [on, off, same, silent, fresh] = Array.from({ length: 5 }, newAddress);
    await create(on!, { subscribed: false });
    await create(off!);
    await create(same!, { subscribed: false });
    await create(silent!, { subscribed: false });
    await imported(
      'email,subscribed',
      `${on},YES`,
      `${off},nope`,
      `${same},0`,
      `${silent},`,
      `${fresh},no`,
    );
    const states = await Promise.all([on, off, same, silent, fresh].map((one) => contact(one!)));
    expect(states.map((row) => row?.subscribed)).toEqual([true, false, false, false, false]);
    const data = { source: 'import' };
    expect(await eventsOf(on!)).toEqual([{ name: 'contact.subscribed', data }]);
    expect(await eventsOf(off!)).toEqual([{ name: 'contact.unsubscribed', data }]);
    for (const email of [same, silent, fresh]) expect(await eventsOf(email!)).toEqual([]);
  });

  it('applies rows of one address in order', async () => {
    const [ada, bo] = [newAddress(), newAddress()];
    await create(bo);
    const job = await imported(
      'email,subscribed,plan,seats',
      `${ada},no,free,1`,
      `${bo},no,free,1`,
      `${ada},yes,pro,`,
      `${bo},yes,,2`,
      `${bo},no,pro,`,
    );
    expect(job.result).toMatchObject({ successCount: 5, createdCount: 1, updatedCount: 4 });
    expect(await contact(ada)).toMatchObject({ subscribed: true, data: { plan: 'pro', seats: 1 } });
    expect(await contact(bo)).toMatchObject({ subscribed: false, data: { plan: 'pro', seats: 2 } });
    // The first row created the contact; the second changed it.
    expect((await eventsOf(ada)).map(({ name }) => name)).toEqual(['contact.subscribed']);
    expect((await eventsOf(bo)).map(({ name }) => name)).toEqual([
      'contact.unsubscribed',
      'contact.subscribed',
      'contact.unsubscribed',
    ]);
  });

  it('lists data that is too large with what is there as an error of the row alone', async () => {
    const [full, near, keys, bo] = Array.from({ length: 4 }, newAddress);
    await create(full!, { data: { a: 'x'.repeat(60_000) } });
    // Longer in the database than as JSON, which just fits.
    const many = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`k${index}`, 1]));
    await create(near!, { data: { ...many, a: 'x'.repeat(59_000) } });
    await create(keys!, { data: { ...many, ...Object.fromEntries(keyed('l', 100)) } });
    const cell = 'y'.repeat(6_000);
    const job = await imported(
      'email,b',
      `${full},${cell}`,
      `${near},${'y'.repeat(2_000)}`,
      `${keys},1`,
      `${bo},${cell}`,
    );
    expect(job.result).toMatchObject({ successCount: 2, failureCount: 2 });
    expect(job.result.errors).toEqual([
      {
        row: 2,
        email: full,
        error: 'A contact must have at most 65536 bytes of data as JSON, not 66015.',
      },
      { row: 4, email: keys, error: 'A contact must have at most 500 data keys, not 501.' },
    ]);
    expect((await contact(full!))?.data).not.toHaveProperty('b');
    expect((await contact(near!))?.data).toHaveProperty('b');
  });

  it('goes on behind a line with a stray quote, and names it', async () => {
    const [ada, bo, cy] = [newAddress(), newAddress(), newAddress()];
    const job = await imported('email,a', `${ada},1`, `${bo},5" disk`, `${cy},3`);
    expect(job).toMatchObject({
      state: 'completed',
      result: { totalRows: 3, successCount: 2, failureCount: 1 },
    });
    expect(job.result.errors).toEqual([
      { row: 3, email: '', error: expect.stringContaining('In line 3, ') },
    ]);
    expect([await contact(ada), await contact(bo), await contact(cy)].map(Boolean)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('counts all errors and lists the first 1,000', async () => {
    const lines = Array.from({ length: 2_500 }, (_, index) => `bad ${index}`);
    const { result, state } = await imported('email', ...lines);
    expect([state, result.totalRows, result.failureCount]).toEqual(['completed', 2_500, 2_500]);
    expect(result.errors).toHaveLength(1_000);
    expect(result.errors[999]).toMatchObject({ row: 1_001, email: 'bad 999' });
  });

  it('of a header alone is completed', async () => {
    const { state, progress, result } = await imported('email,name');
    expect([state, progress, result.totalRows]).toEqual(['completed', 100, 0]);
  });

  it.each([
    ['without a column for the address', 'mail,name\nada@x.example,Ada', /email/],
    ['that is empty', '', /empty/],
    ['that is no CSV', `email,"name\nada@x.example,Ada`, /CSV/],
    ['that is not UTF-8', Buffer.from('email\nZoë@x.example', 'latin1'), /UTF-8/],
  ])('of a file %s fails, changes nothing and says why', async (_, file, reason) => {
    const jobId = await importFile(engine, file);
    const job = await endOfJob(engine, jobId);
    expect(job).toMatchObject({ state: 'failed', result: null, data: { totalRows: null } });
    expect(job.failedReason).toMatch(reason);
    expect(await contact('ada@x.example')).toBeNull();
    const run = engine.temporal.client.workflow.getHandle(jobId);
    await expect(run.result()).rejects.toMatchObject({ cause: { type: 'JOB_FAILED' } });
  });

  it('starts the workflows of the changes it makes', async () => {
    const { id } = await createWorkflow(engine, {
      eventName: 'contact.unsubscribed',
      steps: [{ type: 'EXIT', name: 'Exit' }],
    });
    const ada = newAddress();
    await create(ada);
    await imported('email,subscribed', `${ada},no`);
    await waitFor('the execution to end', async () => {
      const { body } = await engine.call('GET', `/workflows/${id}/executions`);
      return body.executions.length === 1 && body.executions[0].status === 'EXITED';
    });
  });

  it('is a run that says how far it is, found by its project', async () => {
    const lines = Array.from({ length: 3_000 }, () => newAddress());
    const jobId = await importFile(engine, ['email', ...lines].join('\n'));
    const { result } = await endOfJob(engine, jobId);
    expect([result.createdCount, result.successCount]).toEqual([3_000, 3_000]);
    const handle = engine.temporal.client.workflow.getHandle(jobId);
    await handle.result();
    const { type, typedSearchAttributes } = await handle.describe();
    const project = typedSearchAttributes.get(projectKey);
    expect([type, project]).toEqual(['contactImport', engine.project.id]);
    const { currentDetails } = await handle.query<{ currentDetails: string }>(
      '__temporal_workflow_metadata',
    );
    expect(currentDetails).toBe('3000 of 3000 contacts');
    const history = await handle.fetchHistory();
    expect(history.events!.length).toBeLessThan(20);
    // The history has no address of a customer.
    expect(JSON.stringify(history)).not.toContain('people.test');
  });

  it('shares its contacts with others who write at the same time', async () => {
    const emails = Array.from({ length: 500 }, () => newAddress());
    const files = [emails, emails.toReversed(), emails];
    const jobs = await Promise.all(
      files.map((list) => importFile(engine, ['email', ...list].join('\n'))),
    );
    for (const email of emails.slice(0, 50)) await create(email, { data: { tracked: 1 } });
    const results = [];
    for (const jobId of jobs) results.push((await endOfJob(engine, jobId)).result);
    expect(results.map(({ successCount }) => successCount)).toEqual([500, 500, 500]);
    const created = results.reduce((sum, { createdCount }) => sum + createdCount, 0);
    expect(created).toBeGreaterThan(449);
    expect(created).toBeLessThan(501);
  });
});

const projectKey = defineSearchAttributeKey('ProjectId', SearchAttributeType.KEYWORD);

const keyed = (letter: string, count: number) =>
  Array.from({ length: count }, (_, index) => [`${letter}${index}`, 1] as const);

describe('an import in a project that', () => {
  afterEach(() => engine.api.db.updateTable('project').set({ disabled_reason: null }).execute());

  it('is disabled before it is done is cancelled, and nothing more is imported', async () => {
    await engine.stopWorker();
    const ada = newAddress();
    const jobId = await importFile(engine, `email\n${ada}\n`);
    const { db } = engine.api;
    await db.updateTable('project').set({ disabled_reason: 'MANUAL' }).execute();
    await engine.startWorker();
    const job = await endOfJob(engine, jobId);
    expect(job).toMatchObject({ state: 'cancelled', result: null, failedReason: null });
    expect(await contact(ada)).toBeNull();
    await engine.temporal.client.workflow.getHandle(jobId).result();
  });

  it('cancels its jobs in the middle stops before its next batch', async () => {
    const { db } = engine.api;
    const emails = Array.from({ length: 40_000 }, (_, index) => `${index}-${newAddress()}`);
    const jobId = await importFile(engine, ['email', ...emails].join('\n'));
    await waitFor('some progress', async () => {
      const { body } = await engine.call('GET', `/contacts/import/${jobId}`);
      return body.progress > 0;
    });
    await db.transaction().execute((tx) => cancelJobs(tx, { projectId: engine.project.id }));
    const count = () =>
      db
        .selectFrom('contact')
        .select((eb) => eb.fn.countAll<string>().as('count'))
        .executeTakeFirstOrThrow();
    const then = await count();
    await engine.temporal.client.workflow.getHandle(jobId).result();
    expect(await count()).toEqual(then);
    expect((await endOfJob(engine, jobId)).state).toBe('cancelled');
  });
});

describe('the sweep', () => {
  it('lets an import go on whose run was ended in Temporal', async () => {
    await engine.stopWorker();
    const ada = newAddress();
    const jobId = await importFile(engine, `email\n${ada}\n`);
    const handle = engine.temporal.client.workflow.getHandle(jobId);
    await waitFor('the run', () =>
      handle.terminate('by hand').then(
        () => true,
        () => false,
      ),
    );
    const { db } = engine.api;
    const touch = (ago: string) =>
      db
        .updateTable('job')
        .set({ touched_at: sql<Date>`now() - ${ago}::interval` })
        .where('id', '=', jobId)
        .execute();
    await engine.startWorker();
    await touch('9 minutes');
    await sweepNow(engine);
    expect((await handle.describe()).status.name).toBe('TERMINATED');
    await touch('11 minutes');
    await sweepNow(engine);
    expect((await endOfJob(engine, jobId)).result.createdCount).toBe(1);
  });

  it('removes jobs 30 days after their end', async () => {
    const jobId = (await imported('email')).id as string;
    const { db } = engine.api;
    const status = async (ago: string) => {
      await db
        .updateTable('job')
        .set({ finished_at: sql<Date>`now() - ${ago}::interval` })
        .where('id', '=', jobId)
        .execute();
      await sweepNow(engine);
      return (await engine.call('GET', `/contacts/import/${jobId}`)).status;
    };
    expect([await status('29 days'), await status('31 days')]).toEqual([200, 404]);
  });
});
