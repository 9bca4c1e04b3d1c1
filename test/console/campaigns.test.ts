import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useEngine } from '../support/engine.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The campaigns of a project in a browser, with a worker that sends them. */

const browser = await useBrowser();
const engine = await useEngine();
const { api } = engine;

describe.runIf(browser)('the campaigns in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  /** A user with a project, and four contacts: one is unsubscribed, one is left out by its segment. */
  async function openProject(options = {}) {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const call = async (method: string, path: string, body?: unknown) => {
      const answer = await api.request(method, path, { key: project.secretKey, body });
      expect([path, answer.status < 300]).toEqual([path, true]);
      return answer.body;
    };
    const domain = `${project.id}.test`;
    await call('POST', '/domains', { domain });
    for (const name of ['ann', 'bob', 'cleo']) {
      await call('POST', '/contacts', { email: `${name}@shop.test`, data: { name } });
    }
    await call('POST', '/contacts', { email: 'dora@shop.test', subscribed: false });
    const staff = await call('POST', '/segments', { name: 'Staff', type: 'STATIC' });
    await call('POST', `/segments/${staff.id}/members`, { emails: ['cleo@shop.test'] });
    await call('POST', '/templates', {
      name: 'Sale',
      subject: 'Sale for {{ name }}',
      body: '<p>Dear {{ name }}, <a href="https://shop.test/sale">come</a></p>',
      type: 'MARKETING',
      from: `shop@${domain}`,
    });
    const user = await openConsole(
      browser!,
      api,
      { email, cookie, projectId: project.id },
      options,
    );
    return { ...user, call, project };
  }

  it('are made in four steps, sent, and say who was not reached and why', async () => {
    const { page, open, call, faults: found } = await openProject();
    await open('campaigns');
    await page.getByRole('button', { name: 'New campaign' }).click();
    await page.getByRole('heading', { name: 'New campaign' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Summer');
    await page.getByLabel('Template').selectOption({ label: 'Sale' });
    await page.frameLocator('iframe[title="Preview"]').getByText('Dear').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Summer' }).waitFor();
    await page.getByText('3 recipients').waitFor();
    await page.getByText('1 contact left out: unsubscribed').waitFor();
    await page.getByLabel('Leave out segment').selectOption({ label: 'Staff' });
    await page.getByText('2 recipients').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Emails per minute').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Send to 2 contacts' }).click();
    await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
    await page.getByRole('table', { name: 'Recipients' }).getByText('ann@shop.test').waitFor();
    await page
      .getByRole('region', { name: 'Not reached' })
      .getByRole('button', { name: /Was unsubscribed when the campaign began: 1/ })
      .click();
    await page.getByRole('table', { name: 'Recipients' }).getByText('dora@shop.test').waitFor();
    const sent = page.getByText('Sent', { exact: true });
    await sent.first().waitFor();
    const { data } = await call('GET', '/campaigns');
    expect(data).toMatchObject([{ name: 'Summer', totalRecipients: 2, audienceType: 'FILTERED' }]);
    faults.push(...found);
  });

  it('are scheduled for a time, and cancelled after a question', async () => {
    const { page, open, call } = await openProject();
    const { data } = await call('POST', '/campaigns', {
      name: 'Later',
      audienceType: 'ALL',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from: `shop@${(await call('GET', '/templates')).data[0].from.split('@')[1]}`,
    });
    await open(`campaigns/${data.id}/edit?step=Time`);
    await page.getByLabel('At a time').check();
    await page.getByLabel('Date and time').fill('2039-05-06T07:08');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Schedule', exact: true }).click();
    await page.getByRole('button', { name: 'Schedule for 3 contacts' }).click();
    await page.getByText('It will be sent on 6 May 2039').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel campaign' }).click();
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
  });

  it('go to those that a filter selects, without a segment that is left out', async () => {
    const { page, open, call, project, faults: found } = await openProject();
    const { data } = await call('POST', '/campaigns', {
      name: 'Some',
      audienceType: 'ALL',
      subject: 'Hi',
      body: '<p>Hi</p>',
      from: `shop@${project.id}.test`,
    });
    await open(`campaigns/${data.id}/edit?step=Audience`);
    await page.getByRole('radio', { name: 'Filter' }).check();
    const filter = page.getByRole('region', { name: 'Filter' });
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field').selectOption('name');
    await filter.getByLabel('Operator').selectOption('notEquals');
    await filter.getByLabel('Value').fill('ann');
    await page.getByText('2 recipients').waitFor();
    await page.getByLabel('Leave out segment').selectOption({ label: 'Staff' });
    await page.getByText('1 recipient', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Emails per minute').waitFor();
    await page.getByRole('button', { name: 'Back' }).click();
    expect(await filter.getByLabel('Value').inputValue()).toBe('ann');
    await page.reload();
    await page.getByText('1 recipient', { exact: true }).waitFor();
    expect(await filter.getByLabel('Value').inputValue()).toBe('ann');
    faults.push(...found);
  });

  it.each(looks)('have no fault that axe finds: $name', async (look) => {
    const user = await openProject(look.options);
    const { data } = await user.call('POST', '/campaigns', {
      name: 'Summer',
      audienceType: 'ALL',
      subject: 'Hi {{ name }}',
      body: '<p>Hi <a href="https://shop.test/">shop</a></p>',
      from: `shop@${user.project.id}.test`,
    });
    await user.call('POST', `/campaigns/${data.id}/send`, {});
    const draft = await user.call('POST', `/campaigns/${data.id}/duplicate`);
    const edit = `campaigns/${draft.data.id}/edit`;
    const steps = ['Content', 'Audience', 'Time', 'Review'].map((step) => `${edit}?step=${step}`);
    for (const path of ['campaigns', `campaigns/${data.id}`, ...steps]) {
      await user.open(path);
      await user.page.waitForLoadState('networkidle');
      expect([path, await axeFindings(user.page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(user.page)]).toEqual([path, false]);
    }
    faults.push(...user.faults);
  });
});
