import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

/** Sends a mail. Returns its row. */
async function mailOf(given: object) {
  const to = newAddress();
  const answer = await shop.send({ to, ...given });
  expect(answer.body.error).toBeUndefined();
  const [email] = await shop.emailsTo(to);
  return email!;
}

/** A request without its own sender and content. */
const byTemplate = (template: string) => ({
  template,
  from: undefined,
  subject: undefined,
  body: undefined,
});

describe('the sender', () => {
  it('has the address of the request, else of the template', async () => {
    const template = await shop.createTemplate();
    expect(await mailOf(byTemplate(template))).toMatchObject({
      from_email: `template@${shop.domain}`,
    });
    const own = { ...byTemplate(template), from: ` Me@${shop.domain} ` };
    expect(await mailOf(own)).toMatchObject({ from_email: `me@${shop.domain}` });
  });

  it.each([
    ['of the object', { from: { name: 'Object' }, name: 'Text' }, 'Template', 'Object'],
    ['beside the text', { from: 'text', name: 'Text' }, 'Template', 'Text'],
    [
      'beside the object, which is not looked at',
      { from: {}, name: 'Text' },
      'Template',
      'Template',
    ],
    ['of the object that is null', { from: { name: null }, name: 'Text' }, 'Template', 'Template'],
    ['of the object that is empty', { from: { name: '' } }, 'Template', 'Template'],
    ['of the object that is empty', { from: { name: '' } }, null, 'My shop'],
    ['beside the text that is empty', { from: 'text', name: '' }, 'Template', 'Template'],
    ['beside nothing, which is not looked at', { name: 'Text' }, 'Template', 'Template'],
    ['of the template', { from: 'text' }, 'Template', 'Template'],
    ['of the project', { from: 'text' }, null, 'My shop'],
    ['of the project', {}, null, 'My shop'],
  ])(
    'has the name %s',
    async (_where, given: { from?: unknown; name?: string }, fromName, name) => {
      const template = await shop.createTemplate({ fromName });
      const email = `me@${shop.domain}`;
      const { from } = given;
      const sender = typeof from === 'object' ? { ...from, email } : from && email;
      const mail = await mailOf({ ...byTemplate(template), ...given, from: sender });
      expect(mail.from_name).toBe(name);
    },
  );

  it('that is nowhere to be found answers 422 for from', async () => {
    const template = await shop.createTemplate({ from: null });
    const answer = await shop.send({ to: newAddress(), ...byTemplate(template) });
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', 'from required']);
  });

  it('needs a verified domain of this very project', async () => {
    const { api, other } = shop;
    const foreign = `${randomUUID()}.test`;
    await api.request('POST', '/domains', { key: other.secretKey, body: { domain: foreign } });
    const pending = `${randomUUID()}.dev`;
    await shop.call('POST', '/domains', { domain: pending });
    for (const [domain, code] of [
      ['unknown.example', 'DOMAIN_NOT_REGISTERED'],
      [foreign, 'DOMAIN_NOT_REGISTERED'],
      [`mail.${shop.domain}`, 'DOMAIN_NOT_REGISTERED'],
      [shop.domain.slice(shop.domain.indexOf('.') - 3), 'DOMAIN_NOT_REGISTERED'],
      [pending, 'DOMAIN_NOT_VERIFIED'],
    ]) {
      const to = newAddress();
      const answer = await shop.send({ to, from: `me@${domain}` });
      expect(refusal(answer)).toEqual([403, code]);
      expect(answer.body.error.details).toEqual({ domain });
      expect(await shop.contact(to)).toBeUndefined();
    }
  });

  it('of a template is judged when it sends', async () => {
    const template = await shop.createTemplate();
    const sender = { from_email: 'me@gone.example' };
    await shop.api.db.updateTable('template').set(sender).where('id', '=', template).execute();
    const answer = await shop.send({ to: newAddress(), ...byTemplate(template) });
    expect(refusal(answer)).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
  });
});

describe('the answer address', () => {
  it.each([
    ['the field reply', { reply: ' A@x.test', headers: { 'Reply-To': 'b@x.test' } }, 'a@x.test'],
    ['the header Reply-To', { headers: { 'reply-TO': 'b@x.test' } }, 'b@x.test'],
    ['the header with a name', { headers: { 'Reply-To': 'Bo <b@x.test>' } }, '"Bo" <b@x.test>'],
    [
      'the header with two',
      { headers: { 'Reply-To': 'b@x.test, c@x.test' } },
      'b@x.test, c@x.test',
    ],
    ['the template', { headers: { 'Reply-To': 'nobody' } }, 'c@x.test'],
    ['the template', {}, 'c@x.test'],
  ])('comes from %s', async (_where, given, replyTo) => {
    const template = await shop.createTemplate({ replyTo: 'c@x.test' });
    const mail = await mailOf({ ...byTemplate(template), ...given });
    expect([mail.reply_to, mail.headers]).toEqual([replyTo, []]);
  });
});

describe('a template', () => {
  it('gives what the request leaves out', async () => {
    const template = await shop.createTemplate();
    const base = byTemplate(template);
    expect(await mailOf(base)).toMatchObject({
      subject: 'Template subject',
      body: '<p>Template body</p>',
      template_id: template,
    });
    expect(await mailOf({ ...base, subject: 'Own' })).toMatchObject({
      subject: 'Own',
      body: '<p>Template body</p>',
    });
    expect(await mailOf({ ...base, body: 'Own' })).toMatchObject({
      subject: 'Template subject',
      body: 'Own',
    });
  });

  it('that is unknown, or of another project, returns 404 TEMPLATE_NOT_FOUND', async () => {
    const made = await shop.api.request('POST', '/templates', {
      key: shop.other.secretKey,
      body: { name: 'T', subject: 's', body: 'b', type: 'TRANSACTIONAL' },
    });
    for (const id of [randomUUID(), made.body.id as string]) {
      const answer = await shop.send({ to: newAddress(), template: id });
      expect(refusal(answer)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
      expect(answer.body.error.details).toEqual({ resource: 'template', id });
    }
  });
});

describe('the headers of a mail', () => {
  const names = (headers: { name: string }[]) => headers.map(({ name }) => name);

  it('are the custom ones but for those that make the message', async () => {
    const headers = { bcc: 'x@y.test', 'X-B': '1', From: 'a', 'x-everpost-email': 'b', 'X-b': '2' };
    const mail = await mailOf({ headers });
    expect(mail.headers).toEqual([{ name: 'X-b', value: '2' }]);
    expect(await shop.emailsTo('x@y.test')).toEqual([]);
  });

  it('are none for a plain mail', async () => {
    expect((await mailOf({})).headers).toEqual([]);
  });

  it('offer one-click opt-out where the body holds an opt-out link', async () => {
    for (const body of ['{{unsubscribeUrl}}', '{{manageUrl}}']) {
      const mail = await mailOf({ body });
      const link = `${shop.api.url}/unsubscribe/${mail.contact_id}?e=${mail.id}`;
      expect(mail.headers).toEqual([
        { name: 'List-Unsubscribe', value: `<${link}>` },
        { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
      ]);
    }
    expect((await mailOf({ body: '{{subscribeUrl}}' })).headers).toEqual([]);
  });

  it('of marketing say that it is bulk mail', async () => {
    const template = await shop.createTemplate({ type: 'MARKETING' });
    const mail = await mailOf({ ...byTemplate(template), subscribed: true });
    expect(names(mail.headers)).toEqual([
      'List-Unsubscribe',
      'List-Unsubscribe-Post',
      'Precedence',
      'Auto-Submitted',
      'X-Auto-Response-Suppress',
    ]);
    const headers = { 'list-unsubscribe': '<mailto:u@x.test>', PRECEDENCE: 'list' };
    const own = await mailOf({ ...byTemplate(template), subscribed: true, headers });
    expect(own.headers).toEqual([
      { name: 'Auto-Submitted', value: 'auto-generated' },
      { name: 'X-Auto-Response-Suppress', value: 'All' },
      { name: 'list-unsubscribe', value: '<mailto:u@x.test>' },
      { name: 'PRECEDENCE', value: 'list' },
    ]);
  });
});

describe('the footer', () => {
  it.each([
    [{}, 'Unsubscribe'],
    [{ locale: 'de-AT' }, 'abmelden'],
    [{ locale: { value: 'de', persistent: false } }, 'abmelden'],
    [{ locale: 'xx' }, 'Unsubscribe'],
  ])('of a marketing mail with data %j is in its language', async (data, word) => {
    const template = await shop.createTemplate({ type: 'MARKETING' });
    const mail = await mailOf({ ...byTemplate(template), subscribed: true, data });
    const link = `${shop.api.url}/unsubscribe/${mail.contact_id}?e=${mail.id}`;
    expect(mail.body).toMatch(/^<p>Template body<\/p>/);
    expect(mail.body).toContain(link);
    expect(mail.body!.toLowerCase()).toContain(word.toLowerCase());
  });

  it.each(['TRANSACTIONAL', 'HEADLESS'])('is not in a %s mail', async (type) => {
    const template = await shop.createTemplate({ type });
    const mail = await mailOf({ ...byTemplate(template), subscribed: true });
    expect([mail.body, mail.headers]).toEqual(['<p>Template body</p>', []]);
  });
});

describe('a placeholder', () => {
  const once = (value: unknown) => ({ value, persistent: false });
  const condition = '{% if plan == "pro" %}A{% else %}B{% endif %}';

  it.each([
    ['{{name ?? there}}', {}, 'there'],
    ['{{name ?? there}}', { name: once('') }, 'there'],
    ['{{name ?? there}}', { name: 'Ada' }, 'Ada'],
    ['{{name ?? there}}', { name: 0 }, '0'],
    ['{{name ?? "dear friend"}}', {}, 'dear friend'],
    [condition, { plan: once('pro') }, 'A'],
    [condition, {}, 'B'],
  ])('%s with data %j is %s, in body and subject', async (template, data, text) => {
    const mail = await mailOf({ subject: template, body: template, data });
    expect([mail.subject, mail.body]).toEqual([text, text]);
  });

  it('of the contact itself is never what the data say', async () => {
    const body = '{{id}} {{svc_id}} {{email}} {{svc_email}}';
    const word = { value: 'x', persistent: false };
    const data = { id: word, svc_id: word, email: word, svc_email: word };
    const { contact_id: id, to_email: email, ...mail } = await mailOf({ body, data });
    expect(mail.body).toBe(`${id} ${id} ${email} ${email}`);
  });

  it('of a list is list items in the body, and has commas in the subject', async () => {
    const data = { tags: ['a', 'b'] };
    const mail = await mailOf({ subject: '{{tags}}', body: '{{tags}}', data });
    expect([mail.subject, mail.body]).toEqual(['a, b', '<li>a</li>\n<li>b</li>']);
  });
});

describe('where a value comes from', () => {
  it('decides whether it is escaped: given ones are not, stored ones are', async () => {
    const to = newAddress();
    await shop.track({ email: to, data: { o: { a: '<b>' } } });
    await shop.send({ to, body: '{{o}}' });
    await shop.send({ to, body: '{{o}}', data: { o: { a: '<b>' } } });
    const bodies = (await shop.emailsTo(to)).map(({ body }) => body);
    expect(bodies).toEqual(['{"a":"&lt;b&gt;"}', '{"a":"<b>"}']);
  });

  it('never puts a second line into the subject', async () => {
    const mail = await mailOf({ subject: 'Hi {{x}}', data: { x: 'A\r\nBcc: x@y.z' } });
    expect(mail.subject).toBe('Hi A Bcc: x@y.z');
  });
});

describe('the name of a file', () => {
  it('is kept as it is sent: cleaned', async () => {
    const file = { filename: '../in\u202evoice\u0007.pdf', content: 'aGk', contentType: 'a/b' };
    const to = newAddress();
    await shop.send({ to, attachments: [file] });
    const [mail] = await shop.emailsTo(to);
    const { body } = await shop.call('GET', `/emails/${mail!.id}`);
    expect(body.attachments).toMatchObject([{ filename: 'invoice.pdf', bytes: 2 }]);
  });

  it('and headers of mail servers are not a sender’s to write', async () => {
    const headers = { 'Resent-From': 'a@b.test', 'Content-Language': 'de', 'X-Mine': '1' };
    const mail = await mailOf({ headers });
    expect(mail.headers).toEqual([{ name: 'X-Mine', value: '1' }]);
  });
});
