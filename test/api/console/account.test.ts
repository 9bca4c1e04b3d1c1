import { expect, it } from 'vitest';
import decodeQR from 'qr/decode.js';
import { type TOTP, URI } from 'otpauth';
import { codeOf, useApi } from '../../support/api.ts';
import { useOidcIssuer } from '../../support/fakes/oidc-issuer.ts';
import { dashboard, providerOf, useOidcApi } from '../../support/fakes/oidc.ts';
import { addAuthenticator } from '../../support/second-factor.ts';
import { sessionSince } from '../../support/sessions.ts';
import { newVisitor, type ShownPage } from '../../support/visitor.ts';

const password = 'a password';
const api = await useApi();
const account = '/console/account';

/** Returns the recovery codes of a page. */
function codesOf({ html }: ShownPage): string[] {
  const [, codes = ''] = /<pre>([^<]+)<\/pre>/.exec(html) ?? [];
  return codes.split(' ');
}

/** Reads the picture of a page as a camera does. */
function readPicture(html: string): string {
  const [, sizeText = ''] = /<svg viewBox="0 0 (\d+) /.exec(html) ?? [];
  const [, path = ''] = /<path d="([^"]+)"/.exec(html) ?? [];
  // Each module is a square, moved from the one before.
  const size = Number(sizeText);
  const scale = 4;
  const width = size * scale;
  const data = new Uint8Array(width * width).fill(255);
  let x = 0;
  let y = 0;
  for (const [, kind, dx = '', dy = ''] of path.matchAll(/([Mm])(-?\d+)[ ,]?(-?\d+)/g)) {
    x = kind === 'M' ? Number(dx) : x + Number(dx);
    y = kind === 'M' ? Number(dy) : y + Number(dy);
    for (let at = 0; at < scale * scale; at += 1) {
      data[(y * scale + Math.floor(at / scale)) * width + x * scale + (at % scale)] = 0;
    }
  }
  const pixels = new Uint8Array(width * width * 4);
  data.forEach((value, at) =>
    pixels.fill(value, at * 4, at * 4 + 3).fill(255, at * 4 + 3, at * 4 + 4),
  );
  return decodeQR({ width, height: width, data: pixels });
}

it('adds an authenticator app by a picture, and shows its recovery codes once', async () => {
  const { cookie, email } = await api.signUp();
  const visitor = newVisitor(api, cookie);
  expect((await visitor.open(account)).html).toContain('a stolen password alone does not let');
  const begun = await visitor.submit(`${account}/factors/app`);
  const uri = readPicture(begun.html);
  const totp = URI.parse(uri) as TOTP;
  expect(totp.label).toBe(email);
  expect(begun.html.replaceAll(' ', '')).toContain(totp.secret.base32);
  const [, confirm = ''] = /action="([^"]+confirm)"/.exec(begun.html) ?? [];
  const wrong = await visitor.submit(confirm, { code: '000000' });
  expect([wrong.status, wrong.html.includes('The code is wrong')]).toEqual([401, true]);
  const right = await visitor.submit(confirm, { code: totp.generate() });
  expect([right.status, right.html.includes('Recovery codes')]).toEqual([200, true]);
  expect(codesOf(right)).toHaveLength(10);
  const { html } = await visitor.open(account);
  expect(html).toContain('Recovery codes left: 10');
  expect(html).toContain('value="Authenticator app"');
  expect((await visitor.submit('/console/log-out')).status).toBe(303);
});

it('renames and removes a factor, and makes new recovery codes', async () => {
  const { cookie } = await api.signUp();
  const app = await addAuthenticator(api, cookie);
  const visitor = newVisitor(api, app.cookie);
  await visitor.open(account);
  const path = `${account}/factors/${app.id}`;
  expect((await visitor.submit(`${path}/rename`, { name: '<My> phone' })).location).toBe(
    `${account}?done=renamed`,
  );
  expect((await visitor.open(account)).html).toContain('value="&lt;My&gt; phone"');
  const empty = await visitor.submit(`${path}/rename`, { name: '' });
  expect([empty.status, empty.html.includes('role="alert"')]).toEqual([422, true]);
  const renewed = await visitor.submit(`${account}/recovery-codes`);
  expect(codesOf(renewed)).toHaveLength(10);
  expect(codesOf(renewed)).not.toContain(app.recoveryCodes[0]);
  await visitor.submit(`${path}/remove`);
  const { html } = await visitor.open(`${account}?done=factorRemoved`);
  expect(html).toContain('The second factor was removed.');
  expect(html).not.toContain('phone');
});

it('lists the sessions with how they began, and ends them', async () => {
  const { cookie, email } = await api.signUp();
  const other = await api.request('POST', '/auth/login', {
    body: { email, password },
    headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0 <b>' },
  });
  const visitor = newVisitor(api, cookie);
  const { html } = await visitor.open(account);
  expect(html).toContain('>Firefox, Linux</span>');
  expect(html).toContain('Firefox/145.0 &lt;b&gt;');
  expect(html).toContain('this session');
  const [, end = ''] = /action="([^"]+\/end)"/.exec(html) ?? [];
  expect((await visitor.submit(end)).location).toBe(`${account}?done=sessionEnded`);
  const ended = other.headers.getSetCookie()[0]!.split(';')[0]!;
  expect(codeOf(await api.request('GET', '/users/@me', { cookie: ended }))[0]).toBe(401);
  const gone = await visitor.submit(end);
  expect(gone.status).toBe(404);
  await api.request('POST', '/auth/login', { body: { email, password } });
  await visitor.open(account);
  await visitor.submit(`${account}/sessions/end-others`);
  expect((await visitor.open(account)).html).not.toContain('End all others');
});

it('changes the password, and says what is wrong with a new one', async () => {
  const { cookie, email } = await api.signUp();
  const visitor = newVisitor(api, cookie);
  await visitor.open(account);
  const change = (currentPassword: string, newPassword: string) =>
    visitor.submit(`${account}/password`, { currentPassword, newPassword });
  expect((await change('not the password', 'correct horse battery')).status).toBe(401);
  const common = await change(password, 'password123');
  expect(common.html).toContain('one of the 10,000 most common passwords');
  const right = await change(password, 'correct horse battery');
  expect(right.location).toBe(`${account}?done=passwordChanged`);
  expect((await visitor.open(right.location!)).html).toContain('The password was changed.');
  const body = { email, password: 'correct horse battery' };
  expect((await api.request('POST', '/auth/login', { body })).status).toBe(200);
});

it('lists the logins and changes of the account', async () => {
  const { cookie, email } = await api.signUp();
  await api.request('POST', '/auth/login', { body: { email, password } });
  const { html } = await newVisitor(api, cookie).open(`${account}/events`);
  expect(html).toContain('<code>login.succeeded</code>');
  expect(html).toContain('method: password');
});

it('links the account to a provider, and unlinks it', async () => {
  const issuer = await useOidcIssuer();
  issuer.user = { sub: 'ada', email: 'ada@corp.example', email_verified: true };
  const oidc = await useOidcApi([providerOf(issuer)]);
  const { cookie } = await oidc.signUp();
  const visitor = newVisitor(oidc, cookie);
  expect((await visitor.open(account)).html).toContain('You sign in by none of them.');
  const begun = await visitor.submit(`${account}/identities`, { provider: 'corp' });
  const [, url = ''] = /class="button" href="([^"]+)"/.exec(begun.html) ?? [];
  const back = issuer.authorize(url.replaceAll('&amp;', '&'));
  const linked = await visitor.open(`${back.pathname}${back.search}`);
  expect(linked.location).toBe(`${dashboard}/auth/linked?provider=corp`);
  const { html } = await visitor.open(account);
  const [, unlink = ''] = /action="([^"]+unlink)"/.exec(html) ?? [];
  expect((await visitor.submit(unlink)).location).toBe(`${account}?done=unlinked`);
});

it('shows nothing without a session', async () => {
  for (const path of [account, `${account}/events`]) {
    const { status, html } = await newVisitor(api).open(path);
    expect([path, status, html.includes('<h1>Log in</h1>')]).toEqual([path, 401, true]);
  }
});

it('asks for a new proof where a login is too old, and leads back', async () => {
  const { userId, email, cookie } = await api.signUp();
  await addAuthenticator(api, cookie);
  const visitor = newVisitor(api, await sessionSince(api, userId, 180));
  await visitor.open(account);
  const refused = await visitor.submit(`${account}/recovery-codes`);
  expect([refused.status, refused.html.includes('This change needs a recent login')]).toEqual([
    403,
    true,
  ]);
  expect(refused.html).toContain(`name="next" value="${account}"`);
  expect(refused.html).toContain('Code of your app, or a recovery code');
  const fields = { email, password, next: account };
  const proved = await visitor.submit('/console/log-in', fields);
  expect([proved.status, proved.html.includes('Code of your app')]).toEqual([200, true]);
});
