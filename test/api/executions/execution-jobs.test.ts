import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

async function createWorkflow() {
  const { body } = await shop.call('POST', '/workflows', { name: 'W', eventName: randomUUID() });
  const path = `/workflows/${body.id}`;
  await shop.call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  await shop.call('PATCH', path, { enabled: true });
  return { id: body.id as string, path };
}

const retryAll = async (path: string) =>
  (await shop.call('POST', `${path}/executions/retry-all`)).body.jobId as string;

describe('GET /workflows/{id}/jobs/{jobId}', () => {
  it('shows a job that waits', async () => {
    const { id, path } = await createWorkflow();
    const stepId = randomUUID();
    const asked = await shop.call('POST', `${path}/executions/retry-all`, { stepId });
    expect(asked.status).toBe(202);
    const { jobId } = asked.body;
    const { status, body } = await shop.call('GET', `${path}/jobs/${jobId}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: jobId,
      state: 'waiting',
      progress: 0,
      data: {
        projectId: shop.project.id,
        workflowId: id,
        operation: 'retry-all',
        stepId,
        totalRequested: null,
      },
      result: null,
      failedReason: null,
      causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
      createdAt: expect.any(String),
      startedAt: null,
      finishedAt: null,
    });
    expect(shop.api.dispatched.at(-1)).toBe(jobId);
  });

  it('finds no job of another workflow or kind, nor is it found as another kind', async () => {
    const [one, other] = [await createWorkflow(), await createWorkflow()];
    const jobId = await retryAll(one.path);
    const contact = await shop.call('POST', '/contacts', { email: newAddress() });
    const { body: bulk } = await shop.call('POST', '/contacts/bulk-unsubscribe', {
      contactIds: [contact.body.id],
    });
    const unknown = [404, 'JOB_NOT_FOUND'];
    const ask = async (path: string) => refusal(await shop.call('GET', path));
    expect(await ask(`${other.path}/jobs/${jobId}`)).toEqual(unknown);
    expect(await ask(`${one.path}/jobs/${bulk.jobId}`)).toEqual(unknown);
    expect(await ask(`${one.path}/jobs/nothing`)).toEqual(unknown);
    expect(await ask(`/contacts/bulk/${jobId}`)).toEqual(unknown);
    expect(await ask(`/contacts/import/${jobId}`)).toEqual(unknown);
    const nowhere = await ask(`/workflows/${randomUUID()}/jobs/${jobId}`);
    expect(nowhere).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });

  it('shows no job of a deleted workflow, and the job is cancelled', async () => {
    const alone = await createWorkflow();
    const many = [await createWorkflow(), await createWorkflow()];
    const jobs = [
      await retryAll(alone.path),
      ...(await Promise.all(many.map(({ path }) => retryAll(path)))),
    ];
    await shop.call('DELETE', alone.path);
    const ids = many.map(({ id }) => id);
    await shop.call('POST', '/workflows/bulk-update', { ids, delete: true });
    const rows = await shop.api.db
      .selectFrom('job')
      .select(['state', 'finished_at'])
      .where('id', 'in', jobs)
      .execute();
    expect(rows).toEqual(jobs.map(() => ({ state: 'cancelled', finished_at: expect.any(Date) })));
    const gone = refusal(await shop.call('GET', `${alone.path}/jobs/${jobs[0]}`));
    expect(gone).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });
});

describe('jobs on the executions of a workflow', () => {
  it('are asked for with the secret key, and for workflows of the project', async () => {
    const { path } = await createWorkflow();
    const jobId = await retryAll(path);
    const requests = [
      ['GET', `${path}/jobs/${jobId}`, undefined],
      ['POST', `${path}/executions/retry-all`, {}],
      ['POST', `${path}/steps/${randomUUID()}/move-waits`, { shiftBySeconds: 1 }],
      ['POST', `${path}/migrate`, {}],
    ] as const;
    for (const [method, url, body] of requests) {
      const as = async (key?: string) =>
        refusal(await shop.api.request(method, url, { body, ...(key !== undefined && { key }) }));
      expect(await as()).toEqual([401, 'MISSING_AUTH']);
      expect(await as(shop.project.publicKey)).toEqual([401, 'INVALID_API_KEY']);
      expect(await as(shop.other.secretKey)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    }
  });

  it('name a version that the workflow has had', async () => {
    const { path } = await createWorkflow();
    const ask = async (version: number) =>
      refusal(await shop.call('POST', `${path}/executions/retry-all`, { version }));
    expect(await ask(100)).toEqual([422, 'VALIDATION_ERROR', 'version not_found']);
    expect(await ask(2 ** 40)).toEqual([422, 'VALIDATION_ERROR', 'version not_found']);
    expect(await ask(0)).toEqual([422, 'VALIDATION_ERROR', 'version too_small']);
  });
});
