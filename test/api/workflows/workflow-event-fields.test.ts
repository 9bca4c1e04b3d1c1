import { expect, it } from 'vitest';
import { useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

it('the fields of an event are those of its last hundred', async () => {
  const { call, project, other, api } = shop;
  const begin = Date.parse('2026-01-01T00:00:00.000Z');
  /** Inserts events, a second apart: only the two oldest have keys of their own. */
  const insert = async (count: number, projectId: string, name: string) => {
    const rows = Array.from({ length: count }, (_, index) => ({
      project_id: projectId,
      name,
      data: JSON.stringify({ [index === 0 ? 'first' : index === 1 ? 'second' : 'later']: index }),
      created_at: new Date(begin + index * 1000),
    }));
    // The newest is inserted first, because only the time counts.
    await api.db.insertInto('event').values(rows.toReversed()).execute();
  };
  await insert(101, project.id, 'many');
  await insert(100, project.id, 'just enough');
  // Events of other names and projects do not count.
  await insert(101, project.id, 'other');
  await insert(101, other.id, 'just enough');
  const eventFields = async (name: string) => {
    const { body } = await call('GET', `/workflows/fields?eventName=${encodeURIComponent(name)}`);
    return (body.fields as string[]).filter((field) => field.startsWith('event.'));
  };
  expect(await eventFields('many')).toEqual(['event.later', 'event.second']);
  expect(await eventFields('just enough')).toEqual(['event.first', 'event.later', 'event.second']);
});
