import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { openShop } from '../../support/console/shop.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** Impatient users, and a server that does not answer. */

const browser = await useBrowser();
const api = await useApi();

/** Delays the answers to POST, so that a second press comes before the first answer. */
async function delayAnswers(page: Page): Promise<void> {
  await page.route('**/*', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    const response = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, 600));
    return route.fulfill({ response });
  });
}

describe.runIf(browser)('a button that is pressed twice', () => {
  it('adds one contact', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    await open('contacts');
    await delayAnswers(page);
    await page.getByRole('button', { name: 'Add contact' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add contact' });
    await dialog.getByLabel('Email').fill('ann@shop.test');
    await dialog.getByRole('button', { name: 'Save' }).dblclick();
    await dialog.waitFor({ state: 'detached' });
    expect((await call('GET', '/contacts')).total).toBe(1);
  });

  it('creates one project, also by keyboard', async () => {
    const { page, open, cookie } = await openShop(browser!, api, []);
    await open('/projects/new');
    await delayAnswers(page);
    await page.getByLabel('Name', { exact: true }).fill('Second shop');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    expect((await api.request('GET', '/users/@me/projects', { cookie })).body).toHaveLength(2);
  });

  it('has one effect even if the browser sends the request twice', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    await open('segments/new');
    await page.getByLabel('Name', { exact: true }).fill('Once');
    await page.getByLabel('Type').selectOption('STATIC');
    // Both presses happen before the page can draw the busy button.
    await page.getByRole('button', { name: 'Save' }).evaluate((node) => {
      const button = node as unknown as { click(): void };
      button.click();
      button.click();
    });
    await page.getByRole('heading', { name: 'Once', level: 1 }).waitFor();
    expect(await call('GET', '/segments')).toHaveLength(1);
  });
});

describe.runIf(browser)('while the server is gone', () => {
  it('a form says so, keeps its text, and is not sent again by itself', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    await open('segments/new');
    await page.getByLabel('Name', { exact: true }).fill('Kept');
    await page.getByLabel('Type').selectOption('STATIC');
    let sent = 0;
    await page.route('**/*', (route) => {
      if (route.request().method() === 'POST') sent += 1;
      return route.abort();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('The server does not answer.').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kept');
    await page.unroute('**/*');
    await page.waitForTimeout(3_000);
    expect([sent, await call('GET', '/segments')]).toEqual([1, []]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Kept', level: 1 }).waitFor();
    expect(await call('GET', '/segments')).toHaveLength(1);
  });

  it('a page says so, and goes on by itself when the server answers again', async () => {
    const { page, open } = await openShop(browser!, api, [{ email: 'ann@shop.test' }]);
    await open('contacts');
    await page.getByRole('link', { name: 'ann@shop.test' }).waitFor();
    await page.route('**/*', (route) => route.abort());
    const lost = page.getByText('No connection to the server.');
    await lost.waitFor();
    expect(await page.getByRole('link', { name: 'ann@shop.test' }).isVisible()).toBe(true);
    await page.unroute('**/*');
    await lost.waitFor({ state: 'detached' });
  });
});
