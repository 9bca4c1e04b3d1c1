import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { addAuthenticator } from '../../support/second-factor.ts';

const api = await useApi();

interface Shown {
  id: string;
  event: string;
}

it('a user sees the own security events, newest first, page by page, and no others', async () => {
  const { cookie: first } = await api.signUp();
  await api.createProject(first);
  const { cookie } = await addAuthenticator(api, first);
  await addAuthenticator(api, (await api.signUp()).cookie);
  const read = async (query = '') =>
    (await api.request('GET', `/users/@me/security-events${query}`, { cookie })).body;
  const all = await read();
  const events = (all.data as Shown[]).map(({ event }) => event);
  expect(events).toEqual(['factor.added', 'account.created']);
  expect(all.data[0]).toMatchObject({ ip: '127.0.0.1', count: 1 });
  const page = await read('?limit=1');
  const rest = await read(`?limit=1&cursor=${encodeURIComponent(page.cursor)}`);
  expect([...page.data, ...rest.data].map(({ id }: Shown) => id)).toEqual(
    (all.data as Shown[]).map(({ id }) => id),
  );
});
