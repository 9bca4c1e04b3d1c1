import { describe, expect, it } from 'vitest';
import { loggedDetails, loggedErrors } from '../../../domain/access/logged-error.ts';

const uuid = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01';

describe('the fields of a logged error', () => {
  const fieldsOf = (...fields: string[]) =>
    loggedErrors(fields.map((field) => ({ field, code: 'required', message: 'x', received: 'y' })));

  it('are kept with their codes, and nothing else', () => {
    expect(fieldsOf('to.0.email', '', 'messages.3.data.plan-name')).toEqual([
      { field: 'to.0.email', code: 'required' },
      { field: '', code: 'required' },
      { field: 'messages.3.data.plan-name', code: 'required' },
    ]);
    expect(fieldsOf()).toBeNull();
    expect(loggedErrors(undefined)).toBeNull();
  });

  it('end before a key that is no plain name', () => {
    const shown = fieldsOf('data.ada@shop.example', 'Ada Lovelace', `data.${'x'.repeat(200)}`);
    expect(shown?.map(({ field }) => field)).toEqual(['data.*', '*', '*']);
  });

  it('are 50 at most', () => {
    const many = Array.from({ length: 80 }, (_, at) => `messages.${at}.to`);
    expect(fieldsOf(...many)).toHaveLength(50);
  });
});

describe('the details of a logged error', () => {
  it.each([
    { retryAfter: 17 },
    { resource: 'contact', id: uuid },
    { needed: 'contacts:write', granted: ['emails:send', '*:read'] },
    { reason: 'expired' },
    { workflowIds: [uuid, uuid], count: 2 },
    { templates: [{ id: uuid, version: 3 }], more: { templates: 5 }, isCut: true, other: null },
  ])('are kept if they hold only ids, codes and numbers: %j', (details) => {
    expect(loggedDetails(details)).toEqual(details);
  });

  it.each([
    { resource: 'suppression', id: 'ada@shop.example' },
    { resource: 'secret', id: 'STRIPE_KEY' },
    { restriction: 'events', received: 'paid' },
    { restriction: 'cidrs', received: '203.0.113.7' },
    { usedIn: [{ id: uuid, name: 'Welcome' }] },
    { granted: ['ada@shop.example'] },
    { key: 'order-1', originalStatusCode: 200 },
    { ids: Array.from({ length: 100 }, () => uuid) },
  ])('are left out if they hold more, or are long: %j', (details) => {
    expect(loggedDetails(details)).toBeNull();
  });
});
