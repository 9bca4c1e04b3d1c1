import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useDnsServer } from '../support/fakes/dns-server.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The domains of a project in a browser: DNS records, signing, links. */

const browser = await useBrowser();
const dns = await useDnsServer();
const api = await useApi({
  DNS_SERVERS: dns.address,
  SMTP_HOST: 'out.everpost.test',
  RETURN_PATH_HOST: 'mx.everpost.test',
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
  INBOUND_MIME_SECRET: 's'.repeat(16),
});

describe.runIf(browser)('domains in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));
  const unexpected = (found: readonly string[]) =>
    faults.push(...found.filter((text) => !text.includes('status of 422')));

  it('are added, and verified as soon as DNS has their records', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings/domains');
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    await page.getByLabel('Domain', { exact: true }).fill('Mycorp.dev');
    await page.getByRole('button', { name: 'Add domain' }).click();
    const card = page.getByRole('region', { name: 'mycorp.dev', exact: true });
    const row = card
      .getByRole('table', { name: 'DNS records' })
      .getByRole('row', { name: 'Signature (DKIM)' });
    await row.getByText('Not found').waitFor();
    const [domain] = await call('GET', '/domains');
    const [{ name, strings, value }] = domain.records;
    dns.publish(name, 'TXT', 'v=DKIM1; k=rsa; p=AAAA');
    await card.getByRole('button', { name: 'Check now' }).click();
    await row.getByText('Has another value').waitFor();
    await row.getByText('p=AAAA').waitFor();
    dns.publish(name, 'TXT', strings);
    await card.getByRole('button', { name: 'Check now' }).click();
    await row.getByText('Found', { exact: true }).waitFor();
    await card.getByText('Verified', { exact: true }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row.getByRole('button', { name: 'Copy value' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(value);
    unexpected(found);
  });

  it('get a next key, links of their own, and another signer', async () => {
    const { page, open, call, projectId, faults: found } = await openShop(browser!, api, []);
    const { id } = await call('POST', '/domains', { domain: 'x.test', projectId });
    await open('settings/domains');
    const card = page.getByRole('region', { name: 'x.test', exact: true });
    await card.getByRole('button', { name: 'Signing and links' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tracking subdomain').fill('a.b');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    await dialog.getByLabel('Tracking subdomain').fill('go');
    await dialog.getByLabel('Take mail to this domain').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await card.getByText('go.x.test').first().waitFor();
    expect(await call('GET', `/domains/${id}`)).toMatchObject({
      inbound: true,
      tracking: { host: 'go.x.test', status: 'pending' },
    });
    await card.getByRole('button', { name: 'Rotate key' }).click();
    await card.getByText('Next key', { exact: true }).waitFor();
    unexpected(found);
  });

  it('are deleted when nothing sends from them', async () => {
    const { page, open, call, projectId } = await openShop(browser!, api, []);
    await call('POST', '/domains', { domain: 'y.test', projectId });
    const template = await call('POST', '/templates', {
      name: 'Welcome',
      subject: 'Hello',
      body: '<p>Hello</p>',
      from: 'shop@y.test',
      type: 'MARKETING',
    });
    await open('settings/domains');
    const card = page.getByRole('region', { name: 'y.test', exact: true });
    await card.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    const uses = page.getByRole('list', { name: 'Used by' });
    await uses.getByRole('link', { name: 'Template Welcome' }).waitFor();
    await page.keyboard.press('Escape');
    await call('DELETE', `/templates/${template.id}`);
    await card.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await card.waitFor({ state: 'detached' });
    expect(await call('GET', '/domains')).toEqual([]);
  });

  it('are only looked at by members', async () => {
    const { call, projectId } = await openShop(browser!, api, []);
    await call('POST', '/domains', { domain: 'z.test', projectId });
    const bob = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ user_id: bob.userId, project_id: projectId, role: 'MEMBER' })
      .execute();
    const { page, open } = await openConsole(browser!, api, { ...bob, projectId });
    await open('settings/domains');
    const card = page.getByRole('region', { name: 'z.test', exact: true });
    const button = card.getByRole('button', { name: 'Delete' });
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    expect(await button.getAttribute('title')).toContain('Only administrators');
    await card.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('z.test is verified.').waitFor();
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [], options);
    const { page, open, call, check, projectId, faults: found } = shop;
    await open('settings/domains');
    await page.getByText('A domain is what stands after the @').waitFor();
    await check('no domain');
    for (const domain of ['shop.test', `${'a-long-name-'.repeat(4)}x.example.com`]) {
      await call('POST', '/domains', { domain, projectId });
    }
    await open('settings/domains');
    await page.getByRole('table', { name: 'DNS records' }).first().waitFor();
    await check('domains');
    faults.push(...found);
  });
});
