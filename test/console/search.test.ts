import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { looks } from '../support/console/axe.ts';
import { makeTemplate } from '../support/console/busy-shop.ts';
import { openShop } from '../support/console/shop.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The search over a project, and the keys, in a browser. */

const browser = await useBrowser();
const api = await useApi();

const contacts = [{ email: 'ann@shop.test' }, { email: 'joann@shop.test' }];

describe.runIf(browser)('the search in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('finds every kind of record and page, and opens the first by Enter', async () => {
    const shop = await openShop(browser!, api, contacts);
    const { page, open, call } = shop;
    await makeTemplate(shop);
    await call('POST', '/segments', { name: 'Saleswomen', type: 'STATIC' });
    await call('POST', '/workflows', { name: 'After a sale' });
    await call('POST', '/campaigns', {
      name: 'Summer sale',
      audienceType: 'ALL',
      subject: 'Sale',
      body: 'x',
      from: `shop@${shop.projectId}.test`,
    });
    await open('contacts');
    await page.keyboard.press('ControlOrMeta+k');
    const dialog = page.getByRole('dialog', { name: 'Search' });
    await page.keyboard.type('sale');
    for (const name of [/Sale.*Template/, /Saleswomen/, /After a sale/, /Summer sale/]) {
      await dialog.getByRole('option', { name }).waitFor();
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Saleswomen', level: 1 }).waitFor();
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('button', { name: 'Search', exact: true })
      .click();
    await page.keyboard.type('activ');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await expect.poll(focused).toBe('Activity');
    await page.waitForTimeout(300);
    expect(await focused()).toBe('Activity');
    faults.push(...shop.faults);
  });

  it('opens the contact with the very address, also if Enter comes before the results', async () => {
    const { page, open, faults: found } = await openShop(browser!, api, contacts);
    await open('');
    for (const email of ['joann@shop.test', 'ann@shop.test']) {
      await page.keyboard.type(`/${email}`);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: email, level: 1, exact: true }).waitFor();
    }
    faults.push(...found);
  });

  it('says when nothing is found, closes by Escape, and leaves fields their letters', async () => {
    const { page, open, faults: found } = await openShop(browser!, api, contacts);
    await open('contacts');
    await page.keyboard.type('/zoe@');
    const dialog = page.getByRole('dialog', { name: 'Search' });
    await dialog.getByText('Nothing has “zoe@” in its name.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Search contacts').fill('a');
    await page.keyboard.type('/?');
    expect(await page.getByLabel('Search contacts').inputValue()).toBe('a/?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    faults.push(...found);
  });

  it('is listed with all other keys', async () => {
    const { page, open, faults: found } = await openShop(browser!, api, []);
    await open('');
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('Search', { exact: true }).waitFor();
    await keys.getByRole('button', { name: 'Close' }).click();
    await keys.waitFor({ state: 'detached' });
    faults.push(...found);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const long = { email: `${'long'.repeat(15)}@shop.test` };
    const { page, open, check, faults: found } = await openShop(browser!, api, [long], options);
    await open('');
    await page.keyboard.type('/long');
    await page.getByRole('option').first().waitFor();
    await check('search');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await check('keys');
    faults.push(...found);
  });
});
