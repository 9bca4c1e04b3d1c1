import { expect, it } from 'vitest';
import { z } from 'zod';
import '../../domain/schema-texts.ts';
import { endpoints } from '../../api/endpoints.ts';
import { Uuid } from '../../api/http/schemas.ts';

/** Returns the messages about an invalid value. */
function textsOf(schema: z.ZodType, value: unknown): string[] {
  return schema.safeParse(value).error?.issues.map(({ message }) => message) ?? [];
}

it.each([
  [z.string(), 7, 'Must be text, not a number.'],
  [z.string(), null, 'Must be text, not null.'],
  [z.number(), 'seven', 'Must be a number, not text.'],
  [z.int(), 1.5, 'Must be a whole number, not 1.5.'],
  [z.boolean(), 'yes', 'Must be true or false, not text.'],
  [z.object({}), [], 'Must be an object, not a list.'],
  [z.array(z.string()), {}, 'Must be a list, not an object.'],
  [z.array(z.string()), true, 'Must be a list, not true.'],
  [z.string(), undefined, 'Is required.'],
  [z.enum(['asc', 'desc']), 'up', 'Must be asc or desc, not "up".'],
  [z.literal(true), false, 'Must be true, not false.'],
  [z.string().min(1), '', 'Must not be empty.'],
  [z.string().min(8), 'short', 'Must have at least 8 characters, not 5.'],
  [z.string().max(1), 'ab', 'Must have at most 1 character, not 2.'],
  [z.array(z.int()).min(1), [], 'Must not be empty.'],
  [z.array(z.int()).max(2), [1, 2, 3], 'Must have at most 2 entries, not 3.'],
  [z.number().min(5), 4, 'Must be at least 5, not 4.'],
  [z.number().gt(5), 5, 'Must be more than 5, not 5.'],
  [z.number().max(5), 6, 'Must be at most 5, not 6.'],
  [z.email(), 'nope', 'Must be an email address.'],
  [z.iso.datetime(), 'nope', 'Must be a date-time, such as 2026-01-31T09:00:00Z.'],
  [z.string().startsWith('sk_'), 'pk_', 'Must begin with "sk_".'],
  [z.strictObject({}), { a: 1, b: 2 }, 'Remove unknown fields: a, b.'],
  [
    z.union([z.string(), z.number()]),
    true,
    'Has none of the allowed forms. Must be text, not true. Or: Must be a number, not true.',
  ],
  [
    z.union([z.object({ id: z.uuid() }), z.string()]),
    { id: 7 },
    'Has none of the allowed forms. id: Must be text, not a number. Or: Must be text, not an object.',
  ],
  [
    z.record(z.string().max(1), z.string()),
    { cd: 'e' },
    'The name of this field is not allowed. Must have at most 1 character, not 2.',
  ],
  [
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('a') }),
      z.object({ type: z.literal('b') }),
    ]),
    { type: 'c' },
    'Must be an object whose "type" is a or b.',
  ],
])('words an issue of a schema plainly: case %#', (schema, value, text) => {
  expect(textsOf(schema, value)).toEqual([text]);
});

it('never repeats a text of a free form, nor a key, because both may be secrets', () => {
  const free = [z.int(), z.uuid(), z.string().max(3), z.email()];
  for (const schema of free) expect(textsOf(schema, 'hunter2').join()).not.toContain('hunter2');
  for (const schema of [...free, z.enum(['a']), Uuid]) {
    expect(textsOf(schema, 'sk_very_secret').join()).not.toContain('very_secret');
  }
});

it.each([
  ['abc', 'Must be a uuid, not "abc".'],
  ['a "quoted" $& one', 'Must be a uuid, not "a \\"quoted\\" $& one".'],
  ['a'.repeat(61), 'Must be a uuid.'],
])('shows the text that is no id, if it is short: %s', (given, text) => {
  expect(textsOf(Uuid, given)).toEqual([text]);
});

it('words every issue that a body of the wrong form has, at every endpoint', () => {
  const raw = /^(Invalid|Too (small|big)|Unrecognized)|expected/;
  for (const { body } of endpoints) {
    for (const wrong of [7, [], {}, { type: 7, name: 7, email: [], ids: {}, filter: 7 }]) {
      for (const text of body ? textsOf(body, wrong) : []) expect(text).not.toMatch(raw);
    }
  }
});
