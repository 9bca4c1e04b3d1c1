import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const upsert = (given: object) => shop.call('POST', '/contacts', given);
const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];

describe('POST /contacts', () => {
  it('makes a contact under the stored form of its address, then finds it again', async () => {
    const email = newAddress();
    const made = await upsert({ email: ` ${email.toUpperCase()} `, data: { plan: 'pro' } });
    const { id } = (await shop.contact(email))!;
    const record = {
      id,
      email,
      subscribed: true,
      data: { plan: 'pro' },
      projectId: shop.project.id,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: made.body.createdAt,
    };
    expect(made.status).toBe(201);
    expect(made.body).toEqual({ ...record, _meta: { isNew: true, isUpdate: false } });
    const again = await upsert({ email });
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...record, _meta: { isNew: false, isUpdate: true } });
    const read = await shop.call('GET', `/contacts/${id}`);
    expect([read.status, read.body]).toEqual([200, record]);
  });

  it('takes a session with its project, and none that another site has made the browser send', async () => {
    const { cookie } = await shop.api.signUp();
    const { id } = await shop.api.createProject(cookie);
    const post = (more: Record<string, string>) =>
      shop.api.request('POST', '/contacts', {
        cookie,
        headers: { 'X-Project-Id': id, ...more },
        body: { email: newAddress() },
      });
    expect((await post({})).status).toBe(201);
    const refused = await post({ Origin: 'https://evil.example' });
    expect(refusal(refused)).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
  });

  it('gives ids that cannot be guessed (version 4)', async () => {
    const { body } = await upsert({ email: newAddress() });
    expect(body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
  });

  it.each([
    [{ email: 'bad' }, 'email invalid_string'],
    [{}, 'email invalid_type'],
    [{ email: null }, 'email invalid_type'],
    [{ email: `${'x'.repeat(65)}@x.test` }, 'email invalid_string'],
    [{ email: 'a@x.test', subscribed: null }, 'subscribed invalid_type'],
    [{ email: 'a@x.test', data: [] }, 'data invalid_type'],
    [{ email: 'a@x.test', data: 'x' }, 'data invalid_type'],
    [{ email: 'a@x.test', data: { locale: 5 } }, 'data.locale invalid_type'],
  ])('refuses %j', async (given, fault) => {
    expect(refusal(await upsert(given))).toEqual(invalid(fault));
  });

  it.each(['\\u0000', '\\ud800'])('refuses %s in a text of its data', async (code) => {
    const body = `{"email":"a@x.example","data":{"k":"a${code}b"}}`;
    const answer = await shop.api.request('POST', '/contacts', {
      key: shop.project.secretKey,
      body,
    });
    expect(refusal(answer)).toEqual(invalid('data.k invalid_string'));
  });

  it('keeps a contact unsubscribed unless the request says otherwise', async () => {
    const email = newAddress();
    await upsert({ email, subscribed: false });
    expect((await upsert({ email, data: { a: 1 } })).body.subscribed).toBe(false);
    expect(await shop.eventsOf(email)).toEqual([]);
    expect((await upsert({ email, subscribed: true })).body.subscribed).toBe(true);
    await upsert({ email, subscribed: true });
    expect(await shop.eventsOf(email)).toEqual([
      { name: 'contact.subscribed', data: { source: 'api' } },
    ]);
  });

  it('keeps one contact of each address in each project', async () => {
    const email = newAddress();
    const { body: mine } = await upsert({ email, data: { a: 1 } });
    const key = shop.other.secretKey;
    const yours = await shop.api.request('POST', '/contacts', { key, body: { email } });
    expect(yours.status).toBe(201);
    expect(yours.body.id).not.toBe(mine.id);
    expect(yours.body.data).toBeNull();
  });

  it('makes one contact of 20 requests at once, new for exactly one', async () => {
    const email = newAddress();
    const answers = await Promise.all(Array.from({ length: 20 }, () => upsert({ email })));
    expect(answers.filter(({ status, body }) => status === 201 && body._meta.isNew)).toHaveLength(
      1,
    );
    expect(
      answers.filter(({ status, body }) => status === 200 && body._meta.isUpdate),
    ).toHaveLength(19);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });

  it.each([
    [{ b: { x: 1 } }, { b: { y: 2 } }, { b: { y: 2 } }],
    [{ a: 1 }, { A: 2 }, { a: 1, A: 2 }],
    [{ a: 1 }, { a: null }, null],
    [{ a: 1 }, { b: null }, { a: 1 }],
    [{ a: 1 }, { a: '' }, { a: 1 }],
    [{ a: 1 }, null, { a: 1 }],
    [{ a: 1 }, { a: { value: 2 } }, { a: { value: 2 } }],
    [{ a: 1 }, { a: { value: 2, persistent: false } }, { a: 1 }],
    [{ a: 1 }, { a: { value: 2, persistent: true } }, { a: 2 }],
    [{ a: 1 }, { a: [null, {}] }, { a: [null, {}] }],
    [
      { a: 1, 'b c': 2 },
      { 'b c': null, 'd,"e': false },
      { a: 1, 'd,"e': false },
    ],
  ])('merges into %j the data %j to %j', async (stored, given, merged) => {
    const email = newAddress();
    await upsert({ email, data: stored });
    expect((await upsert({ email, data: given })).body.data).toEqual(merged);
  });

  it('refuses a contact over 500 keys, 64 KB or with a key over 100 characters', async () => {
    const email = newAddress();
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
    for (const data of [
      keys(501),
      { k: 'x'.repeat(65_536) },
      { ['k'.repeat(101)]: 1 },
      { '': 1 },
    ]) {
      expect(refusal(await upsert({ email, data }))).toEqual(invalid('data too_big'));
    }
    expect(await shop.contact(email)).toBeUndefined();
    expect((await upsert({ email, data: keys(500) })).status).toBe(201);
    expect((await upsert({ email, data: { k0: null, new: 1 } })).status).toBe(200);
  });
});

describe('GET /contacts/{id}', () => {
  it('answers another project’s contact like one that does not exist', async () => {
    const { body } = await upsert({ email: newAddress() });
    const strange = await shop.api.request('GET', `/contacts/${body.id}`, {
      key: shop.other.secretKey,
    });
    const id = randomUUID();
    const unknown = await shop.call('GET', `/contacts/${id}`);
    expect(refusal(strange)).toEqual([404, 'CONTACT_NOT_FOUND']);
    expect(refusal(unknown)).toEqual([404, 'CONTACT_NOT_FOUND']);
    expect(unknown.body.error.details).toEqual({ resource: 'contact', id });
  });
});

describe('the subscription of a contact', () => {
  type Write = { email: string; subscribed: boolean | undefined };
  const entries = {
    'POST /v1/send': {
      whenNew: false,
      write: ({ email, ...given }: Write) => shop.send({ to: email, ...given }),
    },
    'POST /v1/track': { whenNew: true, write: (given: Write) => shop.track(given) },
    'POST /contacts': { whenNew: true, write: upsert },
  };

  it.each(Object.entries(entries))('follows the table on %s', async (_name, { whenNew, write }) => {
    for (const [before, given, after, event] of [
      [null, undefined, whenNew, null],
      [null, true, true, null],
      [null, false, false, null],
      [true, undefined, true, null],
      [false, undefined, false, null],
      [true, true, true, null],
      [false, false, false, null],
      [true, false, false, 'contact.unsubscribed'],
      [false, true, true, 'contact.subscribed'],
    ] as const) {
      const email = newAddress();
      if (before !== null) await upsert({ email, subscribed: before });
      expect((await write({ email, subscribed: given })).status).toBeLessThan(300);
      expect((await shop.contact(email))!.subscribed).toBe(after);
      const events = (await shop.eventsOf(email)).filter((row) => row.name !== 'clicked');
      expect(events).toEqual(event === null ? [] : [{ name: event, data: { source: 'api' } }]);
    }
  });
});
