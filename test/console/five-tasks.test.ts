import type { Locator } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import {
  executionsOf,
  makeCampaign,
  makeFailed,
  makeTemplate,
  makeWaiting,
} from '../support/console/busy-shop.ts';
import { openShop } from '../support/console/shop.ts';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Five tasks of every day, with the number of clicks from the overview that each takes. */

const browser = await useBrowser();
const receiver = await useReceiver();
const { api } = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const people = ['ann@shop.test', 'bob@shop.test', 'cleo@shop.test'];
const contacts = [
  ...people.map((email) => ({ email, data: { name: email.split('@')[0] } })),
  { email: 'dora@shop.test', subscribed: false },
];

async function openOverview() {
  const shop = await openShop(browser!, api, contacts);
  await shop.open('');
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks += 1;
    await target.click();
  };
  return { ...shop, click, clicks: () => clicks };
}

describe.runIf(browser)('from the overview', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('all executions that failed for one reason are retried with one click', async () => {
    const { page, call, click, clicks, faults: found } = await openOverview();
    const { id, mend } = await makeFailed(call, receiver, people);
    const failures = page.getByRole('region', { name: 'Failures', exact: true });
    await failures.getByText(/404/).waitFor();
    mend();
    await click(failures.getByRole('button', { name: 'Retry all' }));
    await executionsOf(call, id, 'COMPLETED', people.length);
    expect(clicks()).toBe(1);
    faults.push(...found);
  });

  it('a contact is found by its address without a click, with why a campaign did not come', async () => {
    const shop = await openOverview();
    const { page, call, clicks } = shop;
    await makeCampaign(call, { name: 'Spring', from: await makeTemplate(shop) }, {});
    await page.getByRole('region', { name: 'Campaigns' }).getByText('Spring').waitFor();
    await page.keyboard.type('/dora@shop.test');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'dora@shop.test', level: 1 }).waitFor();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    const reason = 'The contact was unsubscribed when the campaign began.';
    await timeline.getByText(`Not reached by Spring. ${reason}`).waitFor();
    expect(clicks()).toBe(0);
    faults.push(...shop.faults);
  });

  it('a workflow shows its numbers and its people with two clicks, and is paused with one more', async () => {
    const { page, call, click, clicks, faults: found } = await openOverview();
    const id = await makeWaiting(call, people);
    await click(page.getByRole('link', { name: 'Workflows', exact: true }));
    await click(page.getByRole('link', { name: 'Onboarding' }));
    await page.getByRole('img', { name: /Onboarding, with the numbers/ }).waitFor();
    const inside = page.getByRole('region', { name: 'People at Two days', exact: true });
    await inside.getByRole('link', { name: 'bob@shop.test' }).waitFor();
    expect(clicks()).toBe(2);
    await click(page.getByRole('button', { name: 'Pause', exact: true }));
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect((await call('GET', `/workflows/${id}`)).pausedAt).not.toBeNull();
    expect(clicks()).toBe(3);
    faults.push(...found);
  });

  it('a campaign shows what limits it with one click, and who was not reached with one more', async () => {
    const shop = await openOverview();
    const { page, call, click, clicks } = shop;
    const from = await makeTemplate(shop);
    await makeCampaign(call, { name: 'Slow', from, maxPerMinute: 1 }, {});
    const campaigns = page.getByRole('region', { name: 'Campaigns', exact: true });
    await click(campaigns.getByRole('link', { name: 'Slow' }));
    await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
    await page.getByText('Its own limit of emails per minute slows it down').waitFor();
    expect(clicks()).toBe(1);
    const missed = page.getByRole('region', { name: 'Not reached', exact: true });
    await click(missed.getByRole('button', { name: /unsubscribed when the campaign began/ }));
    await page.getByRole('table', { name: 'Recipients' }).getByText('dora@shop.test').waitFor();
    expect(clicks()).toBe(2);
    faults.push(...shop.faults);
  });

  it('a template shows itself as a contact gets it, with its warnings, with two clicks', async () => {
    const shop = await openOverview();
    const { page, click, clicks } = shop;
    await makeTemplate(shop);
    await click(page.getByRole('link', { name: 'Templates', exact: true }));
    await click(page.getByRole('link', { name: 'Sale' }));
    await page.getByRole('list', { name: 'Warnings' }).getByText(/nmae/).first().waitFor();
    await page.getByLabel('Preview as').fill('ann@shop.test');
    await page.frameLocator('iframe[title="Preview"]').getByText('Dear ann,').waitFor();
    expect(clicks()).toBe(2);
    faults.push(...shop.faults);
  });
});
