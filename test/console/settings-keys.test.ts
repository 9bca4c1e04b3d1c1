import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { type ConsoleShop, openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { waitFor } from '../support/wait-for.ts';

/** Keys, the request log and security events in a browser. */

const browser = await useBrowser();
const api = await useApi({ REQUEST_LOG_DAYS: '30' });

describe.runIf(browser)('API keys in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  const statusWith = async (key: string, path = '/contacts') =>
    (await api.request('GET', path, { key })).status;
  const keyIn = async ({ page }: ConsoleShop) =>
    (await page.getByText(/^sk_[0-9a-f]{64}$/).textContent())!;

  it('are regenerated after the name was typed, and shown until the page is left', async () => {
    const shop = await openShop(browser!, api, []);
    const { page, open, call } = shop;
    const { secretKey } = await api.createProject(shop.cookie, 'Another shop');
    await open('settings/keys');
    const [{ public: before }] = await call('GET', '/users/@me/projects');
    await page.getByText(before).waitFor();
    await page.getByText(/^sk_…/).waitFor();
    await page.getByRole('button', { name: 'Regenerate keys' }).click();
    const dialog = page.getByRole('dialog');
    const regenerate = dialog.getByRole('button', { name: 'Regenerate keys' });
    expect(await regenerate.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox').fill('Shop');
    await regenerate.click();
    const key = await keyIn(shop);
    await page.getByText(before).waitFor({ state: 'detached' });
    expect(await statusWith(key)).toBe(200);
    expect(await statusWith(secretKey)).toBe(200);
    const storage = 'JSON.stringify([localStorage, sessionStorage, history.state, location.href])';
    expect(await page.evaluate<string>(storage)).not.toContain(key);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))");
    await page.getByText(key).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor();
    await page.goBack();
    await page.getByText(/^sk_…/).waitFor();
    expect(await page.getByText(key).count()).toBe(0);
    faults.push(...shop.faults);
  });

  it('are made for one purpose, rotated with an overlap, and revoked', async () => {
    const shop = await openShop(browser!, api, []);
    const { page, open } = shop;
    await open('settings/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Reports');
    await dialog.getByRole('checkbox', { name: 'contacts:read', exact: true }).check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const first = await keyIn(shop);
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(await statusWith(first)).toBe(200);
    expect(await statusWith(first, '/templates')).toBe(403);
    await page.getByRole('table', { name: 'Named keys' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Reports', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByLabel('Present value').selectOption('3600');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByText(/^sk_[0-9a-f]{64}$/).waitFor();
    const second = await keyIn(shop);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Being replaced').waitFor();
    expect(await Promise.all([first, second].map((key) => statusWith(key)))).toEqual([200, 200]);
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Networks').fill('198.51.100.0/24');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('198.51.100.0/24').waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).first().waitFor();
    await waitFor('the end of the key', async () => (await statusWith(second)) === 401);
    faults.push(...shop.faults);
  });

  it('say at its field what is wrong', async () => {
    const { page, open } = await openShop(browser!, api, []);
    await open('settings/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Reports');
    await dialog.getByLabel('Networks').fill('nowhere');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.locator('[aria-invalid="true"]').first().waitFor();
    expect(await dialog.getByLabel('Networks').getAttribute('aria-invalid')).toBe('true');
    const everything = dialog.getByRole('checkbox', { name: 'Everything, also' });
    expect(await everything.getAttribute('aria-invalid')).toBe('true');
  });

  it('have a log of requests: which key, which answer, which field', async () => {
    const shop = await openShop(browser!, api, []);
    const { page, open, call } = shop;
    const made = await call('POST', '/api-keys', { name: 'Backend', scopes: ['contacts:write'] });
    const body = { email: 'nobody' };
    await api.request('POST', '/contacts', { key: made.key, body });
    const list = `/requests?keyId=${made.id}`;
    await waitFor('the entry', async () => (await call('GET', list)).total === 1);
    await open(`settings/keys?tab=Requests&by=key+${made.id}`);
    const row = page.getByRole('table', { name: 'Requests' });
    await row.getByText('VALIDATION_ERROR').waitFor();
    await row.getByRole('button', { name: 'POST /contacts' }).click();
    const fields = page.getByRole('dialog').getByRole('list', { name: 'Refused fields' });
    await fields.getByText('email').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Result').selectOption('5xx');
    await page.getByText('No request fits this search.').waitFor();
    expect(page.url()).toContain('status=5xx');
    faults.push(...shop.faults);
  });

  it('have a log of changes, which can be filtered and saved', async () => {
    const shop = await openShop(browser!, api, []);
    const { page, open, call } = shop;
    await call('PUT', '/secrets/TOKEN', { value: 'a value' });
    await call('POST', '/topics', {
      key: 'news',
      name: 'News',
      default: 'subscribed',
    });
    await open('settings/keys');
    await page.getByRole('tab', { name: 'Security events' }).click();
    const table = page.getByRole('table', { name: 'Security events' });
    await table.getByText('topic.created').waitFor();
    await page.getByLabel('Event', { exact: true }).fill('secret.*');
    await table.getByText('topic.created').waitFor({ state: 'detached' });
    await table.getByText('Secret: set').waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    expect((await saved).suggestedFilename()).toBe('security-events.ndjson');
    faults.push(...shop.faults);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [], options);
    const { page, open, call, check } = shop;
    await open('settings/keys');
    await check('no named key');
    const { id } = await call('POST', '/api-keys', {
      name: 'A long name of a key '.repeat(4).trim(),
      scopes: ['contacts:read', 'contacts:write', 'emails:read', 'emails:write', 'keys:read'],
    });
    await open('settings/keys');
    await page.getByRole('table', { name: 'Named keys' }).waitFor();
    await check('keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('dialog').waitFor();
    await check('new key');
    await open(`settings/keys/${id}`);
    await check('key');
    await open('settings/keys?tab=Security+events');
    await page.getByRole('table', { name: 'Security events' }).waitFor();
    await check('security events');
    await open('settings/keys?tab=Requests');
    await check('requests');
    faults.push(...shop.faults);
  });
});
