import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The templates of a project in a browser. */

const browser = await useBrowser();
const api = await useApi();

describe.runIf(browser)('the templates in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  /** A user with a project, its templates and one contact. */
  async function openProject(options = {}) {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const call = async (method: string, path: string, body?: unknown) => {
      const answer = await api.request(method, path, { key: project.secretKey, body });
      expect(answer.status).toBeLessThan(300);
      return answer.body;
    };
    await call('POST', '/domains', { domain: `${project.id}.test` });
    const template = (name: string, body = `<p>Hello {{ name }}</p>`) =>
      call('POST', '/templates', { name, subject: 'Hi', body, type: 'TRANSACTIONAL' });
    const user = await openConsole(
      browser!,
      api,
      { email, cookie, projectId: project.id },
      options,
    );
    return { ...user, call, template, from: `shop@${project.id}.test`, project };
  }

  it('are found, and deleted unless the user takes it back', async () => {
    const { page, open, template, call, faults: found } = await openProject();
    const welcome = await template('Welcome');
    await template('Receipt');
    await open('templates');
    await page.getByLabel('Search templates').fill('rec');
    await page.waitForURL(/search=rec/);
    await page.getByRole('link', { name: 'Welcome' }).waitFor({ state: 'detached' });
    await page.getByLabel('Search templates').fill('');
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('Welcome').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await row('Welcome').waitFor();
    await row('Receipt').getByRole('button', { name: 'Delete' }).click();
    await row('Receipt').waitFor({ state: 'detached' });
    await page.goto('about:blank');
    await expect
      .poll(async () => (await call('GET', '/templates')).data)
      .toEqual([expect.objectContaining({ id: welcome.id })]);
    faults.push(...found);
  });

  it('stay while a workflow uses them, and lead there', async () => {
    const { page, open, template, call, faults: found } = await openProject();
    const { id } = await template('Welcome');
    const workflow = await call('POST', '/workflows', {
      name: 'New customers',
      triggerType: 'EVENT',
      triggerConfig: { eventName: 'joined' },
    });
    await call('POST', `/workflows/${workflow.id}/steps`, {
      type: 'SEND_EMAIL',
      name: 'Say hello',
      templateId: id,
      config: {},
    });
    await open('templates');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('link', { name: 'New customers: Say hello' }).waitFor();
    expect((await call('GET', '/templates')).total).toBe(1);
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async (look) => {
    const user = await openProject(look.options);
    await user.template('Welcome', `<h1>Welcome</h1>${'<p>A long text of a mail</p>'.repeat(20)}`);
    for (const path of ['templates']) {
      await user.open(path);
      await user.page.waitForLoadState('networkidle');
      expect([path, await axeFindings(user.page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(user.page)]).toEqual([path, false]);
    }
    faults.push(...user.faults);
  });
});
