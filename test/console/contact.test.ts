import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { type ConsoleShop, openShop } from '../support/console/shop.ts';
import { useEngine } from '../support/engine.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { keyed, trigger, ways } from '../support/projects/portable-graph.ts';
import { waitFor } from '../support/wait-for.ts';

/** One contact in a browser. */

const browser = await useBrowser();
const { api } = await useEngine();

const ann = { email: 'ann@shop.test', data: { plan: 'pro', seats: 4, tags: ['a'] } };

async function idOf({ call }: ConsoleShop): Promise<string> {
  return (await call('GET', '/contacts')).data[0].id;
}

describe.runIf(browser)('a contact in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('is edited, and a change by another person meanwhile is not overwritten unseen', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page, open, call } = shop;
    const id = await idOf(shop);
    await open(`contacts/${id}`);
    await page.getByRole('heading', { name: 'ann@shop.test', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit contact' });
    await dialog.getByLabel('Value').first().fill('free');
    await call('PATCH', `/contacts/${id}`, { data: { seats: 9 } });
    await dialog.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('dialog', { name: 'Somebody else has changed this' });
    await conflict.getByRole('button', { name: 'Load theirs' }).click();
    await conflict.waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Value').nth(2).inputValue()).toBe('9');
    await dialog.getByLabel('Value').first().fill('team');
    await call('PATCH', `/contacts/${id}`, { data: { seats: 10 } });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    // While the conflict is shown, the dialog below it cannot be found.
    await conflict.waitFor({ state: 'detached' });
    await dialog.waitFor({ state: 'detached' });
    const { data } = await call('GET', `/contacts/${id}`);
    expect(data).toEqual({ plan: 'team', seats: 9, tags: ['a'] });
  });

  it('shows its topics, segments, suppression and consent, and why a mail did not come', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page, open, call, faults: found } = shop;
    const id = await idOf(shop);
    await call('POST', '/topics', { key: 'news', name: 'News', default: 'subscribed' });
    await call('POST', '/segments', { name: 'Guests', type: 'STATIC' });
    const [segment] = await call('GET', '/segments');
    await call('POST', `/segments/${segment.id}/members`, { emails: [ann.email] });
    await call('POST', '/events/track', { name: 'paid', contactId: id, data: { total: 42 } });
    await call('POST', '/suppression-list', { emails: [ann.email], reason: 'manual' });
    await open(`contacts/${id}`);
    const region = (name: string) => page.getByRole('region', { name, exact: true });
    await region('Data').getByText('pro').waitFor();
    await region('Topics').getByRole('switch', { name: 'News' }).uncheck();
    await waitFor('the topic is left', async () => {
      const [topic] = await call('GET', `/contacts/${id}/topics`);
      return topic.subscribed === false ? true : null;
    });
    await region('Segments').getByRole('link', { name: 'Guests' }).waitFor();
    await region('Suppression').getByText('On the suppression list').waitFor();
    await region('Suppression').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await region('Suppression').getByText('Not on the suppression list.').waitFor();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('button', { name: 'Subscribe', exact: true }).waitFor();
    await region('Consent').getByText('Unsubscribed').first().waitFor();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByText('with total 42').waitFor();
    await timeline.getByText('Left the topic news').waitFor();
    await region('Workflows').waitFor();
    await region('Emails').waitFor();
    faults.push(...found);
  });

  it('starts a workflow, and gets an event', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page, open, call, faults: found } = shop;
    const id = await idOf(shop);
    const workflow = await call('POST', '/workflows', {
      name: 'Onboarding',
      enabled: true,
      graph: {
        trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
        steps: [trigger, keyed('wait', 'DELAY', { config: { amount: 1, unit: 'days' } })],
        transitions: ways('trigger>wait'),
      },
    });
    expect(workflow).toMatchObject({ enabled: true });
    await open(`contacts/${id}`);
    await page.getByRole('button', { name: 'Track event' }).click();
    const event = page.getByRole('dialog', { name: 'Track event' });
    await event.getByLabel('Event').fill('visited');
    await event.getByRole('button', { name: 'Track', exact: true }).click();
    await page.getByRole('list', { name: 'Timeline' }).getByText('visited').waitFor();
    await page.getByRole('button', { name: 'Start workflow' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start workflow' });
    await dialog.getByLabel('Workflow').selectOption('Onboarding');
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL(/\/executions\/[0-9a-f-]{36}$/);
    await open(`contacts/${id}`);
    const workflows = page.getByRole('region', { name: 'Workflows', exact: true });
    await workflows.getByRole('link', { name: 'Onboarding' }).waitFor();
    faults.push(...found);
  });

  it('is exported, and erased after its address was typed', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page, open, call, faults: found } = shop;
    await open(`contacts/${await idOf(shop)}`);
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Export data' }).click();
    const exported = JSON.parse(await readFile(await (await file).path(), 'utf8'));
    expect(exported.contact).toMatchObject(ann);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Erase' }).click();
    const question = page.getByRole('dialog');
    const erase = question.getByRole('button', { name: 'Erase' });
    expect(await erase.getAttribute('aria-disabled')).toBe('true');
    await question.getByRole('textbox').fill(ann.email);
    await erase.click();
    await page.getByRole('heading', { name: 'Erasure of a contact' }).waitFor();
    await page.getByText('Completed', { exact: true }).waitFor({ timeout: 30_000 });
    const removed = page.getByRole('figure', { name: 'Contact', exact: true });
    expect(await removed.locator('strong').innerText()).toBe('1');
    await shop.check('erasure');
    await waitFor('the contact is gone', async () => {
      const { total } = await call('GET', '/contacts');
      return total === 0 ? true : null;
    });
    // The page may have read the contact once more before it was left.
    faults.push(...found.filter((fault) => !fault.includes('404')));
  });

  it('of another project is not found', async () => {
    const other = await openShop(browser!, api, [ann]);
    const id = await idOf(other);
    const { page, open } = await openShop(browser!, api, []);
    await open(`contacts/${id}`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    expect(await page.getByText(ann.email).count()).toBe(0);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const long = { email: `${'long'.repeat(15)}@shop.test`, data: { note: 'word '.repeat(60) } };
    const shop = await openShop(browser!, api, [long], options);
    const { page, open, call, check, faults: found } = shop;
    const id = await idOf(shop);
    await call('POST', '/topics', { key: 'news', name: 'News', default: 'subscribed' });
    await call('POST', '/events/track', { name: 'paid', contactId: id, data: { total: 42 } });
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await open(`contacts/${id}`);
    await page.getByRole('list', { name: 'Timeline' }).getByText('paid').waitFor();
    await check('contact');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').waitFor();
    await check('edit contact');
    faults.push(...found);
  });
});
