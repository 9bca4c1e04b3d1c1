import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { recordStatements } from '../../support/statements.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();

interface Result {
  success: boolean;
  data?: { emails: { email: string; contact: { email: string } }[] };
  error?: { code: string; statusCode: number; errors?: { field: string }[] };
}

const message = (to: unknown, given: object = {}) => ({
  to,
  from: `team@${shop.domain}`,
  subject: 'Hello {{name ?? there}}',
  body: '<p>Hello</p>',
  ...given,
});

const batch = (body: object, headers: Record<string, string> = {}) =>
  shop.call('POST', '/v1/send/batch', body, headers);

/** Counts the mails of the project to the addresses. */
async function mailsTo(...addresses: string[]): Promise<number> {
  const rows = await shop.api.db
    .selectFrom('email')
    .select('id')
    .where('project_id', '=', shop.project.id)
    .where('to_email', 'in', addresses)
    .execute();
  return rows.length;
}

async function contactsWith(...addresses: string[]): Promise<number> {
  const rows = await shop.api.db
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', shop.project.id)
    .where('email', 'in', addresses)
    .execute();
  return rows.length;
}

describe('POST /v1/send/batch', () => {
  it.each([true, false])('reads once what its messages share (atomic: %s)', async (atomic) => {
    const { body: template } = await shop.call('POST', '/templates', {
      name: 'Code',
      type: 'TRANSACTIONAL',
      from: `team@${shop.domain}`,
      subject: 'Code',
      body: '<p>{{code}}</p>',
    });
    const statements = recordStatements();
    const to = [newAddress(), newAddress(), newAddress()];
    const messages = to.map((email) => ({ to: email, template: template.id }));
    expect((await batch({ messages, atomic })).body.data).toMatchObject({ accepted: 3 });
    const asked = statements.take().map(({ text }) => text);
    for (const table of ['template', 'domain']) {
      expect(asked.filter((text) => text.includes(`from "${table}"`))).toHaveLength(1);
    }
    expect(await mailsTo(...to)).toBe(3);
  });

  it('accepts each message for itself, and says in order what became of it', async () => {
    const [one, two, three] = [newAddress(), newAddress(), newAddress()];
    const { status, body } = await batch({
      messages: [message(one), message('bad'), message([two, three]), null],
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ accepted: 2, refused: 2 });
    const results = body.data.results as Result[];
    expect(results.map(({ success }) => success)).toEqual([true, false, true, false]);
    expect(results[0]!.data!.emails.map(({ contact }) => contact.email)).toEqual([one]);
    expect(results[2]!.data!.emails.map(({ contact }) => contact.email)).toEqual([two, three]);
    expect(results[1]!.error).toMatchObject({ code: 'VALIDATION_ERROR', statusCode: 422 });
    expect(results[1]!.error!.errors![0]!.field).toBe('to');
    expect(await mailsTo(one, two, three)).toBe(3);
  });

  it('returns for each what /v1/send would return', async () => {
    const messages = [
      message(newAddress(), { template: randomUUID() }),
      message(newAddress(), { from: 'team@not-ours.example' }),
      message(newAddress(), { cc: newAddress() }),
      message(newAddress(), { scheduledFor: '2020-01-01T00:00:00Z' }),
    ];
    const alone = await Promise.all(messages.map((one) => shop.call('POST', '/v1/send', one)));
    const { body } = await batch({ messages });
    expect(body.data.results.map(({ error }: Result) => [error!.statusCode, error!.code])).toEqual(
      alone.map(({ status, body: refused }) => [status, refused.error.code]),
    );
  });

  it('lets a later message see what an earlier one has written', async () => {
    const to = newAddress();
    const { body } = await batch({
      messages: [message(to, { data: { name: 'Ada' } }), message(to)],
    });
    const ids = body.data.results.map(({ data }: Result) => data!.emails[0]!.email);
    const { body: second } = await shop.call('GET', `/emails/${ids[1]}`);
    expect(second.subject).toBe('Hello Ada');
  });

  it('schedules each message for itself', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { body } = await batch({
      messages: [message(newAddress(), { scheduledFor: at }), message(newAddress())],
    });
    expect(body.data.results.map(({ data }: { data: object }) => 'scheduledFor' in data)).toEqual([
      true,
      false,
    ]);
  });

  it('is answered again under its key, with its refusals, and sends nothing twice', async () => {
    const [one, two] = [newAddress(), newAddress()];
    const body = { messages: [message(one), message('bad'), message(two)] };
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await batch(body, key);
    const second = await batch(body, key);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect(await mailsTo(one, two)).toBe(2);
  });

  it('goes on behind what a request that died has accepted', async () => {
    const [one, two, three] = [newAddress(), newAddress(), newAddress()];
    const body = { messages: [message([one, two]), message('bad'), message(three)] };
    const key = randomUUID();
    const first = await batch(body, { 'Idempotency-Key': key });
    // Simulates a process that died after the first message, before its response.
    await shop.api.db
      .updateTable('idempotency')
      .set({ status_code: null, response: null, interrupted: true })
      .where('key', '=', key)
      .execute();
    const third = first.body.data.results[2].data.emails[0].email as string;
    await writeMail(shop.api.db, (tx) => tx.deleteFrom('email').where('id', '=', third).execute());
    await shop.api.db
      .deleteFrom('idempotency_email')
      .where('key', '=', key)
      .where('email_id', '=', third)
      .execute();
    const again = await batch(body, { 'Idempotency-Key': key });
    expect(again.body.data.results[0].data.emails).toEqual(first.body.data.results[0].data.emails);
    expect(again.body.data).toMatchObject({ accepted: 2, refused: 1 });
    expect(await mailsTo(one, two, three)).toBe(3);
  });

  it.each([
    ['no list', { messages: 'x' }],
    ['none', { messages: [] }],
    ['501', { messages: Array.from({ length: 501 }, () => message('a@b.example')) }],
    [
      'more than 1,000 recipients',
      {
        messages: [
          message(Array(501).fill('a@b.example')),
          message(Array(500).fill('a@b.example')),
        ],
      },
    ],
  ])('refuses %s as a whole', async (_, body) => {
    const { status, body: refused } = await batch(body);
    expect([status, refused.error.errors[0].field]).toEqual([422, 'messages']);
  });

  it('refuses unknown keys of any message where the request is strict', async () => {
    const messages = [message(newAddress()), message(newAddress(), { bdoy: 'x' })];
    const strict = await batch({ messages }, { Prefer: 'handling=strict' });
    expect(strict.body.error.errors[0].field).toBe('messages.1.bdoy');
    const { headers } = await batch({ messages });
    expect(headers.get('everpost-ignored')).toBe('messages.1.bdoy');
  });
});

describe('an atomic batch', () => {
  it('accepts all', async () => {
    const [one, two] = [newAddress(), newAddress()];
    const { status, body } = await batch({
      atomic: true,
      messages: [message(one), message(two, { body: '<p>{% for i in (1..9) %}x{% endfor %}</p>' })],
    });
    expect([status, body.data.accepted, body.data.refused]).toEqual([200, 2, 0]);
    expect(await mailsTo(one, two)).toBe(2);
  });

  it('is refused by its first bad message, and leaves nothing behind', async () => {
    const [one, two] = [newAddress(), newAddress()];
    const bad = await batch({
      atomic: true,
      messages: [message(one), message('bad'), message(two)],
    });
    expect([bad.status, bad.body.error.errors[0].field]).toEqual([422, 'messages.1.to']);
    expect(bad.body.error.details).toEqual({ index: 1 });
    const none = await batch({ atomic: true, messages: [message(one), 7] });
    expect(none.body.error.errors[0].field).toBe('messages.1');
    const unknown = await batch({
      atomic: true,
      messages: [message(one), message(two, { template: randomUUID() })],
    });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    expect(unknown.body.error.details).toMatchObject({ index: 1 });
    expect(unknown.body.error.details).not.toHaveProperty('emails');
    expect([await mailsTo(one, two), await contactsWith(one, two)]).toEqual([0, 0]);
  });

  it('stores its answer with its mails', async () => {
    const to = newAddress();
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await batch({ atomic: true, messages: [message(to)] }, key);
    const second = await batch({ atomic: true, messages: [message(to)] }, key);
    expect([second.headers.get('idempotency-replayed'), second.body]).toEqual(['true', first.body]);
    expect(await mailsTo(to)).toBe(1);
  });

  it('writes to the same contacts as others do at the same time', async () => {
    const addresses = Array.from({ length: 12 }, newAddress);
    const turned = addresses.toReversed();
    const sent = await Promise.all(
      [addresses, turned, addresses, turned].map((order) =>
        batch({ atomic: true, messages: order.map((to) => message(to)) }),
      ),
    );
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await mailsTo(...addresses)).toBe(48);
  });
});
