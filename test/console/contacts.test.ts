import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useEngine } from '../support/engine.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The contacts of a project in a browser. */

const browser = await useBrowser();
const { api } = await useEngine();

describe.runIf(browser)('the contacts in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function openShop(contacts: readonly object[], options = {}) {
    const owner = await api.signUp();
    const { id: projectId } = await api.createProject(owner.cookie, 'Shop');
    const headers = { 'x-project-id': projectId };
    const call = async (method: string, path: string, body?: unknown) =>
      (await api.request(method, path, { cookie: owner.cookie, headers, body })).body;
    for (const contact of contacts) await call('POST', '/contacts', contact);
    const user = await openConsole(browser!, api, { ...owner, projectId }, options);
    return { ...user, call };
  }

  const people = [
    { email: 'ann@shop.test', data: { plan: 'pro', seats: 4 } },
    { email: 'bob@shop.test', data: { plan: 'free' } },
    { email: 'cleo@shop.test', subscribed: false, data: { plan: 'pro' } },
  ];

  it('are added with data of their types, and a wrong address is said at its field', async () => {
    const { page, open, call, faults: found } = await openShop([]);
    await open('contacts');
    await page.getByRole('button', { name: 'Add contact', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Add contact' });
    await dialog.getByLabel('Email').fill('nobody');
    await dialog.getByRole('button', { name: 'Add field' }).click();
    await dialog.getByLabel('Key').fill('seats');
    await dialog.getByLabel('Type').selectOption('Number');
    await dialog.getByLabel('Value').fill('4.5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[name="email"][aria-invalid="true"]').waitFor();
    expect(await dialog.getByLabel('Value').inputValue()).toBe('4.5');
    await dialog.getByLabel('Email').fill('Ann@Shop.test');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'ann@shop.test' }).waitFor();
    const { data } = await call('GET', '/contacts');
    expect(data).toMatchObject([
      { email: 'ann@shop.test', subscribed: true, data: { seats: 4.5 } },
    ]);
    expect(found.filter((text) => !text.includes('422'))).toEqual([]);
  });

  it('are found by a filter, which becomes a segment with the same members', async () => {
    const { page, open, call, faults: found } = await openShop(people);
    await open('contacts');
    await page.getByRole('status').filter({ hasText: '3 contacts' }).waitFor();
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    const filter = page.getByRole('region', { name: 'Filter', exact: true });
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field').selectOption('plan');
    await filter.getByLabel('Operator').selectOption('equals');
    await filter.getByLabel('Value').fill('pro');
    await filter.getByRole('status').filter({ hasText: '2 contacts' }).waitFor();
    await filter.getByRole('button', { name: 'Add group' }).click();
    const group = filter.getByRole('group', { name: 'Group' });
    await group.getByLabel('Field').selectOption('Subscribed');
    await filter.getByRole('status').filter({ hasText: '1 contact' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'ann@shop.test' }).waitFor();
    expect(await page.getByRole('link', { name: 'cleo@shop.test' }).count()).toBe(0);
    await group.getByRole('button', { name: 'Remove group' }).click();
    await filter.getByRole('status').filter({ hasText: '2 contacts' }).waitFor();
    await filter.getByRole('button', { name: 'Save as segment' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Pro');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/segments\/[0-9a-f-]{36}$/);
    expect(await call('GET', '/segments')).toMatchObject([
      { name: 'Pro', memberCount: 2, filters: { conditions: [{ field: 'data.plan' }] } },
    ]);
    faults.push(...found);
  });

  it('are unsubscribed, put in a segment and deleted, all that match at once', async () => {
    const { page, open, call, faults: found } = await openShop(people);
    await open('contacts');
    await page.getByLabel('Search contacts').fill('ann');
    await page.getByRole('status').filter({ hasText: '1 contact' }).waitFor();
    await page.getByLabel('Select ann@shop.test').check();
    await page.getByRole('button', { name: 'Unsubscribe', exact: true }).click();
    await page.getByText('1 contact unsubscribed').waitFor();
    await page.getByLabel('Search contacts').fill('');
    await page.getByRole('status').filter({ hasText: '3 contacts' }).waitFor();
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'All 3 matching' }).click();
    await page.getByRole('button', { name: 'Add to segment' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Guests');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('3 contacts added to the segment').waitFor();
    expect(await call('GET', '/segments')).toMatchObject([{ name: 'Guests', memberCount: 3 }]);
    await page.getByLabel('Select all').check();
    await page.getByLabel('Select cleo@shop.test').uncheck();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Delete 2 contacts?' });
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('2 contacts deleted').waitFor();
    await page.getByRole('status').filter({ hasText: '1 contact' }).waitFor();
    expect((await call('GET', '/contacts')).data).toMatchObject([{ email: 'cleo@shop.test' }]);
    faults.push(...found);
  });

  it('are exported as the filter has them, and 50 a page are shown', async () => {
    const many = Array.from({ length: 52 }, (_, at) => ({ email: `c${100 + at}@shop.test` }));
    const { page, open, faults: found } = await openShop([...many, people[0]!]);
    await open('contacts?sort=email&dir=asc');
    await page.getByText('1–50 of 53').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51–53 of 53').waitFor();
    await page.goBack();
    await page.getByText('1–50 of 53').waitFor();
    await page.getByLabel('Search contacts').fill('ann');
    await page.getByRole('status').filter({ hasText: '1 contact' }).waitFor();
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = (await readFile(await (await file).path(), 'utf8')).trim().split(/\r?\n/);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('ann@shop.test');
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const long = { email: `${'long'.repeat(15)}@shop.test`, data: { note: 'word '.repeat(60) } };
    const { page, open, faults: found } = await openShop([...people, long], options);
    const check = async (place: string) => {
      await page.waitForLoadState('networkidle');
      if (process.env['SHOTS']) {
        const name = `${place} ${options.colorScheme} ${options.viewport.width}`.replaceAll(
          /\W+/g,
          '-',
        );
        await page.screenshot({ path: `${process.env['SHOTS']}/${name}.png`, fullPage: true });
      }
      expect([place, await axeFindings(page)]).toEqual([place, []]);
      expect([place, await scrollsSideways(page)]).toEqual([place, false]);
    };
    await open('contacts');
    await page.getByLabel('Select ann@shop.test').check();
    const filter = page.getByRole('region', { name: 'Filter', exact: true });
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field').selectOption('note');
    await filter.getByRole('button', { name: 'Add group' }).click();
    await filter.getByLabel('Field').last().selectOption('createdAt');
    await filter.getByLabel('Operator').last().selectOption('within');
    await check('list with a filter');
    await page.getByRole('button', { name: 'Add contact', exact: true }).click();
    await page.getByRole('button', { name: 'Add field' }).click();
    await check('dialog');
    await page.keyboard.press('Escape');
    await page.getByLabel('Search contacts').fill('no such address');
    await page.getByText('No contact matches.').waitFor();
    await check('nothing found');
    faults.push(...found);
  });
});
