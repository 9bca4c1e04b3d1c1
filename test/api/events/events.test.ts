import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const listEvents = (query: string) => shop.call('GET', `/events${query}`);

describe('GET /events', () => {
  it('answers the newest events of a name with the address of their contact', async () => {
    const email = newAddress();
    for (const n of [1, 2, 3]) await shop.track({ email, event: 'a', data: { n } });
    await shop.track({ email, event: 'b' });
    const { status, body } = await listEvents('?eventName=a&limit=2');
    expect(status).toBe(200);
    expect(body.events).toEqual(
      [3, 2].map((n) => ({
        id: expect.any(String),
        name: 'a',
        data: { n },
        projectId: shop.project.id,
        contactId: body.events[0].contactId,
        emailId: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        contact: { email },
      })),
    );
    const all = await listEvents('');
    expect(all.body.events.map(({ name }: { name: string }) => name)).toEqual(['b', 'a', 'a', 'a']);
  });

  it('answers null for the contact of an event without one', async () => {
    const event = { project_id: shop.project.id, name: 'alone' };
    await shop.api.db.insertInto('event').values(event).execute();
    const { body } = await listEvents('?eventName=alone');
    expect(body.events).toMatchObject([{ contactId: null, contact: null, data: null }]);
  });

  it('finds a name letter by letter', async () => {
    const email = newAddress();
    await shop.track({ email, event: 'a/b c?é' });
    const find = async (name: string) =>
      (await listEvents(`?eventName=${encodeURIComponent(name)}`)).body.events.length;
    expect([await find('a/b c?é'), await find('A/b c?é'), await find('a/b c')]).toEqual([1, 0, 0]);
  });

  it('answers 100 unless it is asked for more, at most 1000', async () => {
    const events = Array.from({ length: 101 }, () => ({
      project_id: shop.project.id,
      name: 'many',
    }));
    await shop.api.db.insertInto('event').values(events).execute();
    const count = async (query: string) => (await listEvents(query)).body.events.length;
    expect(await count('?eventName=many')).toBe(100);
    expect(await count('?eventName=many&limit=1000')).toBe(101);
  });

  it.each([
    ['0', 'too_small'],
    ['1001', 'too_big'],
    ['x', 'invalid_type'],
    ['', 'invalid_type'],
    ['1.5', 'invalid_type'],
  ])('refuses the limit %j', async (limit, code) => {
    const answer = await listEvents(`?limit=${limit}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', `limit ${code}`]);
  });

  it('never shows another project’s events, and refuses a public key', async () => {
    await shop.track({ email: newAddress() });
    const read = (key: string) => shop.api.request('GET', '/events', { key });
    expect((await read(shop.other.secretKey)).body).toEqual({ events: [] });
    expect(refusal(await read(shop.project.publicKey))).toEqual([401, 'INVALID_API_KEY']);
  });
});
