import { expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { call } = shop;
const disable = (reason: string | null) =>
  shop.api.db
    .updateTable('project')
    .set({ disabled_reason: reason })
    .where('id', '=', shop.project.id)
    .execute();

const reads: [path: string, body: object][] = [
  ['/contacts/query', {}],
  ['/contacts/export', {}],
  ['/campaigns/audience', { audienceType: 'ALL' }],
  ['/workflows/check', { graph: {} }],
];
const test = { email: newAddress(), subject: 'S', body: 'B', from: `team@${shop.domain}` };

it.each(reads)(
  'answers POST %s in a disabled project, and ignores any Idempotency-Key',
  async (...request) => {
    await disable('MANUAL');
    const keys = ['one key for all', 'x'.repeat(300)];
    for (const key of keys) {
      const { status, headers } = await call('POST', ...request, { 'idempotency-key': key });
      expect([status, headers.get('idempotency-replayed')]).toEqual([200, null]);
    }
    await disable(null);
  },
);

it('refuses POST /templates/test in a disabled project, and heeds its Idempotency-Key', async () => {
  await disable('MANUAL');
  expect(refusal(await call('POST', '/templates/test', test))).toEqual([403, 'PROJECT_DISABLED']);
  await disable(null);
  const headers = { 'idempotency-key': 'a test' };
  expect((await call('POST', '/templates/test', test, headers)).status).toBe(200);
  const again = await call('POST', '/templates/test', test, headers);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
});

it.each(reads)('never takes the last word of %s for an id', async (path) => {
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status, headers } = await call(method, path, method === 'GET' ? undefined : {});
    expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
});
