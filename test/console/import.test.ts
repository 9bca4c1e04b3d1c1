import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openShop } from '../support/console/shop.ts';
import { useEngine } from '../support/engine.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Importing a CSV file in a browser. */

const browser = await useBrowser();
const { api } = await useEngine();

const csv = `E-Mail,Plan,Seats,Zip,Internal
ann@shop.test,pro,4.50,007,x
nope,free,1,1010,y
"bob@shop.test",  free ,2,1020,
`;

const asFile = (text: string, name = 'people.csv') => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(text),
});

describe.runIf(browser)('importing contacts in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('stores what the preview shows, with columns renamed and left out', async () => {
    const {
      page,
      open,
      call,
      faults: found,
    } = await openShop(browser!, api, [{ email: 'bob@shop.test', data: { tier: 'old' } }]);
    await open('contacts/import');
    await page.getByLabel('CSV file').setInputFiles(asFile(csv));
    await page.getByLabel('Column Plan').selectOption('tier');
    await page.getByLabel('Column Zip').selectOption('Another field…');
    await page.getByLabel('Field of Zip').fill('postcode');
    await page.getByLabel('Column Internal').selectOption('Leave out');
    const rows = page.getByRole('table', { name: 'Preview' }).getByRole('row');
    expect(await rows.allInnerTexts()).toEqual([
      'Row\temail\tsubscribed\ttier\tseats\tpostcode',
      '2\tann@shop.test\tnot given\tpro\t4.5\t007',
      expect.stringContaining('Not an email address'),
      '4\tbob@shop.test\tnot given\tfree\t2\t1020',
    ]);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('1 failed', { exact: true }).waitFor();
    expect(await page.getByText('1 created', { exact: true }).count()).toBe(1);
    expect(await page.getByText('1 updated', { exact: true }).count()).toBe(1);
    const { data } = await call('GET', '/contacts?sort=email');
    expect(data).toMatchObject([
      { email: 'ann@shop.test', data: { tier: 'pro', seats: 4.5, postcode: '007' } },
      { email: 'bob@shop.test', data: { tier: 'free', seats: 2, postcode: 1020 } },
    ]);
    expect(data[0].data).not.toHaveProperty('internal');
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download errors' }).click();
    const errors = await readFile(await (await file).path(), 'utf8');
    expect(errors).toContain('"3","nope","Not an email address."');
    const list = page.getByRole('list', { name: 'Imports' });
    await list.getByText('Created: 1, updated: 1, failed: 1').waitFor();
    faults.push(...found);
  });

  it('sends a file over 5 MiB in parts, with the row numbers of the file', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    const text = 'x'.repeat(2_000);
    const lines = Array.from({ length: 3_000 }, (_, at) => `c${at}@shop.test,${text}`);
    await open('contacts/import');
    await page
      .getByLabel('CSV file')
      .setInputFiles(asFile(`email,note\n${lines.join('\n')}\nnope,${text}\n`, 'many.csv'));
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('3,000 created', { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByText('1 failed', { exact: true }).waitFor({ timeout: 60_000 });
    const failed = page.getByRole('table', { name: 'Failed rows' });
    await failed.getByRole('cell', { name: '3002', exact: true }).waitFor();
    expect((await call('GET', '/imports')).data).toHaveLength(2);
    faults.push(...found);
  });

  it('says what is wrong with a file, and which column holds the address', async () => {
    const { page, open, faults: found } = await openShop(browser!, api, []);
    await open('contacts/import');
    await page.getByLabel('CSV file').setInputFiles(asFile(''));
    await page.getByRole('alert').filter({ hasText: 'The file is empty.' }).waitFor();
    await page.getByLabel('CSV file').setInputFiles(asFile('who,plan\nann@shop.test,pro\n'));
    await page.getByRole('alert').filter({ hasText: 'holds the email address' }).waitFor();
    const button = page.getByRole('button', { name: 'Import', exact: true });
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await page.getByLabel('Column who').selectOption('email');
    await page.getByRole('table', { name: 'Preview' }).waitFor();
    faults.push(...found);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const { page, open, check, faults: found } = await openShop(browser!, api, [], options);
    await open('contacts/import');
    await page.getByLabel('CSV file').setInputFiles(asFile(csv));
    await page.getByLabel('Column Zip').selectOption('Another field…');
    await page.getByLabel('Field of Zip').fill('postcode');
    await check('import preview');
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('1 failed', { exact: true }).waitFor();
    await page.getByRole('list', { name: 'Imports' }).waitFor();
    await check('import result');
    faults.push(...found);
  });
});
