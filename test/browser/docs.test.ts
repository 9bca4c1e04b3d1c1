import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { chromiumPath } from '../support/processes/chromium.ts';

let browser: Browser;
let api: TestApi;

it('finds a Chromium to try the documentation in', (context) => {
  if (!chromiumPath) context.skip('No Chromium is installed: no page is tried in a browser.');
});

describe.runIf(chromiumPath)('the documentation in a browser', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'] });
    api = await startTestApi();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.close();
  });

  it('shows the endpoints and tries one out, within its policy', async () => {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`${api.url}/docs`);
    const operation = page.locator('.opblock', { hasText: '/v1/verify' });
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.getByText('"code": "MISSING_AUTH"').first().waitFor();
    // That the request was refused is told on the console, too.
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  });
});
