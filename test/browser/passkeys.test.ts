import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Passkeys of the virtual authenticator that Chromium has for tests. */

const browser = await useBrowser();
// Browsers accept no IP address as the host of passkeys.
const origin = 'http://localhost:{port}';
const api = await useApi({ API_URL: origin, DASHBOARD_URL: `${origin}/console` });
const { apiUrl } = api.services.config;
const password = 'a password';

/** Opens the log-in page in a new browser with an authenticator. Every violation of a policy is a fault. */
async function openBrowser(): Promise<{ page: Page; faults: string[] }> {
  const context = await browser!.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) faults.push(message.text());
  });
  const devTools = await context.newCDPSession(page);
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
  await page.goto(`${apiUrl}/console/auth/login`);
  return { page, faults };
}

async function logIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

it('finds a Chromium to use passkeys in', (context) => {
  if (!browser) context.skip('No Chromium is installed: no passkey is used in a browser.');
});

describe.runIf(browser)('a passkey in a browser', () => {
  it('is added on the account page, and then signs in alone', async () => {
    const { email } = await api.signUp();
    const { page, faults } = await openBrowser();
    await logIn(page, email);
    await page.goto(`${apiUrl}/console/account`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
    const codes = (await page.locator('pre').innerText()).split('\n');
    expect(codes).toHaveLength(10);
    await page.getByRole('link', { name: 'I have kept them' }).click();
    await page.getByRole('cell', { name: 'Passkey' }).first().waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'No project yet' }).waitFor();
    await page.goto(`${apiUrl}/console/account`);
    expect(await page.getByRole('row', { name: 'This session' }).innerText()).toContain('Passkey');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('is the second factor of a login by password', async () => {
    const { email } = await api.signUp();
    const { page } = await openBrowser();
    await logIn(page, email);
    await page.goto(`${apiUrl}/console/account`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
    await page.getByRole('link', { name: 'I have kept them' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await logIn(page, email);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('heading', { name: 'No project yet' }).waitFor();
    await page.context().close();
  });

  it('is hidden where the browser knows no passkeys', async () => {
    const context = await browser!.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${apiUrl}/console/auth/login`);
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    await context.close();
  });
});
