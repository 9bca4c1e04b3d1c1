import fc from 'fast-check';
import { expect, it } from 'vitest';
import { noEvidence } from '../../../../db/consent/log.ts';
import { transact } from '../../../../db/database.ts';
import { recordContact } from '../../../../db/transactions/contacts/record-contact.ts';
import { planContactData } from '../../../../domain/contact/data.ts';
import { newAddress, useShop } from '../../../support/projects/shop.ts';

const shop = await useShop();

/** The expected contact by the rules, computed without the database. */
class Expected {
  data: Record<string, unknown> | null = null;
  subscribed: boolean | null = null;
  events: string[] = [];

  write({ data, subscribed, whenNew }: Write): void {
    const before = this.subscribed;
    this.subscribed = subscribed ?? before ?? whenNew;
    if (before !== null && before !== this.subscribed) {
      this.events.push(this.subscribed ? 'contact.subscribed' : 'contact.unsubscribed');
    }
    const stored: Record<string, unknown> = { ...this.data };
    for (const [key, given] of Object.entries(data ?? {})) {
      if (reserved.includes(key)) continue;
      const kind = wrapping(given);
      if (kind === 'once') continue;
      const value = kind === 'kept' ? (given as { value: unknown }).value : given;
      if (value === null) delete stored[key];
      else if (value !== '') stored[key] = value;
    }
    this.data = Object.keys(stored).length === 0 ? null : stored;
  }
}

function wrapping(given: unknown): 'once' | 'kept' | 'plain' {
  const text = JSON.stringify(given);
  if (!/^\{.*"value":/.test(text)) return 'plain';
  const { persistent } = given as { persistent?: unknown };
  return persistent === false ? 'once' : persistent === true ? 'kept' : 'plain';
}

const reserved = ['id', 'email'];

interface Write {
  data: Record<string, unknown> | null;
  subscribed: boolean | undefined;
  whenNew: boolean;
}

const plain = fc.oneof(
  fc.constantFrom('', null, true, false, 0, 'pro', 'Zoë', "it's", '{"a":1}', '$1', '\\'),
  fc.integer(),
  fc.constantFrom(0.1, 1e21, -1.5e-7),
  fc.array(fc.constantFrom(null, 1, 'a', { b: '' }), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom(null, '', 1, 'x'), {
    noNullPrototype: true,
  }),
);
const value = fc.oneof(
  { weight: 3, arbitrary: plain },
  fc.record({ value: plain, persistent: fc.boolean() }),
  fc.record({ value: plain }),
);
const key = fc.constantFrom(
  'plan',
  'Plan',
  'first name',
  'a.b',
  'a,b',
  '"',
  '\\',
  "'",
  'id',
  'email',
  'null',
);
const write: fc.Arbitrary<Write> = fc.record({
  data: fc.option(fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true })),
  subscribed: fc.constantFrom(undefined, true, false),
  whenNew: fc.boolean(),
});

it('a contact is what the rules make of its writes, one after the other', async () => {
  const property = fc.asyncProperty(
    fc.array(write, { minLength: 1, maxLength: 6 }),
    async (all) => {
      const email = newAddress();
      const expected = new Expected();
      for (const [index, given] of all.entries()) {
        const before = await shop.contact(email);
        expected.write(given);
        const { contact, isNew } = await transact(shop.api.db, (tx) =>
          recordContact(tx, shop.project.id, {
            email,
            subscribed: given.subscribed,
            subscribedWhenNew: given.whenNew,
            data: planContactData(given.data),
            origin: { ...noEvidence, source: 'api' },
          }),
        );
        const stored = await shop.contact(email);
        expect(stored).toEqual(contact);
        expect(isNew).toBe(index === 0);
        expect(stored).toMatchObject({ data: expected.data, subscribed: expected.subscribed });
        const changed =
          JSON.stringify([before?.data, before?.subscribed]) !==
          JSON.stringify([stored!.data, stored!.subscribed]);
        if (before && !changed) expect(stored!.updated_at).toEqual(before.updated_at);
      }
      const names = (await shop.eventsOf(email)).map(({ name }) => name);
      expect(names).toEqual(expected.events);
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

it('the time of change moves when something changes, and only then', async () => {
  const email = newAddress();
  const at = async (given: object) => {
    await shop.call('POST', '/contacts', { email, ...given });
    return (await shop.contact(email))!.updated_at.getTime();
  };
  const first = await at({ data: { a: { b: [1] } } });
  for (const same of [
    {},
    { subscribed: true },
    { data: null },
    { data: { a: { b: [1] }, c: null } },
  ]) {
    expect(await at(same)).toBe(first);
  }
  const second = await at({ data: { a: { b: [2] } } });
  expect(second).toBeGreaterThan(first);
  expect(await at({ subscribed: false })).toBeGreaterThan(second);
});

it('parallel writes of different keys all arrive', async () => {
  const email = newAddress();
  const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
  const answers = await Promise.all(
    keys.map((name) => shop.call('POST', '/contacts', { email, data: { [name]: name } })),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([
    ...Array.from({ length: 29 }, () => 200),
    201,
  ]);
  expect(answers.filter(({ body }) => body._meta.isNew)).toHaveLength(1);
  expect((await shop.contact(email))!.data).toEqual(
    Object.fromEntries(keys.map((name) => [name, name])),
  );
});
