import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../../support/console/axe.ts';
import { openConsole } from '../../support/console/open.ts';
import { useBrowser } from '../../support/processes/chromium.ts';

/** The first pages of the console in a browser: log-in, sign-up, the first project. */

const browser = await useBrowser();
const api = await useApi();

describe.runIf(browser)('the first pages of the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function open(path: string, options = {}) {
    const user = await openConsole(browser!, api, { email: '', cookie: 'none=none' }, options);
    await user.open(path);
    return user;
  }

  it('lead from sign-up to a project, by keyboard alone', async () => {
    const { page } = await open('/auth/signup');
    await page.getByLabel('Email').focus();
    await page.keyboard.type('zoe@users.test');
    await page.keyboard.press('Tab');
    await page.keyboard.type('a long enough password');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Create a project' }).waitFor();
    await page.getByLabel('Name').fill('<img src=x onerror=alert(1)>');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    expect(await page.title()).toBe('Get started · <img src=x onerror=alert(1)> · Everpost');
    expect(await page.getByRole('navigation', { name: 'Main' }).isVisible()).toBe(true);
  });

  it('say at its field what is wrong, and keep what was typed', async () => {
    const { page } = await open('/auth/signup');
    await page.getByLabel('Email').fill('nobody');
    await page.getByLabel('Password').fill('short');
    await page.getByRole('button', { name: 'Sign up' }).click();
    const email = page.getByLabel('Email');
    await page.locator('[aria-invalid="true"]').first().waitFor();
    expect(await email.getAttribute('aria-invalid')).toBe('true');
    expect(await email.inputValue()).toBe('nobody');
    expect(await page.evaluate<string>('document.activeElement.name')).toBe('email');
  });

  it('refuse a wrong password, and lead back to the page that was asked for', async () => {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    await api.request('POST', '/auth/request-verification', { cookie });
    const user = await openConsole(browser!, api, {
      email,
      cookie: 'none=none',
      projectId: project.id,
    });
    const { page } = user;
    await user.open('?period=7');
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
  });

  it('show nothing of a project of others', async () => {
    const owner = await api.signUp();
    const project = await api.createProject(owner.cookie, 'Secret shop');
    const stranger = await api.signUp();
    const user = await openConsole(browser!, api, { ...stranger, projectId: project.id });
    await user.open('');
    await user.page.getByRole('heading', { name: 'Not found' }).waitFor();
    expect(await user.page.getByText('Secret shop').count()).toBe(0);
    faults.push(...user.faults);
  });

  it.each(looks)('have no fault that axe finds: $name', async (look) => {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const user = await openConsole(
      browser!,
      api,
      { email, cookie, projectId: project.id },
      look.options,
    );
    for (const path of ['/auth/login', '/auth/signup', '/projects/new', '/design', '']) {
      await user.open(path);
      await user.page.waitForLoadState('networkidle');
      expect([path, await axeFindings(user.page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(user.page)]).toEqual([path, false]);
    }
    faults.push(...user.faults);
  });
});
