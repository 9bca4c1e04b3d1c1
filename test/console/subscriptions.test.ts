import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { openShop } from '../support/console/shop.ts';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Event subscriptions in a browser. */

const browser = await useBrowser();
const receiver = await useReceiver();
const { api } = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  EVENT_DELIVERY_RETRY_SECONDS: '3600',
});

describe.runIf(browser)('event subscriptions in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('are made with a secret that is shown once, and deliver events', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    receiver.answer('/made', { status: 500, body: 'No order of this number.' }, { status: 200 });
    await open('settings/subscriptions');
    await page.getByRole('button', { name: 'New subscription' }).click();
    const dialog = page.getByRole('dialog', { name: 'New subscription' });
    await dialog.getByLabel('URL').fill('nowhere');
    await dialog.getByLabel('Events', { exact: true }).fill('order_placed\nemail.*');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    await dialog.getByLabel('URL').fill(`${receiver.url}/made`);
    await dialog.getByLabel('Description').fill('Orders');
    await dialog.getByRole('button', { name: 'Add header' }).click();
    await dialog.getByLabel('Header', { exact: true }).fill('Authorization');
    await dialog.getByLabel('Value').fill('Bearer hidden');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const shown = page.getByRole('dialog', { name: 'Secret' });
    const secret = (await shown.locator('code').textContent())!;
    expect(secret).toMatch(/^whsec_/);
    await shown.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await page.getByText('Authorization').waitFor();
    expect(await page.getByText(secret).count()).toBe(0);
    expect(await page.getByText('Bearer hidden').count()).toBe(0);

    await call('POST', '/events/track', { event: 'order_placed', email: 'ann@shop.test' });
    const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
    await row.getByText('Answered 500').waitFor({ timeout: 40_000 });
    await row.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('dialog').getByText('No order of this number.').waitFor();
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Retry' }).click();
    await row.getByText('Delivered', { exact: true }).waitFor({ timeout: 40_000 });
    faults.push(...found.filter((text) => !text.includes('status of 422')));
  });

  it('are tested, paused, resumed, replayed, rotated, changed and deleted', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    receiver.answer('/acts', { status: 200 });
    const { id } = await call('POST', '/event-subscriptions', {
      url: `${receiver.url}/acts`,
      events: ['order_placed'],
    });
    const read = () => call('GET', `/event-subscriptions/${id}`);
    await call('POST', '/events/track', { event: 'order_placed', email: 'ann@shop.test' });
    await open(`settings/subscriptions/${id}`);
    await page.getByRole('heading', { name: new URL(receiver.url).host, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('Answered 200 (').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Deliveries wait.').waitFor();
    expect(await read()).toMatchObject({ paused: true });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Deliveries wait.').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Replay' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay' });
    await dialog.getByLabel('Only what was not delivered').uncheck();
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.getByText('will be sent again.').waitFor({ timeout: 40_000 });
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Rotate secret' }).click();
    const ask = page.getByRole('dialog');
    await ask.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('dialog', { name: 'Secret' }).getByText('whsec_').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('also signs until').waitFor();

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit subscription' });
    await edit.getByLabel('Description').fill('All orders');
    await edit.getByLabel('Events per request').fill('50');
    await edit.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'All orders', level: 1 }).waitFor();
    expect(await read()).toMatchObject({ batch: { max: 50 }, events: ['order_placed'] });

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await ask.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Event subscriptions' }).waitFor();
    expect(await call('GET', '/event-subscriptions')).toEqual([]);
    faults.push(...found);
  });

  it('are not shown to members, with the reason', async () => {
    const { call, projectId } = await openShop(browser!, api, []);
    const { id } = await call('POST', '/event-subscriptions', {
      url: `${receiver.url}/hidden`,
      events: ['*'],
    });
    const bob = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ user_id: bob.userId, project_id: projectId, role: 'MEMBER' })
      .execute();
    const { page, open, faults: found } = await openConsole(browser!, api, { ...bob, projectId });
    for (const path of ['settings/subscriptions', `settings/subscriptions/${id}`]) {
      await open(path);
      await page.getByText('Subscriptions hold secrets. Only administrators').waitFor();
    }
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [], options);
    const { page, open, call, check, faults: found } = shop;
    await open('settings/subscriptions');
    await page.getByText('A subscription sends events').waitFor();
    await check('no subscription');
    const { id } = await call('POST', '/event-subscriptions', {
      url: `${receiver.url}/${'a-long-path-'.repeat(10)}`,
      events: ['order_placed', 'email.*', 'contact.*'],
      description: 'A long description '.repeat(6),
    });
    await call('POST', '/events/track', { event: 'order_placed', email: 'ann@shop.test' });
    await open('settings/subscriptions');
    await page.getByRole('table', { name: 'Event subscriptions' }).waitFor();
    await check('subscriptions');
    await page.getByRole('button', { name: 'New subscription' }).click();
    await check('new subscription');
    await open(`settings/subscriptions/${id}`);
    await page.getByRole('table', { name: 'Deliveries' }).waitFor({ timeout: 40_000 });
    await check('subscription');
    faults.push(...found);
  });
});
