import { createServer } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { listen, use } from '../support/use.ts';

/** Mail providers, routes and warm-ups in a browser. */

const browser = await useBrowser();
const api = await useApi({ WEBHOOK_ALLOW_PRIVATE: 'true' });

/** A server that closes every connection. */
const closing = use(await listen(createServer((socket) => socket.destroy())));

describe.runIf(browser)('mail providers in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('are added, tested, changed and deleted', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings/domains');
    const card = page.getByRole('region', { name: 'Mail providers', exact: true });
    await card.getByRole('button', { name: 'Add provider' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add provider' });
    await dialog.getByLabel('Name').fill('Postmark EU');
    await dialog.getByLabel('Host').fill('127.0.0.1');
    await dialog.getByLabel('Port', { exact: true }).fill('0');
    await dialog.getByLabel('Reports', { exact: true }).selectOption('postmark');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    await dialog.getByLabel('Port', { exact: true }).fill(String(closing.port));
    await dialog.getByRole('button', { name: 'Save' }).click();
    const address = page.getByRole('dialog', { name: 'Webhook address' });
    await address.getByText('/webhooks/providers/').waitFor();
    await address.getByRole('button', { name: 'Done' }).click();
    const row = card.getByRole('row', { name: 'Postmark EU' });
    await row.getByText('Takes mail').waitFor();
    await row.getByRole('button', { name: 'Test' }).click();
    await page.getByText('Postmark EU: The server could not be reached.').waitFor();
    await row.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await row.getByText('Disabled').waitFor();
    await row.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit Postmark EU' });
    await edit.getByLabel('Mails per second').fill('20');
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit.waitFor({ state: 'detached' });
    const own = (await call('GET', '/providers')).at(-1);
    expect(own).toMatchObject({ ratePerSecond: 20, enabled: false, feedback: 'postmark' });
    await row.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const ask = page.getByRole('dialog');
    await ask.getByRole('button', { name: 'Delete' }).click();
    await ask.waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    faults.push(...found.filter((text) => !/status of 4(09|22)/.test(text)));
  });

  it('get mail by routes, and more of it each day by a warm-up', async () => {
    const { page, open, call, projectId, faults: found } = await openShop(browser!, api, []);
    await call('POST', '/domains', { domain: 'shop.test', projectId });
    const provider = await call('POST', '/providers', {
      name: 'Second',
      kind: 'smtp',
      host: 'smtp.example.com',
    });
    await open('settings/domains');
    await page.getByRole('button', { name: 'Add route' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add route' });
    await dialog.getByLabel('Marketing').check();
    await dialog.getByLabel('To the domains').fill('not-a-domain!');
    await dialog.getByLabel('Provider', { exact: true }).selectOption('Second');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    await dialog.getByLabel('To the domains').fill('*.edu');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const routes = page.getByRole('table', { name: 'Routes' });
    await routes.getByText('Marketing; to *.edu').waitFor();
    expect((await call('GET', '/routing')).routes).toEqual([
      {
        match: { messageClass: ['MARKETING'], receivers: ['*.edu'] },
        providers: [{ id: provider.id, weight: 1 }],
        onDown: 'hold',
      },
    ]);

    await page.getByRole('button', { name: 'Try a mail' }).click();
    const trial = page.getByRole('dialog', { name: 'Try a mail' });
    await trial.getByLabel('From').fill('news@shop.test');
    await trial.getByLabel('To').fill('ann@uni.edu');
    await trial.getByRole('button', { name: 'Show' }).click();
    await trial.getByText('Route 1 decides.').waitFor();
    await trial.getByRole('row', { name: 'Second' }).getByText('Can take it').waitFor();
    await page.keyboard.press('Escape');

    const ask = page.getByRole('dialog');
    const second = page
      .getByRole('table', { name: 'Mail providers' })
      .getByRole('row', { name: 'Second' });
    await second.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await ask.getByRole('button', { name: 'Delete' }).click();
    await ask.getByText('It is in use: 1 route.').waitFor();
    await page.keyboard.press('Escape');

    const warmUp = page.getByRole('region', { name: 'Warm-up', exact: true });
    await warmUp.getByRole('button', { name: 'Start warm-up' }).click();
    const ramp = page.getByRole('dialog', { name: 'Start warm-up' });
    await ramp.getByRole('button', { name: 'Start', exact: true }).click();
    await ramp.locator('[aria-invalid="true"]').waitFor();
    await ramp.getByLabel('Sender domain').selectOption('shop.test');
    await ramp.getByLabel('Mails on the first day').fill('100');
    await ramp.getByLabel('Each day times').fill('2');
    await ramp.getByLabel('Days', { exact: true }).fill('3');
    await ramp.getByText('400 mails on day 3').waitFor();
    await ramp.getByRole('button', { name: 'Start', exact: true }).click();
    const row = warmUp.getByRole('row', { name: 'shop.test' });
    await row.getByText('1 of 3').waitFor();
    await row.getByRole('button', { name: 'Pause' }).click();
    await row.getByText('Paused').waitFor();
    await row.getByRole('button', { name: 'Resume' }).click();
    await row.getByText('Running').waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await ask.getByRole('button', { name: 'Delete' }).click();
    await ask.waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    expect(await call('GET', '/ramps')).toEqual([]);
    faults.push(...found.filter((text) => !/status of 4(09|22)/.test(text)));
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [], options);
    const { page, open, call, check, faults: found } = shop;
    const { id } = await call('POST', '/providers', {
      name: 'A provider with a long name '.repeat(3).trim(),
      kind: 'smtp',
      host: 'smtp.example.com',
    });
    await call('PUT', '/routing', { routes: [{ match: {}, providers: [{ id }] }] });
    await call('POST', '/ramps', { providerId: id, startPerDay: 100, days: 3 });
    await open('settings/domains');
    await page.getByRole('table', { name: 'Warm-ups' }).waitFor();
    await page.getByRole('table', { name: 'Routes' }).waitFor();
    await check('providers, routes and warm-ups');
    for (const name of ['Add provider', 'Add route', 'Start warm-up']) {
      await page.getByRole('button', { name }).click();
      await page.getByRole('dialog', { name }).waitFor();
      await check(name);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog', { name }).waitFor({ state: 'detached' });
    }
    faults.push(...found);
  });
});
