import { describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

const browser = await useBrowser();
const api = await useApi();

it('finds a Chromium to try the documentation in', (context) => {
  if (!browser) context.skip('No Chromium is installed: no page is tried in a browser.');
});

describe.runIf(browser)('the documentation in a browser', () => {
  it('shows the endpoints and tries one out, within its policy', async () => {
    const page = await browser!.newPage();
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`${api.url}/docs/reference`);
    const operation = page.locator('.opblock', { hasText: '/v1/verify' });
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.getByText('"code": "MISSING_AUTH"').first().waitFor();
    // The browser also logs the 401 response on the console.
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  });
});
