import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const template = {
  subject: 'Hi {{name ?? there}}',
  body: '<p>{{data.plan}} <a href="{{unsubscribeUrl}}">Leave</a></p>',
  type: 'MARKETING',
  from: `The Shop <news@${shop.domain}>`,
};
const test = (given: object, headers = {}) =>
  shop.call('POST', '/templates/test', { email: 'me@people.test', ...template, ...given }, headers);
const mails = () =>
  shop.api.db.selectFrom('system_mail').selectAll().orderBy('created_at', 'desc').execute();

it('sends a template that is not saved, rendered for a contact', async () => {
  const { body: contact } = await shop.call('POST', '/contacts', {
    email: 'ada@people.test',
    data: { name: 'Ada', plan: 'pro' },
  });
  const answer = await test({ contactId: contact.id, replyTo: 'help@people.test' });
  expect([answer.status, answer.body]).toEqual([
    200,
    { success: true, message: 'A test is on its way to me@people.test.' },
  ]);
  const [mail] = await mails();
  expect(mail).toMatchObject({
    to_email: 'me@people.test',
    from_email: `news@${shop.domain}`,
    from_name: 'The Shop',
    reply_to: 'help@people.test',
    subject: '[TEST] Hi Ada',
    message_class: 'MARKETING',
  });
  expect(mail!.html).toContain('<p>pro ');
  expect(shop.api.dispatched.at(-1)).toBe(`campaign-test-${mail!.id}`);
});

it('has opt-out links without an effect', async () => {
  const { body: contact } = await shop.call('POST', '/contacts', { email: 'bo@people.test' });
  await test({ contactId: contact.id });
  const [mail] = await mails();
  expect(mail!.html).toContain('/unsubscribe/');
  expect(mail!.html).not.toContain(contact.id);
});

it('shows a made-up contact and one-time data, and sends what cannot be rendered as it is', async () => {
  await test({ contact: { email: 'x@x.test', data: { name: 'Cy' } }, data: { plan: 'gold' } });
  const [mail] = await mails();
  expect(mail!.subject).toBe('[TEST] Hi Cy');
  expect((await test({ subject: 'Hi {% if %}' })).status).toBe(200);
});

it('refuses what is wrong, all at once', async () => {
  const wrong = await test({ email: 'x', from: 'x', type: 'SPAM', body: '', contactId: 'x' });
  const fields = wrong.body.error.errors.map(({ field }: { field: string }) => field);
  expect([wrong.status, fields.toSorted()]).toEqual([
    422,
    ['body', 'contactId', 'email', 'from', 'type'],
  ]);
  expect(refusal(await test({ contactId: randomUUID() }))).toEqual([404, 'CONTACT_NOT_FOUND']);
  const foreign = await shop.api.request('POST', '/contacts', {
    key: shop.other.secretKey,
    body: { email: 'ada@people.test' },
  });
  expect(refusal(await test({ contactId: foreign.body.id }))).toEqual([404, 'CONTACT_NOT_FOUND']);
  expect(refusal(await test({ from: 'a@strange.test' }))).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
});

it('is refused to a key that must not send from the domain', async () => {
  const named = await insertNamedKey(shop.api.db, shop.project.id, {
    scopes: ['emails:send'],
    domains: ['other.test'],
  });
  const answer = await shop.api.request('POST', '/templates/test', {
    key: named.key,
    body: { email: 'me@people.test', ...template },
  });
  expect(refusal(answer)).toEqual([403, 'KEY_RESTRICTED']);
});

it('goes to members of the project alone where mail leaves the machine', async () => {
  const api = await useApi({
    AWS_SES_REGION: 'eu-west-1',
    AWS_SES_ACCESS_KEY_ID: 'id',
    AWS_SES_SECRET_ACCESS_KEY: 'secret',
  });
  const { cookie, email } = await api.signUp();
  const project = await api.createProject(cookie);
  const domain = { project_id: project.id, name: 'shop.dev', status: 'verified' };
  await api.db
    .insertInto('domain')
    .values({ ...domain, dkim_tokens: ['a', 'b', 'c'] })
    .execute();
  const to = (address: string) =>
    api.request('POST', '/templates/test', {
      key: project.secretKey,
      body: { ...template, email: address, from: 'news@shop.dev' },
    });
  expect(refusal(await to('stranger@people.test'))).toEqual([403, 'TEST_RECIPIENT_NOT_ALLOWED']);
  expect((await to(email)).status).toBe(200);
});
