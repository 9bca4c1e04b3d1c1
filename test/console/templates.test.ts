import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { consolePath, openConsole } from '../support/console/open.ts';
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

  it('are written beside the mail that a contact gets, and tested', async () => {
    const { page, open, call, from, project, email, faults: found } = await openProject();
    await call('POST', '/contacts', { email: 'ann@shop.test', data: { name: 'Ann' } });
    await open('templates');
    await page.getByRole('button', { name: 'New template' }).click();
    await page.getByRole('heading', { name: 'New template' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Welcome');
    await page.getByLabel('Subject').fill('Hello {{ name }}');
    await page.getByLabel('From', { exact: true }).fill(from);
    await page.getByRole('textbox', { name: 'HTML' }).focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(
      '<p>Dear {{ name }}</p>\n<script>parent.x = 1; document.body.append("ran")</script>\n{{ nmae }}',
    );
    const mail = page.frameLocator('iframe[title="Preview"]');
    await mail.getByText('Dear Ann').waitFor();
    await page.getByText('Hello Ann').waitFor();
    expect(await mail.getByText('ran').count()).toBe(0);
    const warning = page.getByRole('list', { name: 'Warnings' }).getByRole('button');
    await warning.filter({ hasText: 'Line 3' }).click();
    expect(await page.locator('.cm-activeLine').textContent()).toBe('{{ nmae }}');
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    await page.getByRole('region', { name: 'Text of the mail' }).getByText('Dear Ann').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Welcome' }).waitFor();
    const { data } = await call('GET', '/templates');
    expect(data).toMatchObject([{ name: 'Welcome', subject: 'Hello {{ name }}', from }]);
    expect(page.url()).toBe(`${api.url}${consolePath}/${project.id}/templates/${data[0].id}`);
    await page.getByRole('button', { name: 'Send test' }).click();
    expect(await page.getByRole('dialog').getByLabel('To').inputValue()).toBe(email);
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.getByText('The test is on its way').waitFor();
    faults.push(...found);
  });

  it('are never overwritten unseen, and unsaved work outlives a reload', async () => {
    const { page, open, template, call } = await openProject();
    const { id } = await template('Welcome');
    await open(`templates/${id}`);
    await page.getByLabel('Subject').fill('Mine');
    await page.reload();
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Mine');
    await call('PATCH', `/templates/${id}`, { subject: 'Theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody else has changed this' });
    await dialog.getByRole('button', { name: 'Load theirs' }).click();
    await expect.poll(() => page.getByLabel('Subject').inputValue()).toBe('Theirs');
    await page.getByLabel('Subject').fill('Mine again');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
    await call('PATCH', `/templates/${id}`, { subject: 'Theirs again' });
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('The template is saved.').waitFor();
    expect((await call('GET', `/templates/${id}`)).subject).toBe('Mine again');
  });

  it.each(looks)('have no fault that axe finds: $name', async (look) => {
    const user = await openProject(look.options);
    const { id } = await user.template(
      'Welcome',
      `<h1>Welcome</h1>${'<p>A long text of a mail</p>'.repeat(20)}`,
    );
    for (const path of ['templates', `templates/${id}`]) {
      await user.open(path);
      await user.page.waitForLoadState('networkidle');
      expect([path, await axeFindings(user.page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(user.page)]).toEqual([path, false]);
    }
    faults.push(...user.faults);
  });
});
