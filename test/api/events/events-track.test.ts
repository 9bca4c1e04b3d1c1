import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();

const record = (body: unknown, headers?: Record<string, string>) =>
  shop.call('POST', '/events/track', body, headers);

async function createContact(): Promise<{ id: string; email: string }> {
  const email = newAddress();
  const { body } = await shop.call('POST', '/contacts', { email });
  return { id: body.id as string, email };
}

async function createWorkflow(eventName: string): Promise<string> {
  const { body } = await shop.call('POST', '/workflows', { name: 'On event', eventName });
  await shop.call('POST', `/workflows/${body.id}/steps`, { type: 'EXIT', name: 'End', config: {} });
  const { status } = await shop.call('PATCH', `/workflows/${body.id}`, { enabled: true });
  expect(status).toBe(200);
  return body.id as string;
}

const executionsOf = (workflowId: string) =>
  shop.api.db
    .selectFrom('execution')
    .select(['id', 'contact_id', 'context'])
    .where('workflow_id', '=', workflowId)
    .execute();

describe('POST /events/track with `event`', () => {
  it('does what /v1/track does', async () => {
    const email = newAddress();
    const { status, body } = await record({ email, event: ' ordered ', data: { plan: 'pro' } });
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        data: {
          contact: (await shop.contact(email))?.id,
          event: expect.any(String),
          timestamp: expect.any(String),
        },
      },
    ]);
    expect(await shop.contact(email)).toMatchObject({ subscribed: true, data: { plan: 'pro' } });
    expect(await shop.eventsOf(email)).toEqual([{ name: 'ordered', data: { plan: 'pro' } }]);
  });

  it('is chosen by the key alone, whatever its value', async () => {
    expect(refusal(await record({ event: null, name: 'a' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'email invalid_type',
      'event invalid_type',
    ]);
  });
});

describe('POST /events/track with `name`', () => {
  it('answers 201 with the event and starts the workflow of its name', async () => {
    const workflowId = await createWorkflow('named');
    const contact = await createContact();
    const { status, body } = await record({
      name: 'named',
      contactId: contact.id.toUpperCase(),
      data: { a: 1, once: { value: 2, persistent: false } },
    });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'named',
        data: { a: 1, once: 2 },
        projectId: shop.project.id,
        contactId: contact.id,
        emailId: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ]);
    expect(await executionsOf(workflowId)).toEqual([
      { id: expect.any(String), contact_id: contact.id, context: { a: 1, once: 2 } },
    ]);
    expect(shop.api.dispatched.at(-1)).toMatch(/^execution-/);
    const listed = await shop.call('GET', '/events?eventName=named');
    expect(listed.body.events).toEqual([{ ...body, contact: { email: contact.email } }]);
    expect(await shop.contact(contact.email)).toMatchObject({ data: null });
  });

  it('wakes a wait of the contact', async () => {
    const contact = await createContact();
    const workflowId = await createWorkflow(randomUUID());
    const { body: execution } = await shop.call('POST', `/workflows/${workflowId}/executions`, {
      contactId: contact.id,
    });
    const { db } = shop.api;
    const project = { project_id: shop.project.id };
    const step = await db
      .insertInto('step_execution')
      .values({ ...project, execution_id: execution.id, step_id: randomUUID(), status: 'WAITING' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const wait = { step_execution_id: step.id, execution_id: execution.id };
    await db
      .insertInto('wait')
      .values({ ...project, ...wait, contact_id: contact.id, event_name: 'paid' })
      .execute();
    await record({ name: 'paid', contactId: contact.id });
    expect(shop.api.dispatched.at(-1)).toBe(`execution-${execution.id}`);
  });

  it('only stores an event without a contact', async () => {
    const workflowId = await createWorkflow('of nobody');
    const { status, body } = await record({ name: 'of nobody' });
    expect([status, body.contactId, body.data]).toEqual([201, null, null]);
    expect(await executionsOf(workflowId)).toEqual([]);
  });

  it('keeps the email it names', async () => {
    const email = newAddress();
    const sent = await shop.send({ to: email });
    const emailId = sent.body.data.emails[0].email as string;
    expect((await record({ name: 'read', emailId })).body).toMatchObject({ emailId });
  });

  it('answers 404 for a contact or an email the project does not have', async () => {
    const { key, own } = await foreignRows();
    expect(refusal(await record({ name: 'a', contactId: key.contactId }))).toEqual([
      404,
      'CONTACT_NOT_FOUND',
    ]);
    expect(refusal(await record({ name: 'a', contactId: randomUUID() }))).toEqual([
      404,
      'CONTACT_NOT_FOUND',
    ]);
    const count = async () => (await shop.call('GET', '/events?eventName=a')).body.events.length;
    const before = await count();
    for (const emailId of [key.emailId, randomUUID()]) {
      const answer = await record({ name: 'a', contactId: own.id, emailId });
      expect(refusal(answer)).toEqual([404, 'EMAIL_NOT_FOUND']);
    }
    expect(await count()).toBe(before);
  });

  it.each([
    [{ name: 'email.open' }, 'name reserved_event'],
    [{ name: 'contact.subscribed' }, 'name reserved_event'],
    [{ name: 'segment.vip.entry' }, 'name reserved_event'],
    [{ email: 'a@x.example', event: 'email.open' }, 'event reserved_event'],
    [{}, 'name invalid_type'],
    [[], ' invalid_type'],
    [{ name: ' ' }, 'name too_small'],
    [{ name: 'x'.repeat(101) }, 'name too_big'],
    [{ name: 'a', contactId: 'x' }, 'contactId invalid_string'],
    [{ name: 'a', emailId: 7 }, 'emailId invalid_type'],
    [{ name: 'a', data: [] }, 'data invalid_type'],
    [{ name: 'a', data: { text: 'x'.repeat(65_536) } }, 'data too_big'],
  ])('refuses %j', async (body, fault) => {
    expect(refusal(await record(body))).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('names a reserved name in the fault', async () => {
    const { body } = await record({ name: 'email.open' });
    expect(body.error.errors[0].received).toBe('email.open');
  });

  it('takes no public key, and a session with a project', async () => {
    const { publicKey } = shop.project;
    const body = { name: 'a' };
    const byKey = await shop.api.request('POST', '/events/track', { key: publicKey, body });
    expect(refusal(byKey)).toEqual([401, 'INVALID_API_KEY']);
    const { cookie } = await shop.api.signUp();
    const project = await shop.api.createProject(cookie);
    const headers = { 'X-Project-Id': project.id };
    const bySession = await shop.api.request('POST', '/events/track', { cookie, headers, body });
    expect([bySession.status, bySession.body.projectId]).toEqual([201, project.id]);
  });

  it('records once for one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const [first, again] = [
      await record({ name: 'once' }, headers),
      await record({ name: 'once' }, headers),
    ];
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect((await shop.call('GET', '/events?eventName=once')).body.events).toHaveLength(1);
  });
});

describe('GET /events/contact/{contactId}', () => {
  it('has the order of recording, within one millisecond and after the clock was set back', async () => {
    const { body: contact } = await shop.call('POST', '/contacts', { email: newAddress() });
    const at = (clock: number, micros: number) => ({
      project_id: shop.project.id,
      contact_id: contact.id as string,
      created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, 0, clock)),
      recorded_at: sql<Date>`'2026-01-01 00:00:00Z'::timestamptz + ${micros} * interval '1 us'`,
    });
    await shop.api.db
      .insertInto('event')
      .values([
        { ...at(5, 5_002), name: 'third' },
        { ...at(5, 5_001), name: 'second' },
        { ...at(9, 5_000), name: 'first' },
        { ...at(2, 5_003), name: 'fourth' },
      ])
      .execute();
    const { body } = await shop.call('GET', `/events/contact/${contact.id}?limit=4`);
    expect(body.events.map(({ name }: { name: string }) => name)).toEqual([
      'fourth',
      'third',
      'second',
      'first',
    ]);
    const { body: all } = await shop.call('GET', '/events?limit=1000');
    const names = all.events.map(({ name }: { name: string }) => name);
    expect(names.indexOf('third')).toBe(names.indexOf('second') - 1);
  });

  it('answers the newest events of the contact alone', async () => {
    const [contact, somebody] = [await createContact(), await createContact()];
    for (const n of [1, 2, 3]) {
      await record({ name: 'seen', contactId: contact.id, data: { n } });
    }
    await record({ name: 'seen', contactId: somebody.id });
    const { body } = await shop.call('GET', `/events/contact/${contact.id}?limit=2`);
    expect(body).toEqual({
      events: [3, 2].map((n) => ({
        id: expect.any(String),
        name: 'seen',
        data: { n },
        projectId: shop.project.id,
        contactId: contact.id,
        emailId: null,
        createdAt: expect.any(String),
      })),
    });
  });

  it('answers 50 unless it is asked for more', async () => {
    const { id } = await createContact();
    const events = Array.from({ length: 51 }, () => ({
      project_id: shop.project.id,
      contact_id: id,
      name: 'many',
    }));
    await shop.api.db.insertInto('event').values(events).execute();
    const count = async (query: string) =>
      (await shop.call('GET', `/events/contact/${id}${query}`)).body.events.length;
    expect([await count(''), await count('?limit=1000')]).toEqual([50, 51]);
  });

  it('refuses another project’s contact, a word and a bad limit', async () => {
    const { key, own } = await foreignRows();
    const read = (path: string) => shop.call('GET', `/events/contact/${path}`).then(refusal);
    expect(await read(key.contactId)).toEqual([404, 'CONTACT_NOT_FOUND']);
    expect(await read('x')).toEqual([422, 'VALIDATION_ERROR', 'contactId invalid_string']);
    expect(await read(`${own.id}?limit=1001`)).toEqual([422, 'VALIDATION_ERROR', 'limit too_big']);
  });
});

/** A contact and an email of the other project, and a contact of this one. */
async function foreignRows() {
  const { db } = shop.api;
  const project = { project_id: shop.other.id };
  const contact = await db
    .insertInto('contact')
    .values({ ...project, email: newAddress(), subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  const email = await writeMail(db, (tx) =>
    tx
      .insertInto('email')
      .values({
        ...project,
        contact_id: contact.id,
        to_email: newAddress(),
        subject: 's',
        from_email: 'a@x.example',
        message_class: 'TRANSACTIONAL',
        source_type: 'TRANSACTIONAL',
      })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return { key: { contactId: contact.id, emailId: email.id }, own: await createContact() };
}
