import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi({ REQUEST_LOG_DAYS: '30' });
const { cookie } = await api.signUp();
const { id, secretKey: key } = await api.createProject(cookie);

async function open(path: string): Promise<string> {
  await api.services.requestLog!.flush();
  const { body } = await api.request('GET', `/console/${id}${path}`, { cookie });
  return (body as string).replaceAll(/\s+/g, ' ');
}

it('shows refused requests, and the fields that were wrong', async () => {
  const headers = { 'x-request-id': 'order/4711' };
  await api.request('GET', '/segments', { key });
  await api.request('POST', '/v1/send', { key, headers, body: { to: 'ada@x.test' } });
  expect(await open('/requests')).toContain('GET /segments');
  const refused = await open('/requests?status=4xx');
  expect(refused).toContain('POST /v1/send');
  expect(refused).not.toContain('GET /segments');
  expect(refused).toContain(`/console/${id}/requests/order%2F4711`);
  const one = await open('/requests/order%2F4711');
  for (const text of ['VALIDATION_ERROR', 'Secret key', '<code>from</code>']) {
    expect(one).toContain(text);
  }
});

it('does not list its own pages', async () => {
  await open('/requests');
  expect(await open('/requests')).not.toContain('/console/{');
});

it('says which filter is unreadable', async () => {
  expect(await open('/requests?status=abc')).toContain('Must be a status, such as 422');
});
