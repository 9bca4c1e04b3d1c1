import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { type ConsoleShop, openShop } from '../support/console/shop.ts';
import { sessionSince } from '../support/sessions.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The settings of a project in a browser: project, members, secrets. */

const browser = await useBrowser();
const api = await useApi();

const people = [{ email: 'ann@shop.test' }, { email: 'bob@shop.test' }];

describe.runIf(browser)('the settings in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  /** Opens the project of a shop for another user, who is made a member of it. */
  async function openMember(shop: ConsoleShop) {
    const member = await api.signUp();
    const body = { email: member.email };
    await shop.call('POST', `/projects/${shop.projectId}/members`, body);
    return openConsole(browser!, api, { ...member, projectId: shop.projectId });
  }

  it('change the project, and say at its field what is wrong', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    await open('');
    await page.getByRole('navigation', { name: 'Main' }).getByText('Settings').click();
    await page.getByRole('heading', { name: 'Project', level: 1 }).waitFor();
    const names = await page
      .getByRole('navigation', { name: 'Settings' })
      .getByRole('link')
      .allTextContents();
    expect(names).toEqual([
      'Project',
      'API keys',
      'Domains',
      'Members',
      'Topics',
      'Consent',
      'Send policy',
      'Suppression list',
      'Event subscriptions',
      'Secrets',
    ]);
    await page.getByLabel('Name').fill('Book shop');
    await page.getByLabel('Tracking').selectOption('MARKETING_ONLY');
    await page.getByLabel('Language').fill('german');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await save.click();
    await page.locator('[aria-invalid="true"]').waitFor();
    expect(await page.getByLabel('Language').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Name').inputValue()).toBe('Book shop');
    await page.getByLabel('Language').fill('de-AT');
    await save.click();
    await page.getByText('The settings are saved.').waitFor();
    await page.getByRole('button', { name: 'Project: Book shop' }).waitFor();
    expect(await call('GET', '/users/@me/projects')).toMatchObject([
      { name: 'Book shop', tracking: 'MARKETING_ONLY', language: 'de-AT' },
    ]);
  });

  it('show the signing secret when asked, and replace it', async () => {
    const { page, open, call, projectId, faults: found } = await openShop(browser!, api, []);
    const [{ webhookSigningSecret: before }] = await call('GET', '/users/@me/projects');
    await open('settings');
    await page.getByText(projectId).waitFor();
    expect(await page.getByText(before).count()).toBe(0);
    await page.getByRole('button', { name: 'Show secret' }).click();
    await page.getByText(before).waitFor();
    await page.getByRole('button', { name: 'Regenerate secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Regenerate secret' }).click();
    await page.getByText(before).waitFor({ state: 'detached' });
    const [{ webhookSigningSecret: after }] = await call('GET', '/users/@me/projects');
    expect(after).not.toBe(before);
    await page.getByText(after).waitFor();
    faults.push(...found);
  });

  it('reset and delete the project only after its name was typed', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, people);
    await open('settings');
    await page.getByRole('button', { name: 'Reset project' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 contacts').waitFor();
    const reset = dialog.getByRole('button', { name: 'Reset project' });
    expect(await reset.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox').fill('Shop');
    await reset.click();
    await page.getByText('The project is empty.').waitFor();
    expect((await call('GET', '/contacts')).total).toBe(0);
    await page.getByRole('button', { name: 'Delete project' }).click();
    await dialog.getByRole('textbox').fill('Shop');
    await dialog.getByRole('button', { name: 'Delete project' }).click();
    await page.getByRole('heading', { name: 'Create a project' }).waitFor();
    expect(await call('GET', '/users/@me/projects')).toEqual([]);
    faults.push(...found);
  });

  it('are disabled for a member, with the reason, who can leave', async () => {
    const shop = await openShop(browser!, api, []);
    await shop.call('PUT', '/secrets/TOKEN', { value: 'a value' });
    const { page, open } = await openMember(shop);
    const off = [
      ['settings', ['Save', 'Reset project', 'Delete project']],
      ['settings/keys', ['Regenerate keys', 'New key']],
      ['settings/members', ['Invite']],
      ['settings/secrets', ['New secret', 'Replace', 'Delete']],
    ] as const;
    for (const [path, names] of off) {
      await open(path);
      for (const name of names) {
        const button = page.getByRole('button', { name, exact: true });
        await button.waitFor();
        expect([name, await button.getAttribute('aria-disabled')]).toEqual([name, 'true']);
        expect(await button.getAttribute('title')).toContain('administrators');
      }
    }
    await open('settings/members');
    await page.getByRole('button', { name: 'Leave project' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave project' }).click();
    await page.getByRole('heading', { name: 'Create a project' }).waitFor();
    const { data } = await shop.call('GET', `/projects/${shop.projectId}/members`);
    expect(data).toHaveLength(1);
  });

  it('invite people, change their role and remove them', async () => {
    const { page, open, email, call, projectId } = await openShop(browser!, api, []);
    await open('settings/members');
    await page.getByLabel('Email').fill('zoe@nowhere.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('alert').getByText('zoe@nowhere.test').waitFor();
    await page.getByRole('alert').getByText('/auth/signup').waitFor();
    const { email: other } = await api.signUp();
    await page.getByLabel('Email').fill(other);
    await page.getByLabel('Role').selectOption('ADMIN');
    await page.getByRole('button', { name: 'Invite' }).click();
    const table = page.getByRole('table', { name: 'Members' });
    const row = table.getByRole('row', { name: other });
    await row.getByText('Administrator').waitFor();
    expect(await page.getByLabel('Email').inputValue()).toBe('');
    const own = table.getByRole('row', { name: email });
    const removeOwner = own.getByRole('button', { name: 'Remove' });
    expect(await removeOwner.getAttribute('aria-disabled')).toBe('true');
    await row.getByRole('button', { name: 'Make member' }).click();
    await row.getByRole('button', { name: 'Make administrator' }).waitFor();
    const members = () => call('GET', `/projects/${projectId}/members`);
    expect((await members()).data[1]).toMatchObject({ email: other, role: 'MEMBER' });
    await row.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.locator('[role=dialog]').waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    expect((await members()).data).toHaveLength(1);
  });

  it('say why the project is disabled, and change nothing', async () => {
    const { page, open, projectId } = await openShop(browser!, api, []);
    const reason = { disabled_reason: 'EMAIL_REPUTATION' };
    await api.db.updateTable('project').set(reason).where('id', '=', projectId).execute();
    await open('settings');
    await page.getByText('Too many of its mails bounced').waitFor();
    await page.getByLabel('Name').fill('Another name');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alert').getByText('PROJECT_DISABLED').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Another name');
  });

  it('let only the owner allow the secret key to make administrators', async () => {
    const shop = await openShop(browser!, api, []);
    const { page, open, call, projectId } = shop;
    await open('settings/members');
    const region = page.getByRole('region', { name: 'Administrators by key' });
    await region.getByRole('button', { name: 'Allow it' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Allow it' }).click();
    await region.getByRole('button', { name: 'Forbid it' }).waitFor();
    expect(await call('GET', '/users/@me/projects')).toMatchObject([{ keysMayNameAdmins: true }]);
    const admin = await api.signUp();
    const body = { email: admin.email, role: 'ADMIN' };
    await call('POST', `/projects/${projectId}/members`, body);
    const other = await openConsole(browser!, api, { ...admin, projectId });
    await other.open('settings/members');
    for (const name of ['Forbid it', 'Require it of all members']) {
      const button = other.page.getByRole('button', { name });
      await button.waitFor();
      expect(await button.getAttribute('title')).toContain('owner');
    }
  });

  it('ask who it is where the log-in is too old, and then go on', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    const [{ webhookSigningSecret: before }] = await call('GET', '/users/@me/projects');
    await sessionSince(api, (await call('GET', '/users/@me')).id, 121);
    await open('settings');
    await page.getByRole('button', { name: 'Regenerate secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Regenerate secret' }).click();
    const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await proof.getByLabel('Password').fill('a password');
    await proof.getByRole('button', { name: 'Continue' }).click();
    await page.locator('[role=dialog]').first().waitFor({ state: 'detached' });
    const [{ webhookSigningSecret: after }] = await call('GET', '/users/@me/projects');
    expect(after).not.toBe(before);
  });

  it('keep secrets: made, replaced, and deleted only while nothing uses them', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings/secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('SHOP_TOKEN');
    await dialog.getByLabel('Value').fill('tok_1');
    await dialog.getByLabel('Hosts').fill('api.shop.example');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const table = page.getByRole('table', { name: 'Secrets' });
    await table.getByText('SHOP_TOKEN').waitFor();
    await page.getByRole('button', { name: 'New secret' }).click();
    await dialog.getByLabel('Name').fill('SHOP_TOKEN');
    await dialog.getByLabel('Value').fill('tok_2');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('There is a secret of this name').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Replace' }).click();
    expect(await dialog.getByLabel('Hosts').inputValue()).toBe('api.shop.example');
    await dialog.getByLabel('Value').fill('tok_2');
    await dialog.getByLabel('Hosts').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await table.getByRole('row', { name: 'SHOP_TOKEN' }).getByText('All').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await table.getByText('SHOP_TOKEN').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await table.getByText('SHOP_TOKEN').waitFor();
    await call('POST', '/event-subscriptions', {
      url: 'https://hooks.shop.example/in',
      events: ['*'],
      description: 'Warehouse',
      headers: { Authorization: 'Bearer {{secret.SHOP_TOKEN}}' },
    });
    await page.reload();
    await table.getByRole('link', { name: 'Warehouse' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('link', { name: 'Warehouse' }).waitFor();
    expect(await call('GET', '/secrets')).toMatchObject([{ name: 'SHOP_TOKEN' }]);
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, people, options);
    const { page, open, call, check } = shop;
    const { email } = await api.signUp(`${'long-address-'.repeat(3)}${Date.now()}@users.test`);
    await open('settings');
    await check('project');
    await open('settings/secrets');
    await check('no secret');
    await call('POST', `/projects/${shop.projectId}/members`, { email });
    await call('PUT', `/secrets/${'LONG_NAME_'.repeat(5)}`, { value: 'x', hosts: ['a.test'] });
    await open('settings/secrets');
    await page.getByRole('table', { name: 'Secrets' }).waitFor();
    await check('secrets');
    await open('settings/members');
    await page.getByRole('table', { name: 'Members' }).getByText(email).waitFor();
    await check('members');
    await page.getByRole('button', { name: 'Remove' }).last().click();
    await page.getByRole('dialog').waitFor();
    await check('removing a member');
    faults.push(...shop.faults);
  });
});
