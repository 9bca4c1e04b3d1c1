import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useEngine } from '../support/engine.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { waitFor } from '../support/wait-for.ts';

/** The pages about workflows, in a browser, with executions that run. */

const browser = await useBrowser();
const engine = await useEngine();
const { api } = engine;

const graph = {
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  steps: [
    { key: 'trigger', type: 'TRIGGER' },
    { key: 'wait', type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
    { key: 'end', type: 'EXIT', name: 'End', config: { reason: 'done' } },
  ],
  transitions: [
    { from: 'trigger', to: 'wait' },
    { from: 'wait', to: 'end' },
  ],
};

describe.runIf(browser)('the pages about workflows', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  /** A window of the user who made the project; all tests share the project. */
  async function start(options = {}) {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const call = async (method: string, path: string, sent?: object) =>
      (await api.request(method, path, { key: project.secretKey, body: sent })).body;
    const domain = `${randomUUID()}.test`;
    await call('POST', '/domains', { domain });
    const user = await openConsole(
      browser!,
      api,
      { email, cookie, projectId: project.id },
      options,
    );
    return { ...user, call, domain };
  }

  /** A workflow with people who wait in it. */
  async function withPeople({ call }: Pick<Awaited<ReturnType<typeof start>>, 'call'>) {
    const { id } = await call('POST', '/workflows', { name: 'Onboarding', graph, enabled: true });
    for (const email of ['ann@shop.test', 'bob@shop.test']) {
      const contact = await call('POST', '/contacts', { email });
      await call('POST', `/workflows/${id}/executions`, { contactId: contact.id });
    }
    await waitFor('two contacts inside', async () => {
      const { total } = await call('GET', `/executions?workflowId=${id}&status=WAITING`);
      return total === 2;
    });
    return id as string;
  }

  it('make a ready-made workflow with its templates, and list it', async () => {
    const { page, open, call, domain, faults: own } = await start();
    await open('workflows');
    await page.getByRole('link', { name: 'Choose a workflow' }).click();
    const item = page.getByRole('listitem', { name: 'Welcome series' });
    await item.getByRole('button', { name: 'Use' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('From').waitFor();
    expect(await dialog.getByLabel('From').inputValue()).toBe(`hello@${domain}`);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Welcome series' }).waitFor();
    await page.getByRole('status').getByText('None').waitFor();
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByText('Saved, enabled').waitFor();
    const { data: templates } = await call('GET', '/templates');
    expect(templates.map(({ name }: { name: string }) => name).toSorted()).toEqual([
      'Can we help?',
      'First steps',
      'Welcome',
    ]);
    await open('workflows');
    const row = page.getByRole('row', { name: /Welcome series/ });
    await row.getByText('Enabled').waitFor();
    await row.getByText('signed_up').waitFor();
    faults.push(...own);
  });

  it('make all six ready-made workflows, each without a problem', async () => {
    const { page, open, call } = await start();
    const names = [
      'Abandoned cart',
      'Trial ending',
      'Win back',
      'Order follow-up',
      'Renewal reminder',
    ];
    for (const name of names) {
      await open('workflows/new');
      const item = page.getByRole('listitem', { name });
      await item.getByRole('button', { name: 'Use' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
    }
    const { data } = await call('GET', '/workflows?pageSize=50');
    expect(data).toHaveLength(names.length);
    for (const { id, name } of data) {
      const stored = await call('GET', `/workflows/${id}/graph`);
      const { problems, warnings } = await call('POST', '/workflows/check', { graph: stored });
      expect([name, problems, warnings]).toEqual([name, [], []]);
    }
  });

  it('make nothing if one part of it is refused', async () => {
    const { page, open, call } = await start();
    await open('workflows/new');
    const item = page.getByRole('listitem', { name: 'Win back' });
    await item.getByRole('button', { name: 'Use' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Event').fill('email.clicked');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    expect((await call('GET', '/templates')).total).toBe(0);
    expect((await call('GET', '/workflows')).total).toBe(0);
  });

  it('show who is where, and move people to a new version only when asked', async () => {
    const { page, open, call, faults: own } = await start();
    const id = await withPeople({ call });
    await open(`workflows/${id}`);
    await page.getByRole('img', { name: /Onboarding/ }).waitFor();
    const steps = page.getByRole('table', { name: 'Steps' });
    await steps.getByRole('button', { name: 'Two days' }).click();
    const people = page.getByRole('region', { name: 'People at Two days', exact: true });
    await people.getByRole('link', { name: 'ann@shop.test' }).waitFor();

    const stored = await call('GET', `/workflows/${id}/graph`);
    stored.steps[1].config.amount = 3;
    await call('PUT', `/workflows/${id}/graph`, stored);
    await page.reload();
    const older = page.getByRole('region', { name: 'People on older versions' });
    await older.getByText('2 contacts go on with version').waitFor();
    await older.getByRole('button', { name: 'Dry run' }).click();
    const differing = older.getByRole('figure', { name: 'Another way' });
    await differing.getByText('2', { exact: true }).waitFor();
    await older.getByText('The settings of the step differ.').first().waitFor();
    await older.getByRole('button', { name: 'Migrate' }).click();
    const dialog = page.getByRole('dialog', { name: 'Migrate' });
    await dialog.getByText('2 contacts will go on').waitFor();
    await dialog.getByRole('button', { name: 'Migrate', exact: true }).click();
    await page.getByText('The migration is complete.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await older.waitFor({ state: 'detached' });
    faults.push(...own);
  });

  it('find executions by address and status, and keep that in the address', async () => {
    const { page, open, call } = await start();
    const id = await withPeople({ call });
    await open(`workflows/${id}`);
    await page.getByRole('tab', { name: 'Executions' }).click();
    const table = page.getByRole('table', { name: 'Executions' });
    await table.getByText('bob@shop.test').waitFor();
    await page.getByLabel('Search by email').fill('ann@shop.test');
    await table.getByText('bob@shop.test').waitFor({ state: 'detached' });
    await page.reload();
    await table.getByText('ann@shop.test').waitFor();
    expect(await table.getByText('bob@shop.test').count()).toBe(0);
    await page.getByLabel('Status').selectOption({ label: 'failed' });
    await page.getByText('No execution fits this search.').waitFor();
  });

  it('pause, restore a version, change the settings, and delete with a warning', async () => {
    const { page, open, call, faults: own } = await start();
    const id = await withPeople({ call });
    const stored = await call('GET', `/workflows/${id}/graph`);
    stored.steps[1].name = 'Three days';
    await call('PUT', `/workflows/${id}/graph`, stored);
    await open(`workflows/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('tab', { name: 'Versions' }).click();
    const versions = page.getByRole('table', { name: 'Versions' });
    await versions.getByRole('button', { name: 'Show', exact: true }).first().click();
    await page.getByRole('dialog').getByText('Three days').first().waitFor();
    await page.keyboard.press('Escape');
    await versions.getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await waitFor('the old name', async () => {
      const { steps } = await call('GET', `/workflows/${id}/graph`);
      return steps[1].name === 'Two days';
    });
    await page.getByRole('tab', { name: 'Settings' }).click();
    const settings = page.getByRole('tabpanel', { name: 'Settings' });
    await settings.getByLabel('Allow again').check();
    await settings.getByRole('button', { name: 'Add exit rule' }).click();
    await settings.getByLabel('Reason').fill('has paid');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.locator('[aria-invalid="true"]').waitFor();
    await settings.getByLabel('Event').fill('paid');
    await settings.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const { exitRules, allowReentry } = await call('GET', `/workflows/${id}`);
    expect([exitRules, allowReentry]).toEqual([[{ eventName: 'paid', reason: 'has paid' }], true]);
    const goal = settings.getByRole('group', { name: 'Goal' });
    await goal.getByLabel('Count a goal').check();
    await goal.getByLabel('Event').fill('paid');
    await settings.getByRole('button', { name: 'Save' }).click();
    const goalNow = async () => (await call('GET', `/workflows/${id}`)).goal;
    await expect.poll(goalNow).toEqual({ eventName: 'paid', windowDays: 7, touch: 'click' });
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.getByRole('region', { name: 'Goal' }).getByText('paid').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 contacts inside').waitFor();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { name: 'Workflows' }).waitFor();
    expect((await call('GET', '/workflows')).total).toBe(0);
    faults.push(...own.filter((fault) => !fault.includes('422')));
  });

  it('delete a workflow without executions after some seconds, with Undo', async () => {
    const { page, open, call, faults: own } = await start();
    const { id } = await call('POST', '/workflows', { name: 'Unused', graph });
    await open(`workflows/${id}`);
    const remove = page.getByRole('button', { name: 'Delete', exact: true });
    const row = page.getByRole('link', { name: 'Unused', exact: true });
    await remove.click();
    await page.getByRole('link', { name: 'Choose a workflow' }).waitFor();
    expect(await row.count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await row.click();
    await remove.click();
    await page.getByText('Unused is deleted.').waitFor();
    const stored = async () => (await call('GET', '/workflows')).total;
    await waitFor('the deletion', async () => (await stored()) === 0);
    await open(`workflows/${id}`);
    await page.getByRole('heading', { name: 'Not found', level: 1 }).waitFor();
    faults.push(...own.filter((fault) => !fault.includes('404')));
  });

  it.each(looks)('have no fault that axe finds: $name', async (look) => {
    const { page, open, call, faults: own } = await start(look.options);
    const id = await withPeople({ call });
    const paths = [
      'workflows',
      'workflows/new',
      `workflows/${id}`,
      `workflows/${id}?tab=Executions`,
      `workflows/${id}?tab=Versions`,
      `workflows/${id}?tab=Settings`,
    ];
    for (const [at, path] of paths.entries()) {
      await open(path);
      await page.waitForLoadState('networkidle');
      expect([path, await axeFindings(page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(page)]).toEqual([path, false]);
      if (process.env['SHOTS']) {
        const name = `${process.env['SHOTS']}-${at}-${look.name.replaceAll(' ', '-')}.png`;
        await page.screenshot({ path: name, fullPage: true });
      }
    }
    faults.push(...own);
  });
});
