import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi();

describe('the fields of conditions', () => {
  it('are those of contacts, of their data and of the newest events of a name', async () => {
    const { secretKey: key, id } = await api.createProject((await api.signUp()).cookie);
    const fields = async (query = '') =>
      (await api.request('GET', `/workflows/fields${query}`, { key })).body;
    const standard = [
      'contact.email',
      'contact.subscribed',
      'contact.createdAt',
      'contact.updatedAt',
    ];
    expect((await fields()).fields).toEqual(standard);
    const insertContact = (data: object) =>
      api.db
        .insertInto('contact')
        .values({
          project_id: id,
          email: `${randomUUID()}@x.example`,
          subscribed: true,
          data: JSON.stringify(data),
        })
        .execute();
    await insertContact({ plan: 'pro', since: '2026-01-02', n: 1, tags: ['a'] });
    await insertContact({ plan: 'free', since: 'x', n: 2, vip: true });
    await insertContact({ n: 'three', since: '2026-01-02T10:00:00Z' });
    await api.db
      .insertInto('event')
      .values([
        { project_id: id, name: 'bought', data: JSON.stringify({ total: 5, note: null }) },
        { project_id: id, name: 'other', data: JSON.stringify({ secret: 1 }) },
        { project_id: id, name: 'bought', data: null },
      ])
      .execute();
    const { typedFields, fields: names, count } = await fields('?eventName=bought');
    expect(typedFields.slice(4)).toEqual([
      { field: 'contact.data.n', type: 'number', category: 'Custom Data' },
      { field: 'contact.data.plan', type: 'string', category: 'Custom Data' },
      { field: 'contact.data.since', type: 'date', category: 'Custom Data' },
      { field: 'contact.data.tags', type: 'string', category: 'Custom Data' },
      { field: 'contact.data.vip', type: 'boolean', category: 'Custom Data' },
      { field: 'event.note', type: 'string', category: 'Event Data' },
      { field: 'event.total', type: 'number', category: 'Event Data' },
    ]);
    expect([names.length, count]).toEqual([11, 11]);
    expect(names.slice(0, 4)).toEqual(standard);
    expect((await fields()).count).toBe(9);
  });
});
