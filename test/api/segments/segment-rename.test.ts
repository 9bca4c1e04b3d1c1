import { expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

it('a renamed segment names later events anew, and leaves earlier ones alone', async () => {
  const { call, eventsOf } = shop;
  const filters = {
    operator: 'AND',
    conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
  };
  const made = await call('POST', '/segments', { name: 'First!', filters, trackMembership: true });
  const path = `/segments/${made.body.id}`;
  const create = async () => {
    const email = newAddress();
    const { body } = await call('POST', '/contacts', { email, data: { plan: 'pro' } });
    return { email, id: body.id as string };
  };
  const compute = async () => (await call('POST', `${path}/compute`)).body;
  const event = (name: string, segmentName: string) => ({
    name,
    data: { segmentId: made.body.id, segmentName },
  });

  const [staying, leaving] = [await create(), await create()];
  expect(await compute()).toEqual({ added: 2, removed: 0, total: 2 });
  expect((await call('PATCH', path, { name: 'Second one' })).status).toBe(200);
  // A new name does not change the members.
  expect(await compute()).toEqual({ added: 0, removed: 0, total: 2 });
  const entered = event('segment.first.entry', 'First!');
  expect(await eventsOf(staying.email)).toEqual([entered]);

  const coming = await create();
  await call('PATCH', `/contacts/${leaving.id}`, { data: { plan: 'free' } });
  expect(await compute()).toEqual({ added: 1, removed: 1, total: 2 });
  expect(await eventsOf(staying.email)).toEqual([entered]);
  expect(await eventsOf(coming.email)).toEqual([event('segment.second-one.entry', 'Second one')]);
  expect(await eventsOf(leaving.email)).toEqual([
    entered,
    event('segment.second-one.exit', 'Second one'),
  ]);
});
