import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { openShop } from '../../support/console/shop.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** How a user changes the look of the console. */

const browser = await useBrowser();
const api = await useApi();

describe.runIf(browser)('the look of the console', () => {
  it('is chosen in the menu of the account, and kept', async () => {
    const { page, open } = await openShop(browser!, api, []);
    await open('/contacts');
    const styleOf = (element: string, name: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.${element}).getPropertyValue('${name}')`);
    const ground = () => styleOf('body', 'background-color');
    const rowHeight = () => styleOf('documentElement', '--row');
    expect([await ground(), await rowHeight()]).toEqual(['rgb(250, 250, 249)', '40px']);
    await page.getByRole('button', { name: 'Account' }).click();
    const themes = page.getByRole('group', { name: 'Theme' });
    await themes.getByRole('menuitemradio', { name: 'Dark' }).click();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Compact' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Compact', checked: true }).waitFor();
    const chosen = ['rgb(16, 17, 19)', '32px'];
    expect([await ground(), await rowHeight()]).toEqual(chosen);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect([await ground(), await rowHeight()]).toEqual(chosen);
  });
});
