import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

const browser = await useBrowser();
const api = await useApi();

it('finds a Chromium to try the documentation in', (context) => {
  if (!browser) context.skip('No Chromium is installed: no page is tried in a browser.');
});

/** Opens a page. Returns it and its errors. */
async function open(path: string, options: Parameters<typeof openPage>[0] = {}) {
  const page = await openPage(options);
  const faults: string[] = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${api.url}${path}`);
  return { page, faults };
}

const openPage = (options: Parameters<NonNullable<typeof browser>['newPage']>[0]) =>
  browser!.newPage(options);
const background = (page: Page) =>
  page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>;

describe.runIf(browser)('the documentation in a browser', () => {
  it('finds endpoints while the reader types, and leads to them by the keyboard', async () => {
    const { page, faults } = await open('/docs/guides/quick-start');
    await page.keyboard.press('/');
    await page.keyboard.type('rotate key');
    await page.locator('#found a', { hasText: 'regenerate-keys' }).waitFor();
    await page.getByRole('searchbox').fill('POST /v1/send');
    await page.locator('#found a').first().filter({ hasText: 'Send a mail' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/reference/public-api#send');
    await page.getByRole('link', { name: 'Docs', exact: true }).click();
    await page.waitForURL('**/docs');
    expect(faults).toEqual([]);
  });

  it('is dark where the system is, and keeps the choice of the reader', async () => {
    const dark = await open('/docs/guides/campaigns', { colorScheme: 'dark' });
    const light = await open('/docs/guides/campaigns', { colorScheme: 'light' });
    const [darkColor, lightColor] = [await background(dark.page), await background(light.page)];
    expect(darkColor).not.toBe(lightColor);
    await light.page.getByRole('button', { name: 'Light or dark' }).click();
    expect(await background(light.page)).toBe(darkColor);
    await light.page.goto(`${api.url}/docs/reference`);
    expect(await background(light.page)).toBe(darkColor);
    expect([...dark.faults, ...light.faults]).toEqual([]);
  });

  it('copies an example', async () => {
    const { page, faults } = await open('/docs/guides/quick-start', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const block = page.locator('.code').first();
    await block.hover();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toBe(await block.locator('code').textContent());
    expect(faults).toEqual([]);
  });

  it('shows an example in one language at a time, and remembers which', async () => {
    const { page, faults } = await open('/docs/guides/quick-start');
    const python = page.getByText('import json, os');
    expect(await python.isVisible()).toBe(false);
    await page.getByText('Python', { exact: true }).click();
    expect(await python.isVisible()).toBe(true);
    expect(await page.getByText('await fetch(').isVisible()).toBe(false);
    await page.reload();
    await python.waitFor();
    expect(faults).toEqual([]);
  });

  it('fits a phone, with the pages behind a menu', async () => {
    const viewport = { width: 360, height: 780 };
    for (const path of ['/docs', '/docs/data-model', '/docs/reference/workflows']) {
      const { page, faults } = await open(path, { viewport });
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
        path,
        viewport.width,
      ]);
      const nav = page.getByRole('navigation', { name: 'Documentation' });
      expect(await nav.isVisible()).toBe(false);
      await page.getByText('Menu', { exact: true }).click();
      expect(await nav.isVisible()).toBe(true);
      expect(faults).toEqual([]);
    }
  });
});
