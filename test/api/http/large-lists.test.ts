import { expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** Lists of large rows, read and written in parts. */

const shop = await useShop();
const megabyte = 'x'.repeat(1024 * 1024);

it('a list of large templates is the same as its templates one by one', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    const body = index % 2 === 0 ? `<p>${megabyte}</p>` : '<p>"Small" [] ü</p>';
    ids.unshift(await shop.createTemplate({ name: `Template ${index}`, body }));
  }
  const list = await shop.call('GET', '/templates?pageSize=100');
  const single = await Promise.all(ids.map((id) => shop.call('GET', `/templates/${id}`)));
  expect(list.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(list.headers.get('cache-control')).toBe('no-store');
  expect(list.body).toEqual({
    data: single.map(({ body }) => body),
    total: 5,
    page: 1,
    pageSize: 100,
    totalPages: 1,
  });
  expect((await shop.call('HEAD', '/templates?pageSize=100')).status).toBe(200);
  const sorted = await shop.call('GET', '/templates?sort=name&dir=asc&pageSize=3&page=2');
  expect(sorted.body.data.map(({ name }: { name: string }) => name)).toEqual([
    'Template 3',
    'Template 4',
  ]);
});

it('large events are listed in their order', async () => {
  const email = newAddress();
  const data = { text: 'y'.repeat(60 * 1024) };
  for (let index = 0; index < 40; index += 1) await shop.track({ email, data: { ...data, index } });
  const { body } = await shop.call('GET', '/events?eventName=clicked&limit=1000');
  const indexes = body.events.map((event: { data: { index: number } }) => event.data.index);
  expect(indexes).toEqual(Array.from({ length: 40 }, (_, index) => 39 - index));
  expect(body.events[0].contact).toEqual({ email });
});

it('large segments are listed, the newest first', async () => {
  const named = async (name: string, value: string) => {
    const filters = [{ field: 'data.plan', operator: 'equals', value }];
    const condition = { logic: 'AND', groups: [{ filters }] };
    expect((await shop.call('POST', '/segments', { name, condition })).status).toBe(201);
  };
  for (const name of ['First', 'Second', 'Third']) await named(name, megabyte.slice(1000));
  const { body } = await shop.call('GET', '/segments');
  expect(body.map(({ name }: { name: string }) => name)).toEqual(['Third', 'Second', 'First']);
  expect(body[2].condition.groups[0].filters[0].value).toHaveLength(megabyte.length - 1000);
});
