import { randomUUID } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../../support/console/axe.ts';
import { consolePath, openConsole } from '../../support/console/open.ts';
import { linkAt, providerOf, useOidcFile } from '../../support/fakes/oidc.ts';
import { useOidcIssuer } from '../../support/fakes/oidc-issuer.ts';
import { useBrowser } from '../../support/processes/chromium.ts';
import { addAuthenticator } from '../../support/second-factor.ts';
import { sessionSince } from '../../support/sessions.ts';

/** The user's own account in a browser. */

const browser = await useBrowser();
const issuer = await useOidcIssuer();
const started = await useApi({
  OIDC_PROVIDERS_FILE: await useOidcFile({ providers: [providerOf(issuer)] }),
  // Browsers accept no IP address as the host of passkeys.
  API_URL: 'http://localhost:{port}',
});
const api = { ...started, url: started.services.config.apiUrl };
const password = 'a password';

describe.runIf(browser)('the account page', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function open(user?: Awaited<ReturnType<typeof api.signUp>>, options = {}) {
    const owner = user ?? (await api.signUp());
    const opened = await openConsole(browser!, api, owner, options);
    await opened.open('/account');
    const region = (name: string) => opened.page.getByRole('region', { name, exact: true });
    return { ...owner, ...opened, region };
  }

  const statusOf = async (cookie: string) =>
    (await api.request('GET', '/users/@me', { cookie })).status;

  const logIn = async (email: string, given = password) =>
    api.request('POST', '/auth/login', { body: { email, password: given } });

  async function addKeys(page: Page): Promise<void> {
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('WebAuthn.enable');
    await devTools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    });
  }

  it('changes the password, which ends the other sessions', async () => {
    const { page, region, email, cookie } = await open();
    const password = region('Password');
    await password.getByLabel('Current password').fill('a wrong password');
    await password.getByLabel('New password').fill('a much better one');
    await password.getByRole('button', { name: 'Save' }).click();
    await password.getByRole('alert').waitFor();
    expect(await password.getByLabel('New password').inputValue()).toBe('a much better one');
    await password.getByLabel('Current password').fill('a password');
    await password.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your password is changed.').waitFor();
    expect(await statusOf(cookie)).toBe(401);
    expect((await logIn(email, 'a much better one')).status).toBe(200);
    await page.reload();
    await region('Logins and changes').getByRole('cell', { name: 'Password: changed' }).waitFor();
  });

  it('accepts and declines invitations', async () => {
    const owner = await api.signUp();
    const guest = await api.signUp();
    const shop = await api.createProject(owner.cookie, 'Shop');
    const bank = await api.createProject(owner.cookie, 'Bank');
    const { config } = api.services;
    config.platformFrom = 'noreply@platform.test';
    for (const { secretKey, id } of [shop, bank]) {
      const invitation = { key: secretKey, body: { email: guest.email } };
      await api.request('POST', `/projects/${id}/members`, invitation);
    }
    config.platformFrom = null;
    const { page, region } = await open(guest);
    const rows = region('Invitations').getByRole('row');
    await rows.filter({ hasText: 'Bank' }).getByRole('button', { name: 'Decline' }).click();
    await page.getByText('You have declined the invitation to Bank.').waitFor();
    expect(await rows.filter({ hasText: 'Bank' }).count()).toBe(0);
    await rows.filter({ hasText: 'Shop' }).getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'Project: Shop' }).waitFor();
  });

  it('ends one session, or all of them', async () => {
    const user = await api.signUp();
    const other = (await logIn(user.email)).headers.getSetCookie()[0]!.split(';')[0]!;
    const { page, region } = await open(user);
    const sessions = region('Sessions');
    await sessions.getByText('This session').waitFor();
    await sessions.getByRole('button', { name: 'End session' }).click();
    await page.getByText('The session has ended.').waitFor();
    expect([await statusOf(other), await statusOf(user.cookie)]).toEqual([401, 200]);
    await sessions.getByRole('button', { name: 'Log out everywhere' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    expect(await statusOf(user.cookie)).toBe(401);
  });

  it('leads to the log-in page when the session has ended, and back again', async () => {
    const user = await api.signUp();
    const { page, region } = await open(user);
    await region('Sessions').getByText('This session').waitFor();
    await api.request('GET', '/auth/logout', { cookie: user.cookie });
    await region('Second factors')
      .getByRole('button', { name: /authenticator/ })
      .click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  });

  it('logs out only this browser from the menu', async () => {
    const user = await api.signUp();
    const other = (await logIn(user.email)).headers.getSetCookie()[0]!.split(';')[0]!;
    const { page } = await open(user);
    await page.getByRole('button', { name: 'Account', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    expect([await statusOf(other), await statusOf(user.cookie)]).toEqual([200, 401]);
  });

  it('deletes the account with the password, once its owner has no project', async () => {
    const user = await api.signUp();
    const shop = await api.createProject(user.cookie, 'Shop');
    const { page, region, ...window } = await open(user);
    const own = region('Delete account');
    await own.getByRole('link', { name: 'Shop' }).waitFor();
    const button = own.getByRole('button', { name: 'Delete account' });
    expect(await button.getAttribute('title')).toContain('You own projects');
    await api.request('DELETE', `/users/@me/projects/${shop.id}`, { cookie: user.cookie });
    await window.open('/account');
    await button.click();
    const dialog = page.getByRole('dialog', { name: 'Delete account?' });
    await dialog.getByLabel('Password').fill('a wrong password');
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    expect((await logIn(user.email)).status).toBe(401);
  });

  it('adds an authenticator app after a recent log-in was proven, and shows codes once', async () => {
    const user = await api.signUp();
    const cookie = await sessionSince(api, user.userId, 121);
    const { page, region } = await open({ ...user, cookie });
    const factors = region('Second factors');
    await factors.getByRole('button', { name: 'Add an authenticator app' }).click();
    const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await proof.getByLabel('Password').fill('a wrong password');
    await proof.getByRole('button', { name: 'Continue' }).click();
    await proof.getByRole('alert').waitFor();
    await proof.getByLabel('Password').fill(password);
    await proof.getByRole('button', { name: 'Continue' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
    const secret = (await dialog.locator('code').innerText()).replaceAll(' ', '');
    await dialog.getByRole('img', { name: 'The secret, for the camera of the app' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dialog
      .getByLabel('Code')
      .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
    expect((await page.locator('pre').innerText()).split('\n')).toHaveLength(10);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await factors.getByText('10 recovery codes left.').waitFor();
    const row = factors.getByRole('row', { name: /Authenticator app/ });
    await row.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Phone');
    await page.getByRole('button', { name: 'Save' }).last().click();
    await factors.getByRole('cell', { name: 'Phone' }).waitFor();
    await factors.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await factors.getByText('None. With one, a stolen password').waitFor();
  });

  it('adds a passkey, which then logs in alone or as the second factor', async () => {
    const user = await api.signUp();
    const { page, region, ...window } = await open(user);
    await addKeys(page);
    await region('Second factors').getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await region('Second factors').getByRole('cell', { name: 'Passkey' }).first().waitFor();
    const logOut = async () => {
      await page.getByRole('button', { name: 'Account', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await page.getByRole('heading', { name: 'Log in' }).waitFor();
    };
    await logOut();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Create a project' }).waitFor();
    await window.open('/account');
    const current = region('Sessions').getByRole('row', { name: /This session/ });
    expect(await current.innerText()).toContain('Passkey');
    await logOut();
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('heading', { name: 'Create a project' }).waitFor();
  });

  it('links an identity provider, and unlinks it', async () => {
    issuer.user = { sub: randomUUID(), email: 'ada@corp.example', email_verified: true };
    const user = await api.signUp();
    await linkAt(api, issuer, user.cookie);
    const { page, region } = await open(user);
    const linked = region('Linked sign-ins');
    await linked.getByRole('row', { name: /Corp/ }).getByRole('button', { name: 'Unlink' }).click();
    await page.getByText('Corp is no longer linked.').waitFor();
    await linked.getByText('None. With a linked provider').waitFor();
    await linked.getByRole('button', { name: 'Link Corp' }).click();
    await page.waitForURL((url) => url.href.startsWith(issuer.url));
    await page.goto(`${api.url}${consolePath}/auth/linked?provider=corp`);
    await page.getByText('Corp is linked to your account.').waitFor();
  });

  it('is where a project that demands a second factor leads', async () => {
    const owner = await api.signUp();
    const guest = await api.signUp();
    const { id, secretKey } = await api.createProject(owner.cookie, 'Shop');
    const { cookie } = await addAuthenticator(api, owner.cookie);
    const invitation = { key: secretKey, body: { email: guest.email } };
    await api.request('POST', `/projects/${id}/members`, invitation);
    const body = { requireSecondFactor: true, rules: [] };
    const policy = `/users/@me/projects/${id}/sign-in-policy`;
    expect((await api.request('PUT', policy, { cookie, body })).status).toBe(200);
    const { page, ...window } = await open(guest);
    await window.open(`/${id}`);
    await page.getByRole('heading', { name: 'A second factor is needed' }).waitFor();
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByText('One of your projects demands a second factor.').waitFor();
    faults.push(...window.faults);
  });

  it.each(looks)('has no fault that axe finds: $name', async (look) => {
    const user = await api.signUp(`a-very-long-address-${randomUUID()}@users.test`);
    await api.createProject(user.cookie, 'A project with quite a long name');
    await logIn(user.email);
    const { cookie } = await addAuthenticator(api, user.cookie);
    const { page, region, faults: seen } = await open({ ...user, cookie }, look.options);
    await region('Second factors')
      .getByRole('cell', { name: 'Authenticator app' })
      .first()
      .waitFor();
    await page.waitForLoadState('networkidle');
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
    faults.push(...seen);
  });
});
