import { expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { openShop } from '../support/console/shop.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The mail of a workflow and of a template in the last 30 days. */

const browser = await useBrowser();
const api = await useApi();

it.runIf(browser)('a workflow and a template show their mail by day', async () => {
  const { page, open, call, check, faults } = await openShop(browser!, api, []);
  const workflow = await call('POST', '/workflows', { name: 'Orders', eventName: 'ordered' });
  const fields = { name: 'Hello', subject: 'Hi', body: '<p>Hi</p>', type: 'TRANSACTIONAL' };
  const template = await call('POST', '/templates', fields);
  const chart = page.getByRole('figure', { name: 'Over time' });
  await open(`workflows/${workflow.id}`);
  await page.getByRole('tab', { name: 'Over time' }).click();
  await chart.getByRole('button', { name: 'Show as table' }).click();
  const days = chart.getByRole('table').getByRole('row');
  await days.nth(30).waitFor();
  await check('workflow');
  await open(`templates/${template.id}`);
  await chart.waitFor();
  await check('template');
  expect(faults).toEqual([]);
});
