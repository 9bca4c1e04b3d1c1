import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
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
import { waitFor } from '../support/wait-for.ts';

/** The overview of a project in a browser, with a worker that sends and runs. */

const browser = await useBrowser();
const receiver = await useReceiver();
const { api } = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const people = ['ann@shop.test', 'bob@shop.test'];

async function openBusy(options = {}) {
  const shop = await openShop(
    browser!,
    api,
    people.map((email) => ({ email })),
    options,
  );
  const { call } = shop;
  const from = await makeTemplate(shop);
  const failed = await makeFailed(call, receiver, people);
  await makeWaiting(call, people);
  await makeCampaign(call, { name: 'Spring', from }, {});
  await makeCampaign(call, { name: 'Summer', from }, { scheduledFor: inDays(2) });
  await makeCampaign(call, { name: 'Slow', from, maxPerMinute: 1 }, {});
  const later = { from, subject: 'Later', body: 'x', scheduledFor: inDays(1) };
  await call('POST', '/v1/send', { ...later, to: people[0] });
  await waitFor('the campaign is sent', async () => {
    const { data } = await call('GET', '/campaigns?status=SENT');
    return data.length === 1;
  });
  return { ...shop, failed };
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe.runIf(browser)('the overview in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('shows what failed and why, and retries all of it', async () => {
    const { page, open, call, failed, faults: found } = await openBusy();
    await open('');
    const failures = page.getByRole('region', { name: 'Failures', exact: true });
    const group = failures.getByRole('listitem', { name: 'Orders: Tell the shop' });
    await group.getByText('2 executions since').waitFor();
    await group.getByText(/404/).waitFor();
    failed.mend();
    await group.getByRole('button', { name: 'Retry all' }).click();
    await executionsOf(call, failed.id, 'COMPLETED', 2);
    await failures.getByText('All executions run as they should.').waitFor();
    faults.push(...found);
  });

  it('shows the campaigns, what is to come, and what waits', async () => {
    const { page, open, faults: found } = await openBusy();
    await open('?period=7');
    const region = (name: string) => page.getByRole('region', { name, exact: true });
    const campaigns = region('Campaigns').getByRole('listitem');
    await campaigns
      .filter({ hasText: 'Spring' })
      .getByText(/^2 emails, 0 % opened/)
      .waitFor();
    await campaigns
      .filter({ hasText: 'Summer' })
      .getByText(/^begins /)
      .waitFor();
    await campaigns
      .filter({ hasText: 'Slow' })
      .getByText(/of 2 emails sent/)
      .waitFor();
    const upcoming = region('Upcoming').getByRole('listitem');
    await upcoming.filter({ hasText: 'Campaign Summer begins' }).waitFor();
    await upcoming.filter({ hasText: 'ann@shop.test goes on in Onboarding' }).waitFor();
    await region('Delivery').getByText('It waits for its time.').waitFor();
    await page
      .getByRole('figure', { name: 'Sent' })
      .getByText(/^[234]$/)
      .waitFor();
    const chart = page.getByRole('figure', { name: 'Emails by day' });
    await chart.getByRole('button', { name: 'Show as table' }).click();
    expect(await chart.getByRole('row').count()).toBe(8);
    await page.getByLabel('Period').selectOption('30 days');
    await page.waitForURL((url) => !url.search.includes('period=7'));
    await expect.poll(() => chart.getByRole('row').count()).toBe(31);
    faults.push(...found);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const { page, open, check, faults: found } = await openBusy(options);
    await open('');
    await page.getByRole('listitem', { name: 'Orders: Tell the shop' }).waitFor();
    await check('overview');
    faults.push(...found);
  });
});
