import { randomInt, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { issueLink } from '../../../api/accounts/factors/break-glass.ts';
import { createOAuth } from '../../../providers/login/oauth.ts';
import { useApi } from '../../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../../support/console/axe.ts';
import { consolePath, openConsole } from '../../support/console/open.ts';
import { useFakeOAuth } from '../../support/fakes/oauth.ts';
import { useBrowser } from '../../support/processes/chromium.ts';
import { addAuthenticator } from '../../support/second-factor.ts';

/** Logging in, and the pages to which links in account mail lead, in a browser. */

const browser = await useBrowser();
const fake = await useFakeOAuth();
const { id, secret } = fake.client;
const api = await useApi({
  PLATFORM_FROM_ADDRESS: 'noreply@platform.test',
  GITHUB_OAUTH_CLIENT: id,
  GITHUB_OAUTH_SECRET: secret,
});
api.services.oauth = createOAuth(api.services.config.oauth, fake);

/** Returns the path below the console to which the mail to an address leads for a page. */
async function linkTo(page: string, email: string): Promise<string> {
  const { rows } = await sql<{ html: string }>`select html from system_mail
    where to_email = ${email} and html like ${`%/auth/${page}?token=%`}`.execute(api.db);
  const [, path] = /href="[^"]*(\/auth\/[^"]+)"/.exec(rows[0]!.html)!;
  return path!;
}

describe.runIf(browser)('logging in', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function open(path: string, { cookie = 'none=none', email = '' } = {}, options = {}) {
    const user = await openConsole(browser!, api, { email, cookie }, options);
    await user.open(path);
    const logIn = async (password: string, address = email) => {
      await user.page.getByLabel('Email').fill(address);
      await user.page.getByLabel('Password').fill(password);
      await user.page.getByRole('button', { name: 'Log in', exact: true }).click();
    };
    const heading = (name: string) => user.page.getByRole('heading', { level: 1, name });
    return { ...user, logIn, heading };
  }

  it('works again by the link of a mail, for who forgot the password', async () => {
    const { email } = await api.signUp();
    const { page, heading, logIn } = await open('/auth/login');
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await heading('Forgot password').waitFor();
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText('a mail with a link is on its way').waitFor();
    const link = await linkTo('reset-password', email);
    await page.goto(`${api.url}${consolePath}${link}`);
    await page.getByLabel('New password').fill('password');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('input[aria-invalid="true"]').waitFor();
    await page.getByLabel('New password').fill('a much better one');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your password is changed').waitFor();
    await page.getByRole('link', { name: 'Log in' }).click();
    await logIn('a much better one', email);
    await heading('Create a project').waitFor();
    await page.goto(`${api.url}${consolePath}${link}`);
    await page.getByLabel('New password').fill('yet another password');
    await page.getByRole('button', { name: 'Save' }).click();
    await heading('This link is no longer valid').waitFor();
  });

  it('comes before the link that verifies an address, which works once', async () => {
    const { email } = await api.signUp();
    const link = await linkTo('verify-email', email);
    const { page, heading, logIn } = await open(link);
    await heading('Log in').waitFor();
    await logIn('a password', email);
    await heading('Email verified').waitFor();
    await page.reload();
    await heading('This link is no longer valid').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Your address is verified already.').waitFor();
  });

  it('lets an address be verified only by the account that got the mail', async () => {
    const ann = await api.signUp();
    const bob = await api.signUp();
    const { page, heading } = await open(await linkTo('verify-email', ann.email), bob);
    await heading('This link is for another account').waitFor();
    expect(await page.getByText(`You are logged in as ${bob.email}`).isVisible()).toBe(true);
    await page.goto(`${api.url}${consolePath}/projects/new`);
    await page.getByText('Your address is not verified yet.').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('The mail is on its way.').waitFor();
  });

  it('offers the ways that the server has, and leads to the page that was asked for', async () => {
    fake.user = {
      id: `${randomInt(2 ** 40)}`,
      email: `${randomUUID()}@users.test`,
      verified: true,
    };
    const { page, heading } = await open('/account');
    await heading('Log in').waitFor();
    await page.getByRole('link', { name: 'Continue with GitHub' }).waitFor();
    expect(await page.getByRole('link', { name: 'Continue with Google' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Continue with GitHub' }).click();
    await heading('Account').waitFor();
    expect(await page.getByText(fake.user.email).count()).toBeGreaterThan(0);
  });

  it('offers no passkey where the browser knows none', async () => {
    const { page, ...window } = await open('/auth/login');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await page.addInitScript('delete globalThis.PublicKeyCredential');
    await window.open('/auth/login');
    await page.getByRole('link', { name: 'Continue with GitHub' }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
  });

  it('says in a sentence why another site did not sign in', async () => {
    const { page } = await open('/auth/login?error=signups_disabled');
    await page.getByRole('alert').getByText('This server makes no new accounts.').waitFor();
  });

  it('asks for the second factor, and begins again after five wrong codes', async () => {
    const user = await api.signUp();
    const { code, recoveryCodes } = await addAuthenticator(api, user.cookie);
    const { page, heading, logIn } = await open('/account', { email: user.email });
    const send = async (text: string) => {
      await page.getByLabel('Code of your app, or a recovery code').fill(text);
      await page.getByRole('button', { name: 'Continue', exact: true }).click();
    };
    await heading('Log in').waitFor();
    await logIn('a password');
    await heading('Second factor').waitFor();
    expect(await page.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0);
    const wrong = code() === '000000' ? '000001' : '000000';
    for (let tries = 1; tries <= 5; tries += 1) {
      const answered = page.waitForResponse('**/auth/second-factor');
      await send(wrong);
      await answered;
    }
    await send(wrong);
    await heading('Log in').waitFor();
    await page.getByRole('alert').getByText('The sign-in took too long').waitFor();
    await logIn('a password');
    await heading('Second factor').waitFor();
    await send(recoveryCodes[0]!.toUpperCase());
    await heading('Account').waitFor();
  });

  it('works by a link of the operator, once and only after a click', async () => {
    const user = await api.signUp();
    const { services } = api;
    const made = await issueLink(api.db, services.config, user.email, { removeFactors: false });
    const path = made!.slice(made!.indexOf('/auth/'));
    const { page, heading } = await open(path);
    await heading('Log in by a link').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await heading('Account').waitFor();
    expect(await page.getByRole('cell', { name: 'Link of the operator' }).count()).toBe(1);
    await page.goto(`${api.url}${consolePath}${path}`);
    await page.getByRole('button', { name: 'Log in' }).click();
    await heading('This link is no longer valid').waitFor();
  });

  it.each(looks)('has no fault that axe finds: $name', async (look) => {
    const user = await api.signUp();
    const paths = [
      '/auth/login?error=oauth_failed',
      '/auth/forgot-password',
      '/auth/reset-password?token=x',
      '/auth/second-factor',
      '/auth/break-glass?token=x',
      '/auth/linked?provider=corp',
      '/auth/linked?error=identity_taken',
      '/projects/new',
    ];
    const { page, ...window } = await open(paths[0]!, user, look.options);
    for (const path of paths) {
      await window.open(path);
      await page.waitForLoadState('networkidle');
      expect([path, await axeFindings(page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(page)]).toEqual([path, false]);
    }
    faults.push(...window.faults);
  });
});
