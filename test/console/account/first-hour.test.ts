import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../../support/console/axe.ts';
import { openConsole } from '../../support/console/open.ts';
import { useEngine } from '../../support/engine.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** The first hour in a browser: from sign-up to a mail in the mailbox. */

const run = promisify(execFile);
const browser = await useBrowser();
const engine = await useEngine();
const { api } = engine;

describe.runIf(browser)('the first hour', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  const nobody = { email: '', cookie: 'none=none' };

  it('leads from sign-up to a mail in the mailbox in at most 8 clicks', async () => {
    const { page, ...user } = await openConsole(browser!, api, nobody);
    const email = `${randomUUID()}@users.test`;
    let clicks = 0;
    const click = async (target: Locator) => {
      await target.click();
      clicks += 1;
    };
    const region = (name: string) => page.getByRole('region', { name, exact: true });
    await user.open('/auth/signup');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('a long enough password');
    await click(page.getByRole('button', { name: 'Sign up' }));
    await page.getByLabel('Name').fill('Shop');
    await click(page.getByRole('button', { name: 'Create project' }));
    await page.getByRole('heading', { level: 1, name: 'Get started' }).waitFor();

    const keys = region('API key');
    await click(keys.getByRole('button', { name: 'Copy key' }));
    await keys.getByText('Done').waitFor();

    const domain = region('Domain');
    await domain.getByText('need no DNS').waitFor();
    await domain.getByRole('textbox').fill(`${randomUUID()}.test`);
    await click(domain.getByRole('button', { name: 'Add domain' }));
    await domain.getByRole('table', { name: 'DNS records' }).waitFor();
    await domain.getByText('Done').waitFor();

    const first = region('First email');
    expect(await first.getByLabel('To').inputValue()).toBe(email);
    await click(first.getByRole('button', { name: 'Send email' }));
    const opened = page.waitForEvent('popup', { timeout: 60_000 });
    await click(first.getByRole('link', { name: 'Open the mailbox' }));
    const mailbox = await opened;
    await mailbox.getByText('Hello from Shop').first().waitFor();
    expect(clicks).toBeLessThanOrEqual(8);
    await first.getByText('Done', { exact: true }).waitFor({ timeout: 30_000 });
    const trace = first.getByRole('list', { name: 'Trace' });
    await trace.getByText('The mail provider accepted it.').waitFor();
  }, 120_000);

  it('shows the key once, in requests that run as they stand', async () => {
    const owner = await api.signUp(`o'${randomUUID()}@users.test`);
    const { page, ...user } = await openConsole(browser!, api, owner);
    await user.open('/projects/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByRole('button', { name: 'Create project' }).click();
    const region = page.getByRole('region', { name: 'API key' });
    const key = await region.locator('code').first().innerText();
    expect(key).toMatch(/^sk_/);
    const programs: [tab: string, command: string, option: string][] = [
      ['curl', 'sh', '-c'],
      ['Node.js', 'node', '-e'],
      ['Python', 'python3', '-c'],
    ];
    for (const [tab, command, option] of programs) {
      await region.getByRole('tab', { name: tab }).click();
      const code = await region.getByRole('tabpanel').locator('pre').innerText();
      const { stdout } = await run(command, [option, code]);
      expect([tab, stdout.replaceAll(/\s/g, '')]).toEqual([tab, expect.stringMatching(/success/)]);
    }
    const { body } = await api.request('GET', '/contacts', { key });
    expect(body.data).toMatchObject([{ email: owner.email }]);
    const projectId = page.url().split('/').at(-2)!;
    expect(JSON.stringify(await page.context().storageState())).not.toContain(key);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Get started' }).click();
    await region.getByText('It was shown once').waitFor();
    expect(await page.content()).not.toContain(key);
    expect(page.url()).toContain(projectId);
    faults.push(...user.faults);
  });

  it('is in the navigation until it is hidden, or all is done', async () => {
    const owner = await api.signUp();
    const { id: projectId, secretKey: key } = await api.createProject(owner.cookie, 'Shop');
    const { page, ...user } = await openConsole(browser!, api, { ...owner, projectId });
    await user.open('');
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', {
      name: 'Get started',
    });
    await link.click();
    await page.getByText('0 of 5 done').waitFor();
    const send = page.getByRole('button', { name: 'Send email' });
    expect(await send.getAttribute('title')).toBe('Verify a domain first.');
    await page.getByRole('region', { name: 'Contacts' }).getByRole('button').click();
    const dialog = page.getByRole('dialog', { name: 'Add contact' });
    await dialog.getByLabel('Email').fill('ann@people.test');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('1 of 5 done').waitFor();
    await page.getByRole('link', { name: 'Choose a workflow' }).click();
    await page.getByRole('heading', { level: 1, name: 'New workflow' }).waitFor();
    await user.open('start');
    await page.getByRole('button', { name: 'Hide' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await link.count()).toBe(0);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await link.count()).toBe(0);

    const domain = `${randomUUID()}.test`;
    await api.request('POST', '/domains', { key, body: { domain } });
    const mail = { from: `a@${domain}`, to: 'ann@people.test', subject: 'Hi', body: '<p>Hi</p>' };
    await api.request('POST', '/v1/send', { key, body: mail });
    const graph = {
      trigger: { type: 'MANUAL', config: {} },
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'end', type: 'EXIT', name: 'End', config: {} },
      ],
      transitions: [{ from: 'trigger', to: 'end' }],
    };
    await api.request('POST', '/contacts', { key, body: { email: 'bob@people.test' } });
    await api.request('POST', '/workflows', { key, body: { name: 'W', graph, enabled: true } });
    await user.open('start');
    await page.getByText('5 of 5 done').waitFor({ timeout: 60_000 });
    faults.push(...user.faults);
  }, 120_000);

  it('asks the API at most 5 times in 30 seconds when nothing changes', async () => {
    const owner = await api.signUp();
    const { id: projectId } = await api.createProject(owner.cookie, 'Shop');
    const { page, ...user } = await openConsole(browser!, api, { ...owner, projectId });
    await user.open('start');
    // The pauses between two reads become longer: 2, 4, 8, 16 and then 30 seconds.
    await page.waitForTimeout(32_000);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.waitForTimeout(30_000);
    expect(requests.length).toBeLessThanOrEqual(5);
    faults.push(...user.faults);
  }, 120_000);

  it.each(looks)('has no fault that axe finds: $name', async (look) => {
    const owner = await api.signUp();
    const { page, ...user } = await openConsole(browser!, api, owner, look.options);
    await user.open('/projects/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByRole('button', { name: 'Create project' }).click();
    const check = async (place: string) => {
      await page.waitForLoadState('networkidle');
      expect([place, await axeFindings(page)]).toEqual([place, []]);
      expect([place, await scrollsSideways(page)]).toEqual([place, false]);
    };
    await page.getByRole('textbox', { name: 'Domain' }).waitFor();
    await check('new');
    await page.getByRole('textbox', { name: 'Domain' }).fill(`${randomUUID()}.test`);
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.getByRole('table', { name: 'DNS records' }).waitFor();
    await page.getByRole('button', { name: 'Send email' }).click();
    await page.getByRole('list', { name: 'Trace' }).waitFor();
    await check('with a domain and a mail');
    faults.push(...user.faults);
  });
});
