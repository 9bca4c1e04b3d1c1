import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const strict = { Prefer: 'handling=strict' };
const ignored = (answer: { headers: Headers }) => answer.headers.get('everpost-ignored');

describe('an unknown key', () => {
  it('of a body is ignored, and named in the answer', async () => {
    const answer = await shop.send({ to: newAddress(), html: '<p>x</p>', track: true });
    expect([answer.status, ignored(answer)]).toEqual([200, 'html, track']);
    expect(answer.headers.get('preference-applied')).toBeNull();
  });

  it('of a query is, too', async () => {
    expect(ignored(await shop.call('GET', '/emails?to=x&limit=5'))).toBe('to');
    expect(ignored(await shop.call('GET', '/emails?limit=5'))).toBeNull();
    expect(ignored(await shop.call('GET', `/topics-of-nobody?x=1`))).toBeNull();
  });

  it('is refused with Prefer: handling=strict, with the nearest known name', async () => {
    const answer = await shop.send({ to: newAddress(), bdoy: '<p>x</p>', html: 'x' }, strict);
    expect(refusal(answer)).toEqual([
      422,
      'VALIDATION_ERROR',
      'bdoy unknown_field',
      'html unknown_field',
    ]);
    const messages = answer.body.error.errors.map(({ message }: { message: string }) => message);
    // A misspelling, and a name that other services use.
    expect(messages).toEqual([
      expect.stringContaining('"body"'),
      expect.stringContaining('"body"'),
    ]);
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect(ignored(answer)).toBeNull();
    expect(refusal(await shop.call('GET', '/emails?limti=5', undefined, strict))).toEqual([
      422,
      'VALIDATION_ERROR',
      'limti unknown_field',
    ]);
  });

  it('lists all known names where none is similar', async () => {
    const messageOf = async (path: string) => {
      const { body } = await shop.call('GET', path, undefined, strict);
      return body.error.errors[0].message as string;
    };
    expect(await messageOf('/emails?everything=1')).toMatch(/Known fields: .*limit/);
    expect(await messageOf('/events/names?everything=1')).toBe('There is no such field here.');
  });

  it('is named with all other faults of the request', async () => {
    expect(refusal(await shop.send({ to: 'x', html: 'x' }, strict))).toEqual([
      422,
      'VALIDATION_ERROR',
      'html unknown_field',
      'to invalid_string',
    ]);
  });

  it('inside objects and lists is named by its path', async () => {
    const answer = await shop.send({
      to: [newAddress(), { email: newAddress(), nmae: 'Ada' }],
      from: { email: `team@${shop.domain}`, title: 'x' },
      headers: { 'X-Any': 'x' },
      data: { any: { thing: 1 } },
    });
    expect([answer.status, ignored(answer)]).toEqual([200, 'from.title, to.1.nmae']);
  });

  it('inside a step and either form of an event is found', async () => {
    const workflow = await shop.call('POST', '/workflows', { name: 'W' });
    const step = await shop.call('POST', `/workflows/${workflow.body.id}/steps`, {
      type: 'DELAY',
      name: 'D',
      config: { amount: 1, unit: 'days', untis: 1 },
    });
    expect([step.status, ignored(step)]).toEqual([201, 'config.untis']);
    const edit = (body: object, headers = {}) =>
      shop.call('PATCH', `/workflows/${workflow.body.id}/steps/${step.body.id}`, body, headers);
    const config = { amount: 2, unit: 'days', untis: 1 };
    const edited = await edit({ config, nmae: 'x' });
    expect([edited.status, ignored(edited)]).toEqual([200, 'nmae, config.untis']);
    expect(refusal(await edit({ config }, strict))).toEqual([
      422,
      'VALIDATION_ERROR',
      'config.untis unknown_field',
    ]);
    const named = await shop.call('POST', '/events/track', { name: 'e', subscribed: true });
    expect(ignored(named)).toBe('subscribed');
    const tracked = await shop.call('POST', '/events/track', {
      event: 'e',
      email: newAddress(),
      subscribed: true,
      emailId: 'x',
    });
    expect(ignored(tracked)).toBe('emailId');
  });

  it('of a request without a body is named as well', async () => {
    const id = await shop.createTemplate();
    expect(
      ignored(await shop.call('POST', `/templates/${id}/duplicate`, { name: 'x' })),
    ).toBeNull();
    expect(ignored(await shop.call('POST', `/templates/${id}/duplicate`, { nmae: 'x' }))).toBe(
      'nmae',
    );
  });

  it('that is no header text is left out, and ten names are enough', async () => {
    const odd = Object.fromEntries(['a,b', 'é', 'a b', ''].map((key) => [key, 1]));
    expect(ignored(await shop.track({ email: newAddress(), ...odd }))).toBeNull();
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, 1]));
    const answer = await shop.track({ email: newAddress(), ...many });
    expect(ignored(answer)?.split(', ')).toHaveLength(10);
    const refused = await shop.track({ email: newAddress(), ...many }, strict);
    expect(refused.body.error.errors).toHaveLength(30);
  });

  it('is none in a record that is sent back as it was read', async () => {
    const id = await shop.createTemplate();
    const { body: template } = await shop.call('GET', `/templates/${id}`);
    const answer = await shop.call('PATCH', `/templates/${id}`, template, strict);
    expect(answer.status).toBe(200);
    const made = await shop.call('POST', '/campaigns', {
      name: 'C',
      subject: 's',
      body: 'b',
      from: `team@${shop.domain}`,
      audienceType: 'ALL',
      type: 'MARKETING',
    });
    const campaign = made.body.data;
    const saved = await shop.call('PUT', `/campaigns/${campaign.id}`, campaign, strict);
    expect([saved.status, ignored(saved)]).toEqual([200, null]);
    const contact = await shop.call('POST', '/contacts', { email: newAddress(), data: { a: 1 } });
    const path = `/contacts/${contact.body.id}`;
    const { body: record } = await shop.call('GET', path);
    const back = await shop.call('PATCH', path, record, strict);
    expect(back.body).toMatchObject({ id: contact.body.id });
  });

  it('is none in the graph of a workflow that is sent back as it was read', async () => {
    const { body: workflow } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
    const templateId = await shop.createTemplate();
    const step = { type: 'SEND_EMAIL', name: 'Mail', config: {}, templateId };
    await shop.call('POST', `/workflows/${workflow.id}/steps`, step);
    const path = `/workflows/${workflow.id}/graph`;
    const { body: graph } = await shop.call('GET', path);
    expect(graph.steps[1].template).toMatchObject({ id: templateId });
    expect((await shop.call('PUT', path, graph, strict)).status).toBe(200);
  });

  it('is repeated with the response under its key', async () => {
    const key = { 'Idempotency-Key': newAddress() };
    const mail = { to: newAddress(), html: 'x' };
    await shop.send(mail, key);
    const again = await shop.send(mail, key);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(ignored(again)).toBe('html');
  });
});

describe('Prefer', () => {
  it.each([
    ['respond-async, handling=strict', 422],
    ['HANDLING = "Strict"; x=1', 422],
    ['handling=lenient', 200],
    ['handling=lenient, handling=strict', 200],
    ['strict', 200],
  ])('%s answers %i', async (prefer, status) => {
    expect((await shop.call('GET', '/emails?to=x', undefined, { Prefer: prefer })).status).toBe(
      status,
    );
  });

  it('is said to be applied when nothing was refused', async () => {
    const answer = await shop.call('GET', '/emails', undefined, strict);
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([
      200,
      'handling=strict',
    ]);
  });
});

it.each(['cc', 'bcc'])('%s of /v1/send is always refused', async (name) => {
  const to = newAddress();
  expect(refusal(await shop.send({ to, [name]: newAddress() }))).toEqual([
    422,
    'VALIDATION_ERROR',
    `${name} unsupported_field`,
  ]);
  expect(await shop.emailsTo(to)).toEqual([]);
});
