import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Segments in a browser. */

const browser = await useBrowser();
const api = await useApi();

const people = [
  { email: 'ann@shop.test', data: { plan: 'pro' } },
  { email: 'bob@shop.test', data: { plan: 'free' } },
];

const byPlan = (value: string) => ({
  operator: 'AND',
  conditions: [{ field: 'data.plan', operator: 'equals', value }],
});

describe.runIf(browser)('segments in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('are made of a filter, renamed, and track entry and exit', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, people);
    await open('segments');
    await page.getByRole('link', { name: 'New segment' }).click();
    await page.getByRole('heading', { name: 'New segment' }).waitFor();
    await page.getByLabel('Name').fill('Pro');
    const filter = page.getByRole('region', { name: 'Filter', exact: true });
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field').selectOption('plan');
    await filter.getByLabel('Value').fill('pro');
    await filter.getByRole('status').filter({ hasText: '1 contact' }).waitFor();
    await page.getByLabel('Track entry and exit').check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Pro', level: 1 }).waitFor();
    const members = page.getByRole('table', { name: 'Members' });
    await members.getByRole('link', { name: 'ann@shop.test' }).waitFor();
    await page.getByLabel('Name').fill('Pros');
    await filter.getByLabel('Value').fill('free');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Pros', level: 1 }).waitFor();
    await members.getByRole('link', { name: 'bob@shop.test' }).waitFor();
    expect(await call('GET', '/segments')).toMatchObject([
      { name: 'Pros', trackMembership: true, memberCount: 1 },
    ]);
    faults.push(...found);
  });

  it('say at its field what is missing in a condition', async () => {
    const { page, open } = await openShop(browser!, api, people);
    await open('segments/new');
    await page.getByLabel('Name').fill('Pro');
    const filter = page.getByRole('region', { name: 'Filter', exact: true });
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field').selectOption('plan');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await filter.locator('[aria-invalid="true"]').first().waitFor();
    expect(await filter.getByLabel('Value').getAttribute('aria-invalid')).toBe('true');
  });

  it('have chosen members, who are added and removed by address', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, people);
    await open('segments/new');
    await page.getByLabel('Name').fill('Guests');
    await page.getByLabel('Type').selectOption('STATIC');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Add members' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add members' });
    await dialog.getByLabel('Emails').fill('ANN@shop.test, bob@shop.test\nzoe@shop.test');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('1 address').waitFor();
    expect(await dialog.getByLabel('Emails').inputValue()).toBe('zoe@shop.test');
    await dialog.getByLabel('Create contacts').check();
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const members = page.getByRole('table', { name: 'Members' });
    await members.getByRole('link', { name: 'zoe@shop.test' }).waitFor();
    await page.getByLabel('Select bob@shop.test').check();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await members.getByRole('link', { name: 'bob@shop.test' }).waitFor({ state: 'detached' });
    const zoe = members.getByRole('row').filter({ hasText: 'zoe@shop.test' });
    await zoe.getByRole('button', { name: 'Remove', exact: true }).click();
    await zoe.waitFor({ state: 'detached' });
    expect(await call('GET', '/segments')).toMatchObject([{ memberCount: 1 }]);
    faults.push(...found);
  });

  it('are not overwritten unseen, and not deleted while something uses them', async () => {
    const { page, open, call } = await openShop(browser!, api, people);
    const { id } = await call('POST', '/segments', { name: 'Pro', filters: byPlan('pro') });
    const other = await call('POST', '/segments', {
      name: 'Members of pro',
      filters: {
        operator: 'AND',
        conditions: [{ field: `segment.${id}`, operator: 'memberOfSegment' }],
      },
    });
    await open(`segments/${id}`);
    const uses = page.getByRole('region', { name: 'Used by' });
    await uses.getByRole('link', { name: 'Members of pro', exact: true }).waitFor();
    await call('PATCH', `/segments/${id}`, { description: 'Changed by another person' });
    await page.getByLabel('Name').fill('Mine');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody else has changed this').waitFor();
    await page.getByRole('button', { name: 'Load theirs' }).click();
    await page.getByText('Somebody else has changed this').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Description').inputValue()).toBe('Changed by another person');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    const users = page.getByRole('list', { name: 'Used by' });
    await users.getByRole('link', { name: 'Members of pro' }).waitFor();
    await page.keyboard.press('Escape');
    await call('DELETE', `/segments/${other.id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Segments' }).waitFor();
    expect(await call('GET', '/segments')).toEqual([]);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const {
      page,
      open,
      call,
      check,
      faults: found,
    } = await openShop(browser!, api, people, options);
    await open('segments');
    await page.getByText('A segment is a part of your contacts').waitFor();
    await check('no segment');
    const { id } = await call('POST', '/segments', {
      name: 'A long name of a segment '.repeat(4).trim(),
      filters: byPlan('pro'),
    });
    await open('segments');
    await page.getByRole('table', { name: 'Segments' }).waitFor();
    await check('segments');
    await open('segments/new');
    await check('new segment');
    await open(`segments/${id}`);
    await page.getByRole('table', { name: 'Members' }).waitFor();
    await check('segment');
    faults.push(...found);
  });
});
