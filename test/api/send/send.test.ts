import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

describe('POST /v1/send', () => {
  it('answers contact and mail of each recipient in the order of `to`', async () => {
    const [ada, bo] = [newAddress(), newAddress()];
    const before = Date.now();
    const { status, body } = await shop.send({ to: [ada, { name: 'Bo', email: bo }] });
    expect(status).toBe(200);
    const [contacts, emails] = [
      [await shop.contact(ada), await shop.contact(bo)],
      [await shop.emailsTo(ada), await shop.emailsTo(bo)].flat(),
    ];
    expect(body).toEqual({
      success: true,
      data: {
        emails: [
          { contact: { id: contacts[0]!.id, email: ada }, email: emails[0]!.id },
          { contact: { id: contacts[1]!.id, email: bo }, email: emails[1]!.id },
        ],
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const age = Date.parse(body.data.timestamp) - before;
    expect(age).toBeGreaterThanOrEqual(0);
    expect(contacts.map((contact) => contact!.data)).toEqual([null, { name: 'Bo' }]);
    expect(emails.map((email) => email.to_name)).toEqual([null, 'Bo']);
  });

  it('puts the mail into the ledger as it will leave, and signals the delivery run of the project', async () => {
    const to = newAddress();
    const { dispatched } = shop.api;
    const handedBefore = dispatched.length;
    await shop.send({
      to,
      subject: 'Hi {{name ?? there}}',
      body: '<p>{{plan}}</p>',
      data: { name: 'Ada', plan: '<b>pro</b>' },
    });
    const [email] = await shop.emailsTo(to);
    expect(email).toMatchObject({
      contact_id: (await shop.contact(to))!.id,
      status: 'PENDING',
      attempts: 0,
      subject: 'Hi Ada',
      body: '<p><b>pro</b></p>',
      headers: [],
      attachments: [],
      from_email: `team@${shop.domain}`,
      from_name: 'My shop',
      reply_to: null,
      message_class: 'TRANSACTIONAL',
      source_type: 'TRANSACTIONAL',
      template_id: null,
      sent_at: null,
      error: null,
    });
    expect(dispatched.slice(handedBefore)).toEqual([`delivery-${shop.project.id}`]);
  });

  it('keeps the mail as it was rendered, whatever becomes of contact and template', async () => {
    const to = newAddress();
    const template = await shop.createTemplate({
      subject: 'For {{name}}',
      body: '<p>{{name}}</p>',
    });
    await shop.send({
      to,
      from: undefined,
      subject: undefined,
      body: undefined,
      template,
      data: { name: 'Ada' },
    });
    await shop.call('PATCH', `/templates/${template}`, { subject: 'New', body: 'New' });
    await shop.call('POST', '/contacts', { email: to, data: { name: 'Eve' } });
    const [email] = await shop.emailsTo(to);
    expect(email).toMatchObject({ subject: 'For Ada', body: '<p>Ada</p>', template_id: template });
  });

  it('takes one address, one object, or a list of both', async () => {
    for (const wrap of [
      (email: string) => email,
      (email: string) => ({ email }),
      (email: string) => ({ name: null, email }),
      (email: string) => [email],
      (email: string) => [{ email: ` ${email.toUpperCase()} ` }],
    ]) {
      const to = newAddress();
      const { body } = await shop.send({ to: wrap(to) });
      expect(body.data.emails).toMatchObject([{ contact: { email: to } }]);
      expect((await shop.contact(to))!.data).toBeNull();
    }
  });

  it('sends no mail when the list is empty', async () => {
    const { status, body } = await shop.send({ to: [] });
    expect([status, body.data.emails]).toEqual([200, []]);
  });

  it('sends a repeated address one mail for each occurrence', async () => {
    const to = newAddress();
    const { body } = await shop.send({ to: [to, to.toUpperCase(), { name: 'Ada', email: to }] });
    const ids = body.data.emails.map(({ email }: { email: string }) => email);
    expect((await shop.emailsTo(to)).map(({ id }) => id)).toEqual(ids);
    expect(new Set(ids).size).toBe(3);
    expect(
      new Set(body.data.emails.map((sent: { contact: { id: string } }) => sent.contact.id)).size,
    ).toBe(1);
  });

  it('makes one contact and 50 mails of 50 requests at once', async () => {
    const to = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => shop.send({ to, data: { [`k${index}`]: index } })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const emails = await shop.emailsTo(to);
    expect(emails).toHaveLength(50);
    const contact = await shop.contact(to);
    expect(new Set(emails.map((email) => email.contact_id))).toEqual(new Set([contact!.id]));
    expect(Object.keys(contact!.data!)).toHaveLength(50);
  });

  it('works with the cookie of a member, too', async () => {
    const { cookie } = await shop.api.signUp();
    const { id } = await shop.api.createProject(cookie);
    const answer = await shop.api.request('POST', '/v1/send', {
      cookie,
      headers: { 'X-Project-Id': id },
      body: { to: newAddress(), from: `team@${shop.domain}`, subject: 's', body: 'b' },
    });
    expect(refusal(answer)).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
  });

  it.each([
    ['a public key', () => ({ key: shop.project.publicKey }), 'INVALID_API_KEY'],
    ['no key', () => ({}), 'MISSING_AUTH'],
    ['Basic', () => ({ headers: { Authorization: 'Basic x' } }), 'MISSING_AUTH'],
  ])('refuses %s with 401', async (_kind, as, code) => {
    const answer = await shop.api.request('POST', '/v1/send', { ...as(), body: {} });
    expect(refusal(answer)).toEqual([401, code]);
  });
});

describe('the contact of a recipient', () => {
  it('is made, unsubscribed, with the data of the request', async () => {
    const to = newAddress();
    expect((await shop.send({ to, data: { plan: 'pro' } })).status).toBe(200);
    expect(await shop.contact(to)).toMatchObject({ subscribed: false, data: { plan: 'pro' } });
    expect(await shop.eventsOf(to)).toEqual([]);
  });

  it('loses what is null, keeps what is empty, and never gets one-time values', async () => {
    const to = newAddress();
    await shop.send({ to, data: { plan: 'pro' } });
    const data = { plan: null, city: '', code: { value: '42', persistent: false } };
    await shop.send({ to, data, body: '{{code}}|{{data.code}}|{{plan}}|{{city}}' });
    expect((await shop.emailsTo(to))[1]!.body).toBe('42|42||');
    expect((await shop.contact(to))!.data).toBeNull();
  });

  it('shows the stored value of a skipped key, and a one-time value before a stored one', async () => {
    const to = newAddress();
    await shop.send({ to, data: { city: 'Wien', code: 'stored' } });
    const data = { city: '', code: { value: 'once', persistent: false } };
    await shop.send({ to, data, body: '{{city}} {{code}}' });
    expect((await shop.emailsTo(to))[1]!.body).toBe('Wien once');
    expect((await shop.contact(to))!.data).toEqual({ city: 'Wien', code: 'stored' });
  });

  it('never stores the names of the system', async () => {
    const to = newAddress();
    const data = {
      id: '1',
      svc_id: '2',
      svc_email: '3',
      email: '4',
      unsubscribeUrl: '5',
      subscribeUrl: '6',
      manageUrl: '7',
      a: 1,
    };
    const body = '{{id}} {{svc_id}} {{email}} {{svc_email}} {{unsubscribeUrl}}';
    await shop.send({ to, data, body });
    const { id, data: stored } = (await shop.contact(to))!;
    expect(stored).toEqual({ a: 1 });
    const [email] = await shop.emailsTo(to);
    const link = `${shop.api.url}/unsubscribe/${id}?e=${email!.id}`;
    expect(email!.body).toBe(`${id} ${id} ${to} ${to} ${link}`);
  });

  it('loses and keeps wrapped nothings like plain ones', async () => {
    const to = newAddress();
    await shop.send({ to, data: { a: 1, b: 2 } });
    const data = { a: { value: null, persistent: true }, b: { value: '', persistent: true } };
    await shop.send({ to, data });
    expect((await shop.contact(to))!.data).toEqual({ b: 2 });
  });

  it('keeps its name when a recipient has none, and takes a new one', async () => {
    const email = newAddress();
    const data = { name: 'from data' };
    await shop.send({ to: { name: 'Bo', email }, data });
    expect((await shop.contact(email))!.data).toEqual({ name: 'Bo' });
    await shop.send({ to: email });
    expect((await shop.contact(email))!.data).toEqual({ name: 'Bo' });
    await shop.send({ to: { name: 'Bob', email } });
    expect((await shop.contact(email))!.data).toEqual({ name: 'Bob' });
  });

  it('changes nothing with data: null', async () => {
    const to = newAddress();
    await shop.send({ to, data: { a: 1 } });
    await shop.send({ to, data: null });
    expect((await shop.contact(to))!.data).toEqual({ a: 1 });
  });

  it('records a change of its subscription once, and never the state it already had', async () => {
    const to = newAddress();
    await shop.send({ to });
    await shop.send({ to, subscribed: true });
    await shop.send({ to, subscribed: true });
    await shop.send({ to });
    expect((await shop.contact(to))!.subscribed).toBe(true);
    const subscribed = { name: 'contact.subscribed', data: { source: 'api' } };
    expect(await shop.eventsOf(to)).toEqual([subscribed]);
    await shop.send({ to, subscribed: false });
    const unsubscribed = { name: 'contact.unsubscribed', data: { source: 'api' } };
    expect(await shop.eventsOf(to)).toEqual([subscribed, unsubscribed]);
  });

  it('holds at most 500 keys, and a refused write changes nothing', async () => {
    const to = newAddress();
    const keys = (from: number) =>
      Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${from + index}`, 1]));
    expect((await shop.send({ to, data: keys(0) })).status).toBe(200);
    const refused = await shop.send({ to, data: keys(300) });
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'data too_big']);
    expect((await shop.contact(to))!.data).toEqual(keys(0));
    expect(await shop.emailsTo(to)).toHaveLength(1);
  });
});

describe('a recipient that is refused', () => {
  const marketing = { from: undefined, subject: undefined, body: undefined };

  it('stops the request; the error names the mails before it', async () => {
    const [first, second, third] = [newAddress(), newAddress(), newAddress()];
    await shop.call('POST', '/contacts', { email: first });
    await shop.call('POST', '/contacts', { email: second, subscribed: false });
    const template = await shop.createTemplate({ type: 'MARKETING' });
    const handedBefore = shop.api.dispatched.length;
    const answer = await shop.send({
      to: [first, second, third],
      template,
      ...marketing,
      data: { a: 1 },
    });
    expect(refusal(answer)).toEqual([400, 'CONTACT_UNSUBSCRIBED']);
    const [sent] = await shop.emailsTo(first);
    const { id, data } = (await shop.contact(second))!;
    expect(answer.body.error.details).toEqual({
      contact: id,
      email: second,
      emails: [{ contact: { id: sent!.contact_id, email: first }, email: sent!.id }],
    });
    expect(data).toBeNull();
    expect(await shop.emailsTo(second)).toEqual([]);
    expect(await shop.contact(third)).toBeUndefined();
    expect(shop.api.dispatched).toHaveLength(handedBefore + 1);
  });

  it('leaves no new contact behind', async () => {
    const to = newAddress();
    const template = await shop.createTemplate({ type: 'MARKETING' });
    const answer = await shop.send({ to, template, ...marketing });
    expect(refusal(answer)).toEqual([400, 'CONTACT_UNSUBSCRIBED']);
    expect(answer.body.error.details.emails).toEqual([]);
    expect(await shop.contact(to)).toBeUndefined();
  });

  it('leaves no change of its subscription behind', async () => {
    const to = newAddress();
    await shop.call('POST', '/contacts', { email: to });
    const template = await shop.createTemplate({ type: 'MARKETING' });
    const answer = await shop.send({ to, template, ...marketing, subscribed: false });
    expect(refusal(answer)).toEqual([400, 'CONTACT_UNSUBSCRIBED']);
    expect((await shop.contact(to))!.subscribed).toBe(true);
    expect(await shop.eventsOf(to)).toEqual([]);
  });

  it('is not one who subscribes with the request', async () => {
    const to = newAddress();
    const template = await shop.createTemplate({ type: 'MARKETING' });
    expect((await shop.send({ to, template, ...marketing, subscribed: true })).status).toBe(200);
    expect((await shop.contact(to))!.subscribed).toBe(true);
  });

  it.each(['HEADLESS', 'TRANSACTIONAL'])('is not one of a %s template', async (type) => {
    const to = newAddress();
    await shop.call('POST', '/contacts', { email: to, subscribed: false });
    const template = await shop.createTemplate({ type });
    expect((await shop.send({ to, template, ...marketing })).status).toBe(200);
    expect(await shop.emailsTo(to)).toMatchObject([{ message_class: type }]);
  });

  it('because of its message size gets none, with 413 MESSAGE_TOO_LARGE', async () => {
    const small = await useShop({ MAX_MESSAGE_SIZE_MB: '1' });
    const to = newAddress();
    const content = Buffer.alloc(800_000).toString('base64');
    const attachments = [{ filename: 'a', content, contentType: 'a/b' }];
    const answer = await small.send({ to, attachments });
    const left = [await small.contact(to), await small.emailsTo(to)];
    const fits = await small.send({
      to,
      attachments: [{ ...attachments[0], content: content.slice(0, 900_000) }],
    });
    expect(refusal(answer)).toEqual([413, 'MESSAGE_TOO_LARGE']);
    expect(left).toEqual([undefined, []]);
    expect(fits.status).toBe(200);
  });
});

describe('the order of refusals', () => {
  it('is schema, template, sender, domain, recipients', async () => {
    const to = newAddress();
    await shop.call('POST', '/contacts', { email: to, subscribed: false });
    const unsigned = await shop.createTemplate({ type: 'MARKETING', from: null });
    const steps: [given: object, expected: unknown[]][] = [
      [
        { template: 'x', from: 5 },
        [422, 'VALIDATION_ERROR', 'template invalid_string', 'from invalid_type'],
      ],
      [{ template: randomUUID(), from: undefined }, [404, 'TEMPLATE_NOT_FOUND']],
      [{ template: unsigned, from: undefined }, [422, 'VALIDATION_ERROR', 'from required']],
      [{ template: unsigned, from: 'a@unknown.test' }, [403, 'DOMAIN_NOT_REGISTERED']],
      [{ template: unsigned, from: `a@${shop.domain}` }, [400, 'CONTACT_UNSUBSCRIBED']],
    ];
    for (const [given, expected] of steps) {
      expect(
        refusal(await shop.send({ to, subject: undefined, body: undefined, ...given })),
      ).toEqual(expected);
    }
  });
});
