import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { subscribed, useBilling } from '../support/projects/billed-project.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Billing in a browser. */

const browser = await useBrowser();
const { api, billedProject, sent } = await useBilling();

describe.runIf(browser)('billing in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function open(columns: Parameters<typeof billedProject>[0], options = {}) {
    const project = await billedProject(columns);
    await sent(project.id, 3, 'TRANSACTIONAL');
    const user = await openConsole(browser!, api, { ...project, projectId: project.id }, options);
    await user.open('settings');
    await user.page.getByRole('link', { name: 'Billing' }).click();
    await user.page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
    return { ...user, project };
  }

  it('shows the usage, and leads to the checkout', async () => {
    const { page, faults: found } = await open({});
    const usage = page.getByRole('table', { name: 'Usage of this month' });
    await usage.getByRole('row', { name: '/v1/send' }).getByText('3', { exact: true }).waitFor();
    const portal = page.getByRole('button', { name: 'Billing portal' });
    expect(await portal.getAttribute('aria-disabled')).toBe('true');
    const save = page.getByRole('button', { name: 'Save' });
    expect(await save.getAttribute('title')).toContain('subscription');
    faults.push(...found);
    const to = page.waitForRequest((request) => request.isNavigationRequest());
    await page.getByRole('button', { name: 'Checkout' }).click();
    expect((await to).url()).toContain('stripe');
  });

  it('sets limits, and lists invoices', async () => {
    const { page, project, faults: found } = await open(subscribed);
    await page.getByLabel('Campaigns').fill('500');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The limits are saved.').waitFor();
    const { body } = await project.get('billing-limits');
    expect(body).toMatchObject({ campaigns: { limit: 500 }, workflows: { limit: null } });
    const invoices = page.getByRole('table', { name: 'Invoices' });
    await invoices.getByRole('row', { name: 'E-2' }).getByText('Not paid').waitFor();
    faults.push(...found);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const { page, faults: found } = await open(subscribed, options);
    await page.getByRole('table', { name: 'Invoices' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
    faults.push(...found);
  });
});
