import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CursorForm, decodeCursor, encodeCursor } from '../../domain/cursor.ts';
import { hasForbiddenText } from '../../domain/text-rules.ts';

const byTime: CursorForm = { order: 'contacts.createdAt', value: 'time' };
const byEmail: CursorForm = { order: 'contacts.email', value: 'text' };
const id = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
const value = '2026-11-21T08:30:00.000Z';

/** Returns a forged cursor: base64url of any text. */
const forged = (text: string) => Buffer.from(text).toString('base64url');

describe('a cursor', () => {
  it('holds any sort value and any id', () => {
    const text = fc.string({ unit: 'binary' }).filter((all) => !hasForbiddenText(all));
    fc.assert(
      fc.property(text, fc.uuid(), (value, id) => {
        const cursor = encodeCursor(byEmail, { value, id });
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(decodeCursor(byEmail, cursor)).toEqual({ value, id });
      }),
    );
    const years = { min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(years), fc.uuid(), (at, id) => {
        const position = { value: at.toISOString(), id };
        expect(decodeCursor(byTime, encodeCursor(byTime, position))).toEqual(position);
      }),
    );
  });

  it('holds ids of other kinds where the list has them', () => {
    const form = { ...byTime, isId: (given: string) => given.startsWith('email ') };
    const position = { value, id: 'email 7' };
    expect(decodeCursor(form, encodeCursor(form, position))).toEqual(position);
    expect(decodeCursor(byTime, encodeCursor(form, position))).toBeNull();
    expect(decodeCursor(form, encodeCursor(byTime, { value, id }))).toBeNull();
  });

  it('of another list or order is none', () => {
    expect(decodeCursor(byEmail, encodeCursor(byTime, { value, id }))).toBeNull();
    const other = { order: 'emails.createdAt', value: 'time' } as const;
    expect(decodeCursor(byTime, encodeCursor(other, { value, id }))).toBeNull();
  });

  it.each([
    '',
    'zz',
    '%',
    '💥',
    forged('null'),
    forged('{}'),
    forged('["contacts.createdAt"]'),
    forged(`["contacts.createdAt","${value}","${id}",1]`),
    forged(`["contacts.createdAt","${value}",null]`),
    forged(`["contacts.createdAt","${value}","x"]`),
    forged(`["contacts.createdAt",5,"${id}"]`),
    forged(`["contacts.createdAt","","${id}"]`),
    forged(`["contacts.createdAt","infinity","${id}"]`),
    forged(`["contacts.createdAt","2026-02-30T00:00:00.000Z","${id}"]`),
    forged(`["contacts.createdAt","0000-01-01T00:00:00.000Z","${id}"]`),
    forged(`["contacts.createdAt","-271821-04-20T00:00:00.000Z","${id}"]`),
  ])('%j is none', (cursor) => {
    expect(decodeCursor(byTime, cursor)).toBeNull();
  });

  it('never holds a text the database cannot store', () => {
    const withId = { ...byEmail, isId: () => true };
    for (const text of ['a\\u0000b', '\\ud800']) {
      expect(decodeCursor(withId, forged(`["contacts.email","${text}","x"]`))).toBeNull();
      expect(decodeCursor(withId, forged(`["contacts.email","x","${text}"]`))).toBeNull();
    }
  });

  it('never fails on any text', () => {
    fc.assert(fc.property(fc.string(), (text) => void decodeCursor(byTime, forged(text))));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => void decodeCursor(byTime, text)),
    );
  });
});
