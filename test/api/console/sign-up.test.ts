import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { newVisitor } from '../../support/visitor.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: 'noreply@platform.test' });
const password = 'correct horse battery';
let users = 0;

const newEmail = () => `user${(users += 1)}@users.test`;

/** Returns the page to which the newest mail to an address leads. */
async function pageInMail(email: string, page: string): Promise<string> {
  const mails = await api.db
    .selectFrom('system_mail')
    .select('html')
    .where('to_email', '=', email)
    .orderBy('id', 'desc')
    .execute();
  const link = new RegExp(`${api.url}(/console/auth/${page}\\?token=[0-9a-f]{64})`);
  const [path] = mails.flatMap(({ html }) => link.exec(html)?.[1] ?? []);
  if (!path) throw new Error(`No mail to ${email} leads to ${page}.`);
  return path;
}

const linkIn = (page: string) => ({ link: page.split('token=')[1] ?? '' });

async function signUp(email = newEmail()) {
  const visitor = newVisitor(api);
  expect((await visitor.open('/console/auth/login')).html).toContain('/console/auth/signup');
  await visitor.open('/console/auth/signup');
  const made = await visitor.submit('/console/sign-up', { email, password });
  expect([made.status, made.location]).toEqual([303, '/console']);
  return { visitor, email };
}

it('signs up, and verifies the address by the link of the mail', async () => {
  const { visitor, email } = await signUp();
  expect((await visitor.open('/console/account')).html).toContain('Your address is not verified');
  const again = await visitor.submit('/console/account/verification');
  expect(again.location).toBe('/console/account?done=verificationSent');
  const page = await pageInMail(email, 'verify-email');
  const stranger = newVisitor(api);
  await stranger.open(page);
  const refused = await stranger.submit('/console/verify-email', linkIn(page));
  expect([refused.status, refused.html.includes(`name="next" value="${page}"`)]).toEqual([
    401,
    true,
  ]);
  await visitor.open(page);
  const verified = await visitor.submit('/console/verify-email', linkIn(page));
  expect([verified.status, verified.html.includes('<h1>Email verified</h1>')]).toEqual([200, true]);
  const twice = await visitor.submit('/console/verify-email', linkIn(page));
  expect(twice.html).toContain('<h1>This link is no longer valid</h1>');
  const { html } = await visitor.open('/console/account');
  expect(html).not.toContain('Your address is not verified');
});

it('creates the first project, and shows its secret key once', async () => {
  const open = await useApi();
  const { cookie } = await open.signUp();
  const visitor = newVisitor(open, cookie);
  expect((await visitor.open('/console')).html).toContain('Create a project');
  const empty = await visitor.submit('/console/account/projects', { name: ' ' });
  expect([empty.status, empty.html.includes('role="alert"')]).toEqual([422, true]);
  const made = await visitor.submit('/console/account/projects', { name: 'Ada & sons' });
  const [, key = ''] = /<pre>(sk_[^<]+)<\/pre>/.exec(made.html) ?? [];
  expect((await open.request('GET', '/contacts', { key })).status).toBe(200);
  const { html } = await visitor.open('/console');
  expect(html).toContain('<h1>Ada &amp; sons</h1>');
  expect(html).not.toContain(key);
});

it('says what is wrong with a sign-up', async () => {
  const { email } = await signUp();
  const visitor = newVisitor(api);
  await visitor.open('/console/auth/signup');
  const taken = await visitor.submit('/console/sign-up', { email, password });
  expect([taken.status, taken.html.includes('role="alert"')]).toEqual([409, true]);
  const weak = await visitor.submit('/console/sign-up', {
    email: newEmail(),
    password: 'password',
  });
  expect(weak.html).toContain('one of the 10,000 most common passwords');
  const closed = await useApi({ DISABLE_SIGNUPS: 'true' });
  const { html } = await newVisitor(closed).open('/console/auth/signup');
  expect(html).toContain('This server makes no accounts by password');
});

it('chooses a new password by the link of a mail, once', async () => {
  const { email } = await signUp();
  const visitor = newVisitor(api);
  await visitor.open('/console/auth/forgot-password');
  for (const address of [email, newEmail()]) {
    const asked = await visitor.submit('/console/forgot-password', { email: address });
    expect(asked.html).toContain('If the address has an account');
  }
  const page = await pageInMail(email, 'reset-password');
  await visitor.open(page);
  const save = (newPassword: string) =>
    visitor.submit('/console/reset-password', { ...linkIn(page), password: newPassword });
  const weak = await save('password');
  expect([weak.status, weak.html.includes('<h1>New password</h1>')]).toEqual([422, true]);
  expect((await save('an even longer password')).html).toContain('Your password is changed');
  expect((await save('an even longer password')).html).toContain('no longer valid');
  const body = { email, password: 'an even longer password' };
  expect((await api.request('POST', '/auth/login', { body })).status).toBe(200);
});
