import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** A key with dots, such as a column of a file, is an ordinary field. */

const shop = await useShop();

async function made(path: string, body: object) {
  const answer = await shop.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const people = {
  column: { 'address.city': 'Bern' },
  nested: { address: { city: 'Bern' } },
  both: { 'address.city': 'Basel', address: { city: 'Bern' } },
  neither: { address: 'Bern' },
};
const emails = new Map<string, string>();
for (const [name, data] of Object.entries(people)) {
  emails.set(name, newAddress());
  await made('/contacts', { email: emails.get(name), data });
}

async function membersOf(filter: object): Promise<string[]> {
  const filters = { operator: 'AND', conditions: [filter] };
  const segment = await made('/segments', { name: 'S', filters });
  const { body } = await shop.call('GET', `/segments/${segment.id}/contacts?pageSize=100`);
  const found = body.data.map(({ email }: { email: string }) => email) as string[];
  return [...emails].filter(([, email]) => found.includes(email)).map(([name]) => name);
}

const names = ['data.address.city', 'address.city', 'contact.data.address.city'];

describe('a key with dots', () => {
  it('is listed, and has values, as the fields that can be filtered', async () => {
    const { body } = await shop.call('GET', '/contacts/fields');
    const listed = body.fields.map(({ field }: { field: string }) => field);
    expect(listed).toContain('data.address.city');
    const values = await shop.call('GET', '/contacts/fields/data.address.city/values');
    expect(values.body.values).toEqual(['Basel', 'Bern']);
  });

  it.each(names)('is filtered as %s, before the way through objects', async (field) => {
    const having = (operator: string, value?: string) => membersOf({ field, operator, value });
    expect(await having('equals', 'Bern')).toEqual(['column', 'nested']);
    expect(await having('notEquals', 'Bern')).toEqual(['both']);
    expect(await having('contains', 'as')).toEqual(['both']);
    expect(await having('greaterThan', 'Basel')).toEqual(['column', 'nested']);
    expect(await having('exists')).toEqual(['column', 'nested', 'both']);
    expect(await having('notExists')).toEqual(['neither']);
  });

  it('is used by what filters it, and so is the object', async () => {
    await made('/segments', {
      name: 'City',
      filters: {
        operator: 'AND',
        conditions: [{ field: 'data.address.city', operator: 'exists' }],
      },
    });
    for (const field of ['data.address.city', 'address']) {
      const { body } = await shop.call('GET', `/contacts/fields/${field}/usage`);
      expect(body.usedInSegments.map(({ name }: { name: string }) => name)).toContain('City');
      expect(body.canDelete).toBe(false);
    }
  });

  it.each([
    ['{{ address.city }}', 'Basel'],
    ['{{ data.address.city }}', 'Basel'],
    ['{{ contact.data.address.city }}', 'Basel'],
    ['{{ address.city ?? nowhere }}', 'Basel'],
    ['{% if address.city == "Basel" %}yes{% endif %}', 'yes'],
    ['{% assign address = "x" %}{{ address.city }}.', '.'],
  ])('is what %s reads', async (body, expected) => {
    const contact = { email: newAddress(), data: people.both };
    const { body: shown } = await shop.call('POST', '/templates/preview', {
      subject: 's',
      body,
      contact,
    });
    expect([shown.data.text.trim(), shown.data.warnings]).toEqual([expected, []]);
  });

  it.each([
    ['data.address.city', 'Basel'],
    ['event.order.total', 7],
  ])('decides a CONDITION on %s, also in what an event has brought', async (field, value) => {
    const workflow = await made('/workflows', { name: 'W', eventName: 'begin' });
    const config = { field, operator: 'equals', value };
    const steps = `/workflows/${workflow.id}/steps`;
    const { id: fromStepId } = await made(steps, { type: 'CONDITION', name: 'C', config });
    const { id: toStepId } = await made(steps, { type: 'EXIT', name: 'E', config: {} });
    const way = { fromStepId, toStepId, branch: 'yes' };
    await made(`/workflows/${workflow.id}/transitions`, way);
    const { body } = await shop.call('POST', `/workflows/${workflow.id}/simulate`, {
      contact: { email: newAddress(), data: people.both },
      context: { 'order.total': 7, order: { total: 8 } },
    });
    const decided = body.data.path.find(({ type }: { type: string }) => type === 'CONDITION');
    expect(decided).toMatchObject({ branch: 'yes' });
    expect(body.data.warnings).toEqual([]);
  });
});
