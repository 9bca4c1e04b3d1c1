import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const preview = (given: object, path = '/templates/preview') => shop.call('POST', path, given);
const codes = (warnings: { code: string }[]) => warnings.map(({ code }) => code);

describe('POST /templates/preview', () => {
  it('names an unknown variable, and stores and sends nothing', async () => {
    const counts = () => shop.call('GET', '/emails').then(({ body }) => body.total);
    const before = await counts();
    const { status, body } = await preview({ subject: 'Hi', body: '<p>{{nmae}}</p>' });
    expect([status, body.success]).toEqual([200, true]);
    expect(body.data).toMatchObject({
      subject: 'Hi',
      html: expect.stringContaining('<p></p>'),
      bytes: Buffer.byteLength(body.data.html),
      warnings: [{ code: 'unknown_variable', line: 1, column: 4 }],
    });
    expect(body.data.warnings[0].message).toContain('nmae');
    expect(await counts()).toBe(before);
    expect((await shop.call('GET', '/templates')).body.total).toBe(0);
    expect((await shop.api.request('GET', '/local/mailbox')).body).toEqual([]);
  });

  it('answers broken syntax with the text as written and its line', async () => {
    const { status, body } = await preview({ subject: 'Hi {{name', body: 'a\n{% if %}' });
    expect(status).toBe(200);
    expect(body.data.html).toContain('a\n{% if %}');
    expect(body.data.warnings).toMatchObject([
      { code: 'liquid_syntax', line: 1, column: 4 },
      { code: 'liquid_syntax', line: 2, column: 1 },
    ]);
    expect(body.data.warnings[0].message).toMatch(/^In the subject: /);
  });

  it('ends a template without end, and answers that it is sent plainly', async () => {
    const loop = '{% for i in (1..100000000) %}x{% endfor %}';
    const { body } = await preview({
      subject: 's',
      body: `{{name}}${loop}`,
      data: { name: 'Ada' },
    });
    expect(body.data.html).toContain(`Ada${loop}`);
    expect(codes(body.data.warnings)).toEqual(['liquid_limit']);
  });

  it('reads very many tags in a thread of its own', async () => {
    const large = '{{a}}'.repeat(1_500);
    const { status, body } = await preview({ subject: 's', body: `${large}{{ x | shout }}` });
    expect(status).toBe(200);
    // On a slow machine, the warnings also contain `liquid_limit`.
    expect(codes(body.data.warnings)).toEqual(
      expect.arrayContaining(['unknown_filter', 'unknown_variable', 'unknown_variable']),
    );
  });

  it('does not keep a small preview waiting for large ones of another project', async () => {
    const { api } = shop;
    const other = await api.createProject((await api.signUp()).cookie);
    const large = { subject: 'Hi', body: '{{a}}'.repeat(10_000) };
    let answered = 0;
    const bad = Promise.all(
      Array.from({ length: 20 }, async () => {
        const { status } = await preview(large);
        answered += 1;
        return status;
      }),
    );
    // Too many tags to be parsed at once, and a loop: both need a thread.
    const body = `${'{{name}}'.repeat(1_500)}{% for i in (1..3) %}{{i}}{% endfor %}`;
    const given = { subject: 'Hi', body, data: { name: 'x' } };
    const small = await api.request('POST', '/templates/preview', {
      key: other.secretKey,
      body: given,
    });
    const answeredBefore = answered;
    expect(new Set(await bad)).toEqual(new Set([200]));
    expect(small.status).toBe(200);
    expect(small.body.data.text).toContain('xxx');
    expect(answeredBefore).toBeLessThan(15);
  }, 60_000);

  it('renders the data of a contact of the project, with one-time values over it', async () => {
    const email = newAddress();
    const contact = await shop.call('POST', '/contacts', {
      email,
      data: { name: 'Ada', plan: 'pro' },
    });
    const given = { subject: '{{name}} {{plan}}', body: '{{email}}', contactId: contact.body.id };
    const { body } = await preview({ ...given, data: { plan: 'free' } });
    expect(body.data).toMatchObject({ subject: 'Ada free', warnings: [] });
    expect(body.data.html).toContain(email);
    expect((await shop.contact(email))?.data).toEqual({ name: 'Ada', plan: 'pro' });
  });

  it('takes a contact that does not exist, and makes none', async () => {
    const email = newAddress();
    const contact = { email, data: { name: 'Bo', locale: 'de' } };
    const { body } = await preview({
      subject: '{{name}} {{subscribed}}',
      body: 'x',
      type: 'MARKETING',
      contact,
    });
    expect(body.data.subject).toBe('Bo true');
    expect(body.data.html).toContain('Abmelden');
    expect(body.data.text).toMatch(/Abmelden \(http.*\/unsubscribe\//);
    expect(await shop.contact(email)).toBeUndefined();
  });

  it('refuses an unknown contact, a foreign one, and two at once', async () => {
    const { secretKey: key } = shop.other;
    const body = { email: newAddress() };
    const foreign = await shop.api.request('POST', '/contacts', { key, body });
    for (const contactId of [randomUUID(), foreign.body.id]) {
      expect(refusal(await preview({ subject: 's', body: 'b', contactId }))).toEqual([
        404,
        'CONTACT_NOT_FOUND',
      ]);
    }
    const both = { contactId: randomUUID(), contact: { email: newAddress() } };
    expect(refusal(await preview({ subject: 's', body: 'b', ...both }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'contact not_allowed',
    ]);
  });
});

describe('POST /templates/{id}/preview', () => {
  it('renders the stored template, with and without a contact', async () => {
    const id = await shop.createTemplate({
      subject: 'Hi {{name ?? there}}',
      body: '<img src="https://shop.test/a.png">',
      type: 'HEADLESS',
    });
    const { body } = await preview({}, `/templates/${id}/preview`);
    expect(body.data.subject).toBe('Hi there');
    expect(codes(body.data.warnings)).toEqual(['image_without_alt', 'missing_unsubscribe_link']);
    const contact = { email: newAddress(), data: { name: 'Ada' } };
    const named = await preview({ contact }, `/templates/${id}/preview`);
    expect(named.body.data.subject).toBe('Hi Ada');
  });

  it('answers 404 for a template of another project', async () => {
    const { secretKey: key } = shop.other;
    const id = await shop.createTemplate();
    const foreign = await shop.api.request('POST', `/templates/${id}/preview`, { key, body: {} });
    expect(refusal(foreign)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
  });
});
