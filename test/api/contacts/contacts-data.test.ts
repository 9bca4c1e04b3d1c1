import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasForbiddenText } from '../../../domain/text-rules.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** Unusual data of contacts is returned unchanged, or refused with the name of its field. */

const shop = await useShop();

const post = (json: string) => shop.call('POST', '/contacts', json);

/** Posts a contact whose data is this JSON. */
const postData = (json: string) => post(`{"email":"${newAddress()}","data":${json}}`);

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).filter((all) => !hasForbiddenText(all)),
  fc.constantFrom('constructor', 'toString', 'hasOwnProperty', 'a.b', '$1', '\\u0000', 'locale'),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
  fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  text,
);
const data = fc.dictionary(text, value, { maxKeys: 6, noNullPrototype: true });

const reserved = [
  'id',
  'svc_id',
  'svc_email',
  'email',
  'unsubscribeUrl',
  'subscribeUrl',
  'manageUrl',
];

describe('contact data', () => {
  it('comes out of every answer as it went in', async () => {
    const property = fc.asyncProperty(data, data, async (first, second) => {
      const given = { ...first, ...second };
      fc.pre(
        Object.keys(given).every((key) => key !== '' && key !== '__proto__' && key !== 'locale'),
      );
      fc.pre(!JSON.stringify(given).includes('"__proto__"'));
      fc.pre(!JSON.stringify(given).includes('"persistent"'));
      const stored: Record<string, unknown> = {};
      const apply = (write: Record<string, unknown>) => {
        for (const [key, item] of Object.entries(write)) {
          if (reserved.includes(key) || item === '') continue;
          if (item === null) delete stored[key];
          else stored[key] = item;
        }
        return JSON.parse(Object.keys(stored).length === 0 ? 'null' : JSON.stringify(stored));
      };
      const made = await postData(JSON.stringify(first));
      expect([made.status, made.body.data]).toEqual([201, apply(first)]);
      const path = `/contacts/${made.body.id}`;
      const changed = await shop.call('PATCH', path, { data: second });
      expect([changed.status, changed.body.data]).toEqual([200, apply(second)]);
      expect((await shop.call('GET', path)).body).toEqual(changed.body);
      const listed = await shop.call('GET', `/contacts?search=${made.body.email}`);
      expect(listed.body.data).toEqual([changed.body]);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901234567890',
    '1e999',
    '-1e999',
  ])('refuses the number %s, which would come out as another one', async (literal) => {
    const refused = [422, 'VALIDATION_ERROR', 'data.a.0.b too_big'];
    expect(refusal(await postData(`{"a":[{"b":${literal}}]}`))).toEqual(refused);
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['1e21', 1e21],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', Number.MIN_VALUE],
    ['4.50', 4.5],
    ['-0', 0],
  ])('keeps the number %s', async (literal, kept) => {
    const { status, body } = await postData(`{"a":${literal}}`);
    expect([status, body.data]).toEqual([201, { a: kept }]);
  });

  it.each([
    ['{"a":"x\\u0000"}', 'data.a'],
    ['{"a":["\\ud800"]}', 'data.a.0'],
    ['{"a\\u0000":1}', 'data.a\u0000'],
  ])('refuses what cannot be stored in %s', async (json, field) => {
    expect(refusal(await postData(json))).toEqual([
      422,
      'VALIDATION_ERROR',
      `${field} invalid_string`,
    ]);
  });

  it.each(['{"__proto__":{"a":1}}', '{"a":{"\\u005f_proto__":1}}'])(
    'refuses the key of %s and says why',
    async (json) => {
      const answer = await postData(json);
      expect(refusal(answer)).toEqual([400, 'INVALID_REQUEST_BODY']);
      expect(answer.body.error.message).toContain('__proto__');
    },
  );

  it('shows a key named __proto__ that came in another way', async () => {
    const email = newAddress();
    const row = { project_id: shop.project.id, email, subscribed: true };
    await shop.api.db
      .insertInto('contact')
      .values({ ...row, data: '{"__proto__":{"a":1},"b":2}' })
      .execute();
    const [contact] = (await shop.call('GET', `/contacts?search=${email}`)).body.data;
    expect(JSON.stringify(contact.data)).toBe('{"b":2,"__proto__":{"a":1}}');
    const { body } = await shop.call('PATCH', `/contacts/${contact.id}`, { data: { b: null } });
    expect(JSON.stringify(body.data)).toBe('{"__proto__":{"a":1}}');
  });

  it('takes values of some depth, and refuses deeper ones without failing', async () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect((await postData(nested(900))).status).toBe(201);
    for (const depth of [1000, 30_000, 500_000]) {
      expect(refusal(await postData(nested(depth)))).toEqual([422, 'VALIDATION_ERROR', ' too_big']);
    }
  });

  it.each(['null', '5', '"x"', '[]', 'true', '[1e999]'])('refuses the body %s', async (json) => {
    const { status, body } = await post(json);
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });
});
