import { describe, expect, it } from 'vitest';
import {
  contactDataFault,
  eventData,
  jsonBytes,
  planContactData,
} from '../../../domain/contact/data.ts';

const nothing = { set: {}, remove: [], oneTime: {} };

describe('planContactData', () => {
  it.each([
    ['a text', 'pro'],
    ['a number', 0],
    ['a number with a fraction', -1.5],
    ['true', true],
    ['false', false],
    ['a list', ['a', null, { b: 1 }]],
    ['an empty list', []],
    ['an object', { city: 'Wien', zip: null }],
    ['an empty object', {}],
    ['a space', ' '],
  ])('stores %s as it is', (_kind, value) => {
    expect(planContactData({ key: value })).toEqual({ ...nothing, set: { key: value } });
  });

  it('removes what is null', () => {
    expect(planContactData({ key: null })).toEqual({ ...nothing, remove: ['key'] });
  });

  it('skips an empty text', () => {
    expect(planContactData({ key: '' })).toEqual(nothing);
  });

  it.each(['x', 0, false, null, '', ['a'], { value: 1, persistent: true }])(
    'keeps %j with persistent: false for this request only',
    (value) => {
      const change = planContactData({ key: { value, persistent: false } });
      expect(change).toEqual({ ...nothing, oneTime: { key: value } });
    },
  );

  it('takes a value with persistent: true as the plain value', () => {
    const change = planContactData({
      text: { value: 'x', persistent: true },
      object: { value: { a: 1 }, persistent: true },
      gone: { value: null, persistent: true },
      empty: { value: '', persistent: true },
    });
    expect(change).toEqual({ set: { text: 'x', object: { a: 1 } }, remove: ['gone'], oneTime: {} });
  });

  it.each([
    [{ value: 'x' }],
    [{ persistent: false }],
    [{ value: 'x', persistent: 'false' }],
    [{ value: 'x', persistent: null }],
    [[{ value: 'x', persistent: false }]],
  ])('stores %j as it is: it only looks like a wrapped value', (value) => {
    expect(planContactData({ key: value })).toEqual({ ...nothing, set: { key: value } });
  });

  it('looks at wrapped values at the top only', () => {
    const value = { inner: { value: 'x', persistent: false } };
    expect(planContactData({ key: value }).set).toEqual({ key: value });
  });

  it.each(['id', 'svc_id', 'svc_email', 'email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl'])(
    'drops %s, whatever it is',
    (key) => {
      for (const value of ['x', null, { value: 'x', persistent: false }]) {
        expect(planContactData({ [key]: value })).toEqual(nothing);
      }
    },
  );

  it.each(['ID', 'Email', 'unsubscribeurl', 'svc_id2', 'subscribed', 'locale', 'name', ''])(
    'keeps %j: keys are told apart by case, and no others are reserved',
    (key) => {
      expect(planContactData({ [key]: 'x' }).set).toEqual({ [key]: 'x' });
    },
  );

  it('takes keys that mean something to JavaScript as plain keys', () => {
    const given = JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":null}');
    const { set, remove } = planContactData(given);
    expect(Object.entries(set)).toEqual([
      ['__proto__', { a: 1 }],
      ['constructor', 2],
    ]);
    expect(remove).toEqual(['toString']);
  });

  it.each([null, undefined, {}])('plans nothing for %j', (given) => {
    expect(planContactData(given)).toEqual(nothing);
  });
});

describe('eventData', () => {
  it('keeps what was sent, and of one-time values the value', () => {
    const sent = {
      id: '1',
      empty: '',
      gone: null,
      kept: { value: 'x', persistent: true },
      plain: { value: 'x' },
      once: { value: { deep: [1] }, persistent: false },
    };
    expect(eventData(sent)).toEqual({ ...sent, once: { deep: [1] } });
  });

  it.each([
    [null, null],
    [undefined, null],
    [{}, {}],
  ])('of %j is %j', (sent, kept) => {
    expect(eventData(sent)).toEqual(kept);
  });
});

describe('the limits of contact data', () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
  /** Returns `{"k":"…"}` of exactly so many bytes. */
  const sized = (bytes: number) => ({ k: 'x'.repeat(bytes - '{"k":""}'.length) });

  it.each([
    ['nothing', null],
    ['500 keys', keys(500)],
    ['a key of 100 characters', { ['k'.repeat(100)]: 1 }],
    ['64 KB', sized(65_536)],
  ])('allow %s', (_kind, data) => {
    expect(contactDataFault(data)).toBeNull();
  });

  it.each([
    ['501 keys', keys(501), /500 data keys/],
    ['a key of 101 characters', { ['k'.repeat(101)]: 1 }, /1 to 100 characters/],
    ['an empty key', { '': 1 }, /1 to 100 characters/],
    ['64 KB and a byte', sized(65_537), /65536 bytes/],
    ['letters of two bytes over 64 KB', { k: 'é'.repeat(33_000) }, /65536 bytes/],
  ])('refuse %s', (_kind, data, message) => {
    expect(contactDataFault(data)).toMatch(message);
  });

  it('count bytes of JSON in UTF-8', () => {
    expect(jsonBytes({ k: 'é€😀' })).toBe('{"k":""}'.length + 2 + 3 + 4);
  });
});
