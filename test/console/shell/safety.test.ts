import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { consolePath, openConsole } from '../../support/console/open.ts';
import { openShop } from '../../support/console/shop.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** Attacks on the users of the console: by the texts that it shows, by links, by old sessions. */

const browser = await useBrowser();
const api = await useApi();
const password = 'a password';
const evil = '<img src=x onerror="document.title=1">';

describe.runIf(browser)('the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('shows everything that was written by others as text', async () => {
    const contact = { email: 'eve@shop.test', data: { name: evil, [`${evil} key`]: evil } };
    const { page, open, call, projectId, ...shop } = await openShop(browser!, api, [contact]);
    await call('PATCH', `/users/@me/projects/${projectId}`, { name: evil });
    const domain = `${projectId}.test`;
    await call('POST', '/domains', { domain, projectId });
    const from = `team@${domain}`;
    await call('POST', '/events/track', { name: evil, contactId: await firstId(), data: { evil } });
    const { id: segment } = await call('POST', '/segments', { name: evil, type: 'STATIC' });
    await call('POST', `/segments/${segment}/members`, { emails: [contact.email] });
    const { id: template } = await call('POST', '/templates', {
      name: evil,
      subject: evil,
      body: '<p>Hi</p>',
      type: 'MARKETING',
      from,
    });
    const { data: campaign } = await call('POST', '/campaigns', {
      name: evil,
      subject: evil,
      body: '<p>Hi</p>',
      from,
      audienceType: 'ALL',
    });
    const { id: workflow } = await call('POST', '/workflows', { name: evil, eventName: evil });
    const step = { type: 'DELAY', name: evil, config: { amount: 1, unit: 'days' } };
    await call('POST', `/workflows/${workflow}/steps`, step);
    for (const [path, shown] of [
      ['', 'Overview'],
      ['contacts', contact.email],
      [`contacts/${await firstId()}`, evil],
      ['segments', evil],
      [`segments/${segment}`, contact.email],
      ['templates', evil],
      [`templates/${template}`, evil],
      ['campaigns', evil],
      [`campaigns/${campaign.id}`, evil],
      ['workflows', evil],
      [`workflows/${workflow}`, evil],
      [`workflows/${workflow}/edit`, evil],
      ['events', evil],
      ['activity', evil],
    ] as const) {
      await open(path);
      const place = page.locator('main');
      await place.getByText(shown).filter({ visible: true }).first().waitFor();
      expect([path, await page.locator('img[onerror]').count()]).toEqual([path, 0]);
      expect([path, await page.title()]).not.toEqual([path, '1']);
    }
    faults.push(...shop.faults);

    async function firstId(): Promise<string> {
      return (await call('GET', '/contacts')).data[0].id;
    }
  });

  it.each([
    ['https://evil.example/console', ''],
    ['//evil.example', ''],
    ['/\\evil.example', ''],
    ['javascript:alert(1)', ''],
    ['/auth/login', ''],
    ['/account?from=mail', '/account?from=mail'],
  ])('leads after a log-in to no other site: %s', async (next, expected) => {
    const { email, cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    const user = await openConsole(browser!, api, { email, cookie: 'none=none' });
    const { page } = user;
    await user.open(`/auth/login?next=${encodeURIComponent(next)}`);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    const at = expected === '' ? `/${id}` : expected;
    await page.waitForURL(`${api.url}${consolePath}${at}`);
  });

  it('ends the session by "Log out", and then shows nothing', async () => {
    const { page, open, cookie, call } = await openShop(browser!, api, []);
    await open('contacts');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
    expect((await api.request('GET', '/users/@me', { cookie })).status).toBe(401);
    expect((await call('GET', '/contacts')).error.code).toBe('UNAUTHORIZED');
    await page.goBack();
    await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  });

  it('asks to log in when the session ends meanwhile, and goes on with the page', async () => {
    const { page, open, cookie, email, projectId } = await openShop(browser!, api, []);
    await open('contacts?search=ada');
    await api.request('GET', '/auth/logout', { cookie });
    await page.getByRole('link', { name: 'Segments' }).click();
    await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('heading', { name: 'Segments', level: 1 }).waitFor();
    expect(page.url()).toBe(`${api.url}${consolePath}/${projectId}/segments`);
  });
});
