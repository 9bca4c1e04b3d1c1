import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { looks } from '../support/console/axe.ts';
import { openShop } from '../support/console/shop.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { trigger } from '../support/projects/portable-graph.ts';

/** The events and the activity of a project in a browser. */

const browser = await useBrowser();
const api = await useApi();

const ann = { email: 'ann@shop.test' };

describe.runIf(browser)('the events in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('are tracked by hand, counted, and listed with their data', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, [ann]);
    await open('events');
    await page.getByRole('button', { name: 'Track event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Track event' });
    await dialog.getByLabel('Contact').fill(ann.email);
    await dialog.getByLabel('Event').fill('email.open');
    await dialog.getByLabel('Data').fill('{"total": ');
    const track = dialog.getByRole('button', { name: 'Track', exact: true });
    await track.click();
    await dialog.getByText('Must be a JSON object.').waitFor();
    await dialog.getByLabel('Data').fill('{"total": 42}');
    await track.click();
    await dialog.locator('input[name="event"][aria-invalid="true"]').waitFor();
    await dialog.getByLabel('Event').fill('paid');
    await track.click();
    const row = page.getByRole('table', { name: 'Events' }).getByRole('row', { name: /^paid/ });
    await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    await row.getByRole('button', { name: 'paid', exact: true }).click();
    const one = page.getByRole('region', { name: 'paid', exact: true });
    await one.getByText('1 event of 1 contact in all.').waitFor();
    await one.getByText('{"total":42}').waitFor();
    await page.reload();
    await one.getByRole('link', { name: ann.email }).waitFor();
    const { events } = await call('GET', '/events?eventName=paid');
    expect(events).toMatchObject([{ data: { total: 42 }, contact: ann }]);
    faults.push(...found.filter((fault) => !fault.includes('422')));
  });

  it('are deleted with their number, unless something uses them', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, [ann]);
    for (const event of ['paid', 'paid', 'ordered']) {
      await call('POST', '/events/track', { email: ann.email, event });
    }
    await call('POST', '/workflows', {
      name: 'Orders',
      graph: {
        trigger: { type: 'EVENT', config: { eventName: 'ordered' } },
        steps: [trigger],
        transitions: [],
      },
    });
    await open('events');
    const table = page.getByRole('table', { name: 'Events' });
    await table
      .getByRole('row', { name: /^ordered/ })
      .getByRole('button', { name: 'Delete' })
      .click();
    const kept = page.getByRole('dialog', { name: 'ordered cannot be deleted' });
    await kept.getByRole('link', { name: 'Orders' }).waitFor();
    await kept.getByRole('button', { name: 'Close' }).click();
    await table.getByRole('row', { name: /^paid/ }).getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('2 events of 1 contact are lost.').waitFor();
    await question.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('2 events deleted.').waitFor();
    await table.getByRole('row', { name: /^paid/ }).waitFor({ state: 'detached' });
    expect((await call('GET', '/events/names')).eventNames).toEqual(['ordered']);
    faults.push(...found);
  });

  it('show in the live activity, which is narrowed by types', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, [ann]);
    const { data } = await call('GET', '/contacts');
    await call('PATCH', `/contacts/${data[0].id}`, { subscribed: false });
    await open('activity');
    const feed = page.getByRole('list', { name: 'Activity' });
    await feed.getByText('unsubscribed').waitFor();
    await call('POST', '/events/track', { email: ann.email, event: 'paid' });
    await feed.getByText('ann@shop.test: event paid').waitFor();
    await page.getByRole('button', { name: 'Types' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Events' }).click();
    await feed.getByText('unsubscribed').waitFor({ state: 'detached' });
    await page.reload();
    await feed.getByRole('link', { name: 'paid' }).click();
    await page.getByRole('region', { name: 'paid', exact: true }).waitFor();
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const {
      page,
      open,
      call,
      check,
      faults: found,
    } = await openShop(browser!, api, [ann], options);
    await open('events');
    await check('no events');
    await open('activity');
    await check('no activity');
    const data = { note: 'word '.repeat(60) };
    await call('POST', '/events/track', { email: ann.email, event: 'a'.repeat(100), data });
    await open(`events?event=${'a'.repeat(100)}`);
    await page.getByRole('table', { name: /^Last events/ }).waitFor();
    await check('events');
    await page.getByRole('button', { name: 'Track event' }).click();
    await page.getByRole('dialog').waitFor();
    await check('track event');
    await open('activity');
    await page.getByRole('list', { name: 'Activity' }).waitFor();
    await check('activity');
    faults.push(...found);
  });
});
