import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The settings of marketing mail, and uploaded files, in a browser. */

const browser = await useBrowser();
const api = await useApi();

/** The smallest GIF: one pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

describe.runIf(browser)('the settings of mail in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('set a hold-out, and the parameters of links', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings');
    await page.getByRole('link', { name: 'Hold-out and links' }).click();
    const holdout = page.getByRole('form', { name: 'Hold-out' });
    await holdout.getByLabel('Percent of the contacts').fill('5');
    await holdout.getByLabel('Salt').fill('winter');
    await holdout.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The hold-out is saved.').waitFor();
    expect(await call('GET', '/holdout')).toMatchObject({ percent: 5, salt: 'winter' });
    const links = page.getByRole('form', { name: 'Links' });
    await links.getByLabel('utm_campaign').fill('{campaign}');
    await links.getByLabel('Hosts').fill('shop.test\nblog.test');
    await links.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The parameters are saved.').waitFor();
    expect(await call('GET', '/link-policy')).toMatchObject({
      utm: { campaign: '{campaign}', source: null },
      utmHosts: ['shop.test', 'blog.test'],
    });
    faults.push(...found);
  });

  it('say at its field what is wrong', async () => {
    const { page, open } = await openShop(browser!, api, []);
    await open('settings/marketing');
    await page.getByLabel('Percent of the contacts').fill('50');
    await page.getByLabel('utm_source').fill('{nobody}');
    for (const name of ['Hold-out', 'Links']) {
      const form = page.getByRole('form', { name });
      await form.getByRole('button', { name: 'Save' }).click();
      await form.locator('[aria-invalid="true"]').waitFor();
    }
    const source = page.getByLabel('utm_source');
    expect(await source.getAttribute('aria-invalid')).toBe('true');
  });

  it('upload an image and delete it', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings');
    await page.getByRole('link', { name: 'Uploaded files' }).click();
    await page.getByText('Images for mails are listed here.').waitFor();
    const file = { name: 'pixel.gif', mimeType: 'image/gif', buffer: pixel };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('table', { name: 'Uploaded files' }).getByText('image/gif').waitFor();
    expect((await call('GET', '/uploads')).usage.files).toBe(1);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Images for mails are listed here.').waitFor();
    expect((await call('GET', '/uploads')).usage.files).toBe(0);
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const { page, open, check, faults: found } = await openShop(browser!, api, [], options);
    await open('settings/marketing');
    await page.getByLabel('utm_source').waitFor();
    await check('hold-out and links');
    await open('settings/files');
    const file = { name: 'pixel.gif', mimeType: 'image/gif', buffer: pixel };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('table', { name: 'Uploaded files' }).waitFor();
    await check('files');
    faults.push(...found);
  });
});
