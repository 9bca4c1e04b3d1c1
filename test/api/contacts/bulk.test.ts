import { bySecretKey } from '../../support/actors.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const ids = (count: number) => Array.from({ length: count }, () => randomUUID());

describe.each(['subscribe', 'unsubscribe', 'delete'])('POST /contacts/bulk-%s', (operation) => {
  const post = (body: unknown) => shop.call('POST', `/contacts/bulk-${operation}`, body);

  it.each([
    [{ contactIds: ids(1) }, 'ids', 1],
    [{ mode: 'ids', contactIds: ids(1000) }, 'ids', 1000],
    [{ mode: 'query', filter: {} }, 'query', null],
    [{ mode: 'query', filter: {}, contactIds: [] }, 'query', null],
    [{ mode: 'query', filter: {}, contactIds: 'x' }, 'query', null],
    [{ mode: 'query', filter: { search: 'x'.repeat(255), subscribed: true } }, 'query', null],
    [{ mode: 'query', filter: {}, excludeIds: ids(10_000) }, 'query', null],
  ])('takes %.60j: 202 with the id of a job that waits', async (request, mode, totalRequested) => {
    const { status, body } = await post(request);
    expect([status, body]).toEqual([202, { message: expect.any(String), jobId: body.jobId }]);
    expect(body.jobId).toMatch(new RegExp(`^bulk-${operation}-${shop.project.id}-[0-9a-f-]{36}$`));
    expect(shop.api.dispatched.at(-1)).toBe(body.jobId);
    const job = await shop.call('GET', `/contacts/bulk/${body.jobId}`);
    expect([job.status, job.body]).toEqual([
      200,
      {
        id: body.jobId,
        state: 'waiting',
        progress: 0,
        data: { projectId: shop.project.id, operation, mode, totalRequested },
        result: null,
        failedReason: null,
        causedBy: bySecretKey,
        createdAt: expect.any(String),
        startedAt: null,
        finishedAt: null,
      },
    ]);
  });

  it('counts an id that is there twice once', async () => {
    const [id] = ids(1);
    const { body } = await post({ contactIds: [id, id?.toUpperCase()] });
    const job = await shop.call('GET', `/contacts/bulk/${body.jobId}`);
    expect(job.body.data.totalRequested).toBe(1);
  });

  it.each([
    [{}, 'contactIds required'],
    [{ contactIds: [] }, 'contactIds too_small'],
    [{ contactIds: ids(1001) }, 'contactIds too_big'],
    [{ contactIds: ['x'] }, 'contactIds.0 invalid_string'],
    [{ mode: 'all', contactIds: ids(1) }, 'mode invalid_enum_value'],
    [{ mode: 'query' }, 'filter required'],
    [{ mode: 'query', filter: { search: 'x'.repeat(256) } }, 'filter.search too_big'],
    [{ mode: 'query', filter: { subscribed: 'yes' } }, 'filter.subscribed invalid_type'],
    [{ mode: 'query', filter: {}, excludeIds: ids(10_001) }, 'excludeIds too_big'],
  ])('answers %.60j 422', async (request, error) => {
    expect(refusal(await post(request))).toEqual([422, 'VALIDATION_ERROR', error]);
  });
});

describe('GET /contacts/bulk/{jobId}', () => {
  it('answers 404 JOB_NOT_FOUND to another project, on the path of imports, and for what is not there', async () => {
    const { body } = await shop.call('POST', '/contacts/bulk-delete', { contactIds: ids(1) });
    const path = `/contacts/bulk/${body.jobId}`;
    const foreign = await shop.api.request('GET', path, { key: shop.other.secretKey });
    const others = [`/contacts/import/${body.jobId}`, '/contacts/bulk/nothing'];
    const answers = [foreign, ...(await Promise.all(others.map((path) => shop.call('GET', path))))];
    for (const answer of answers) expect(refusal(answer)).toEqual([404, 'JOB_NOT_FOUND']);
  });
});
