import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { openShop } from '../../support/console/shop.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** How much the console loads before a page can be used. */

const browser = await useBrowser();
const api = await useApi();

describe.runIf(browser)('the first load of the console', () => {
  it.each(['/auth/login', ''])('has at most 200 KB of scripts: %s', async (path) => {
    const { page, open } = await openShop(browser!, api, []);
    const sizes: Promise<number>[] = [];
    page.on('response', (response) => {
      if (!response.url().endsWith('.js')) return;
      sizes.push(response.body().then((body) => gzipSync(body).length));
    });
    await open(path);
    await page.waitForLoadState('networkidle');
    const loaded = await Promise.all(sizes);
    expect(loaded.length).toBeGreaterThan(1);
    expect(loaded.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(200 * 1024);
  });
});
