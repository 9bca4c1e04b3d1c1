import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { openShop } from '../../support/console/shop.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** How often an open page asks the API. The clock of the page is moved forward. */

const browser = await useBrowser();
const api = await useApi();

/** Moves the clock of the page forward, in steps in which answers can arrive. */
async function passSeconds(page: Page, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    await page.clock.runFor(1_000);
    await page.waitForTimeout(10);
  }
}

/** Makes the page believe that its window is hidden, or shown again. */
async function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${state === 'hidden'} });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  `);
}

/** Opens a page of a shop in which nothing happens. */
async function openAtRest(path: string) {
  const shop = await openShop(browser!, api, [{ email: 'ann@shop.test' }]);
  const domain = `${shop.projectId}.test`;
  await shop.call('POST', '/domains', { domain, projectId: shop.projectId });
  const { data } = await shop.call('POST', '/campaigns', {
    name: 'Spring sale',
    subject: 'Sale',
    body: '<p>Sale</p>',
    from: `team@${domain}`,
    audienceType: 'ALL',
  });
  const workflow = await shop.call('POST', '/workflows', { name: 'Orders', eventName: 'ordered' });
  const [contact] = (await shop.call('GET', '/contacts')).data;
  const ids: Record<string, string> = {
    campaign: data.id,
    workflow: workflow.id,
    contact: contact.id,
  };
  await shop.page.clock.install();
  await shop.open(path.replace(/\{(\w+)\}/, (_, name: string) => ids[name]!));
  await shop.page.waitForLoadState('networkidle');
  let requests: string[] = [];
  shop.page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  const during = async (work: () => Promise<unknown>) => {
    requests = [];
    await work();
    return requests;
  };
  return { ...shop, during };
}

describe.runIf(browser)('a page at rest', () => {
  it.each([
    '',
    'contacts',
    'contacts/{contact}',
    'segments',
    'templates',
    'campaigns',
    'campaigns/{campaign}',
    'workflows',
    'workflows/{workflow}',
    'workflows/{workflow}/edit',
    'failures',
    'emails',
    'events',
    'activity',
  ])('asks at most 5 times in 30 seconds, and never while it is hidden: %s', async (path) => {
    const { page, during } = await openAtRest(path);
    await passSeconds(page, 90);
    const asked = await during(() => passSeconds(page, 30));
    expect(asked.length, asked.join(' ')).toBeLessThanOrEqual(5);
    await setVisibility(page, 'hidden');
    expect(await during(() => passSeconds(page, 120))).toEqual([]);
    const again = await during(async () => {
      await setVisibility(page, 'visible');
      await passSeconds(page, 1);
    });
    expect(again.length).toBeGreaterThan(0);
  });
});
