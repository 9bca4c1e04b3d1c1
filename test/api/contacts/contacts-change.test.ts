import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();

const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];

async function create(given: object = {}) {
  const { body } = await shop.call('POST', '/contacts', { email: newAddress(), ...given });
  const { _meta, ...contact } = body;
  return contact as { id: string; email: string; updatedAt: string; data: unknown };
}

const patch = (id: string, body: unknown) => shop.call('PATCH', `/contacts/${id}`, body);

describe('PATCH /contacts/{id}', () => {
  it.each([
    [
      { a: 1, c: 3 },
      { a: null, b: 2 },
      { b: 2, c: 3 },
    ],
    [{ a: 1 }, null, null],
    [null, null, null],
    [{ a: 1 }, { a: null }, null],
    [{ a: 1 }, { a: '' }, { a: 1 }],
    [{ a: 1 }, {}, { a: 1 }],
    [{ a: { x: 1 } }, { a: { y: 1 } }, { a: { y: 1 } }],
    [{ a: 1 }, { a: { value: 2, persistent: false } }, { a: 1 }],
    [{ a: 1 }, { a: { value: 2, persistent: true } }, { a: 2 }],
    [{ a: 1, b: 2 }, { a: { value: null, persistent: true }, email: 'x', id: 7 }, { b: 2 }],
  ])('turns the data %j with %j into %j', async (data, given, expected) => {
    const { id } = await create({ data });
    const { status, body } = await patch(id, { data: given });
    expect([status, body.data]).toEqual([200, expected]);
    expect((await shop.call('GET', `/contacts/${id}`)).body).toEqual(body);
  });

  it.each([
    [{ data: [] }, 'data invalid_type'],
    [{ data: 'x' }, 'data invalid_type'],
    [{ data: { locale: 5 } }, 'data.locale invalid_type'],
    [{ data: { k: 'x'.repeat(70_000) } }, 'data too_big'],
    [{ email: 'bad' }, 'email invalid_string'],
    [{ email: null }, 'email invalid_type'],
    [{ subscribed: null }, 'subscribed invalid_type'],
    [{ subscribed: 'true' }, 'subscribed invalid_type'],
  ])('refuses %j and changes nothing', async (given, fault) => {
    const contact = await create({ data: { a: 1 } });
    expect(refusal(await patch(contact.id, given))).toEqual(invalid(fault));
    expect((await shop.call('GET', `/contacts/${contact.id}`)).body).toEqual(contact);
  });

  it('changes nothing, not even the time, when nothing is new', async () => {
    const contact = await create({ data: { a: { b: 1 } } });
    for (const given of [
      {},
      { email: ` ${contact.email.toUpperCase()}` },
      { subscribed: true },
      { data: { a: { b: 1 }, gone: null } },
      { unknown: 1 },
    ]) {
      const { status, body } = await patch(contact.id, given);
      expect([status, body]).toEqual([200, contact]);
    }
    expect(await shop.eventsOf(contact.email)).toEqual([]);
  });

  it('moves the time with every change, and keeps what is not named', async () => {
    const contact = await create({ data: { a: 1 } });
    let before = contact as { updatedAt: string };
    const email = newAddress();
    for (const given of [{ email }, { subscribed: false }, { data: { b: 2 } }, { data: null }]) {
      const { body } = await patch(contact.id, given);
      expect(body.updatedAt > before.updatedAt).toBe(true);
      before = body;
    }
    expect(before).toEqual({
      ...contact,
      email,
      subscribed: false,
      data: null,
      updatedAt: before.updatedAt,
    });
  });

  it('records one event when the subscription changes', async () => {
    const { id, email } = await create();
    for (const subscribed of [false, false, true, true]) await patch(id, { subscribed });
    expect(await shop.eventsOf(email)).toEqual([
      { name: 'contact.unsubscribed', data: { source: 'api' } },
      { name: 'contact.subscribed', data: { source: 'api' } },
    ]);
  });

  it('starts the workflows of the event', async () => {
    const { body: workflow } = await shop.call('POST', '/workflows', {
      name: 'Goodbye',
      eventName: 'contact.unsubscribed',
    });
    const end = { type: 'EXIT', name: 'End', config: {} };
    await shop.call('POST', `/workflows/${workflow.id}/steps`, end);
    const enabled = await shop.call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
    expect(enabled.status).toBe(200);
    const { id } = await create();
    await patch(id, { subscribed: false });
    const executions = await shop.api.db
      .selectFrom('execution')
      .select('id')
      .where('contact_id', '=', id)
      .execute();
    expect(executions).toHaveLength(1);
    expect(shop.api.dispatched.at(-1)).toBe(`execution-${executions[0]!.id}`);
  });

  it('refuses an address that is in use, and changes nothing', async () => {
    const [taken, contact] = [await create(), await create({ data: { a: 1 } })];
    const given = { email: taken.email.toUpperCase(), subscribed: false, data: { b: 1 } };
    expect(refusal(await patch(contact.id, given))).toEqual([409, 'CONTACT_EXISTS']);
    expect((await shop.call('GET', `/contacts/${contact.id}`)).body).toEqual(contact);
    expect(await shop.eventsOf(contact.email)).toEqual([]);
  });

  it('gives an address to one of many contacts that ask for it at once', async () => {
    const contacts = await Promise.all(Array.from({ length: 8 }, () => create()));
    const email = newAddress();
    const answers = await Promise.all([
      ...contacts.map(({ id }) => patch(id, { email })),
      shop.call('POST', '/contacts', { email }),
    ]);
    const made = answers.pop()!;
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length + (made.status === 201 ? 1 : 0)).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(refusal(answer)).toEqual([409, 'CONTACT_EXISTS']);
    }
  });

  it('refuses contacts that ask for each other’s address at once', async () => {
    const pairs = await Promise.all(
      Array.from({ length: 20 }, () => Promise.all([create(), create()])),
    );
    const answers = await Promise.all(
      pairs.flatMap(([one, other]) => [
        patch(one.id, { email: other.email }),
        patch(other.id, { email: one.email }),
      ]),
    );
    for (const answer of answers) expect(refusal(answer)).toEqual([409, 'CONTACT_EXISTS']);
  });

  it('leaves the address to another project', async () => {
    const { email } = await create();
    const key = shop.other.secretKey;
    const post = { key, body: { email: newAddress() } };
    const { body } = await shop.api.request('POST', '/contacts', post);
    const path = `/contacts/${body.id}`;
    expect((await shop.api.request('PATCH', path, { key, body: { email } })).status).toBe(200);
  });

  it('merges all keys of parallel requests', async () => {
    const { id } = await create();
    const keys = Array.from({ length: 12 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => patch(id, { data: { [key]: key } })));
    const { body } = await shop.call('GET', `/contacts/${id}`);
    expect(body.data).toEqual(Object.fromEntries(keys.map((key) => [key, key])));
  });

  it('answers 404 for a contact that is not there, whatever else is wrong', async () => {
    const { email } = await create();
    const id = randomUUID();
    expect(refusal(await patch(id, {}))).toEqual([404, 'CONTACT_NOT_FOUND']);
    expect(refusal(await patch(id, { email }))).toEqual([404, 'CONTACT_NOT_FOUND']);
  });
});

describe('DELETE /contacts/{id}', () => {
  it('removes the contact with all that is its own; the address is free for a new one', async () => {
    const { id, email } = await create();
    await shop.track({ email });
    await shop.send({ to: email });
    const { body: segment } = await shop.call('POST', '/segments', { name: 'S', type: 'STATIC' });
    await shop.call('POST', `/segments/${segment.id}/members`, { emails: [email] });
    const { status, body } = await shop.call('DELETE', `/contacts/${id}`);
    expect([status, body]).toEqual([204, '']);
    for (const table of ['event', 'email', 'segment_member', 'execution', 'wait'] as const) {
      const rows = await shop.api.db
        .selectFrom(table)
        .selectAll()
        .where('contact_id', '=', id)
        .execute();
      expect([table, rows]).toEqual([table, []]);
    }
    expect(refusal(await shop.call('GET', `/contacts/${id}`))).toEqual([404, 'CONTACT_NOT_FOUND']);
    expect(refusal(await shop.call('DELETE', `/contacts/${id}`))).toEqual([
      404,
      'CONTACT_NOT_FOUND',
    ]);
    const again = await shop.call('POST', '/contacts', { email });
    expect([again.status, again.body.data]).toEqual([201, null]);
    expect(again.body.id).not.toBe(id);
  });

  it('does not read a body, however broken it is', async () => {
    const { id } = await create();
    expect((await shop.call('DELETE', `/contacts/${id}`, '{"a":')).status).toBe(204);
  });

  it('leaves the counters of a campaign as they are', async () => {
    const { id, email } = await create();
    const campaign = await shop.api.db
      .insertInto('campaign')
      .values({
        project_id: shop.project.id,
        name: 'News',
        subject: 'News',
        body: 'News',
        from_email: 'a@x.test',
        audience_type: 'ALL',
        message_class: 'MARKETING',
        status: 'SENT',
        total_recipients: 1,
        sent_count: 1,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    await writeMail(shop.api.db, (tx) =>
      tx
        .insertInto('email')
        .values({
          project_id: shop.project.id,
          contact_id: id,
          campaign_id: campaign.id,
          to_email: email,
          subject: 'News',
          from_email: 'a@x.test',
          message_class: 'MARKETING',
          source_type: 'CAMPAIGN',
          status: 'SENT',
        })
        .execute(),
    );
    await shop.call('DELETE', `/contacts/${id}`);
    const after = await shop.api.db
      .selectFrom('campaign')
      .select(['total_recipients', 'sent_count'])
      .where('id', '=', campaign.id)
      .executeTakeFirst();
    expect(after).toEqual({ total_recipients: 1, sent_count: 1 });
    expect(await shop.emailsTo(email)).toEqual([]);
  });

  it('needs no readable body', async () => {
    const { id } = await create();
    expect((await shop.call('DELETE', `/contacts/${id}`, '{"a":')).status).toBe(204);
  });
});

describe('POST /contacts/lookup', () => {
  const lookUp = (emails: unknown) => shop.call('POST', '/contacts/lookup', { emails });

  it('answers as it was asked: spelling, order, as often', async () => {
    const { email } = await create();
    const loud = ` ${email.toUpperCase()}`;
    const { status, body } = await lookUp(['no@x.test', loud, 'nonsense', email, '', loud]);
    expect(status).toBe(200);
    expect(body).toEqual({
      found: [loud, email, loud],
      notFound: ['no@x.test', 'nonsense', ''],
    });
  });

  it('knows nothing of other projects', async () => {
    const { email } = await create();
    const key = shop.other.secretKey;
    const body = { emails: [email] };
    const answer = await shop.api.request('POST', '/contacts/lookup', { key, body });
    expect(answer.body).toEqual({ found: [], notFound: [email] });
  });

  it('takes 1 to 500 texts', async () => {
    expect(refusal(await lookUp([]))).toEqual(invalid('emails too_small'));
    expect(refusal(await lookUp(Array(501).fill('a@x.test')))).toEqual(invalid('emails too_big'));
    expect(refusal(await lookUp(undefined))).toEqual(invalid('emails invalid_type'));
    expect(refusal(await lookUp(['a@x.test', 5]))).toEqual(invalid('emails.1 invalid_type'));
    expect((await lookUp(Array(500).fill('a@x.test'))).body.notFound).toHaveLength(500);
  });

  it('ignores an Idempotency-Key', async () => {
    const email = newAddress();
    const ask = () =>
      shop.call('POST', '/contacts/lookup', { emails: [email] }, { 'Idempotency-Key': 'same' });
    expect((await ask()).body.found).toEqual([]);
    await create({ email });
    expect((await ask()).body.found).toEqual([email]);
  });
});
