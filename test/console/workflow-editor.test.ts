import { afterAll, describe, expect, it } from 'vitest';
import { useApi } from '../support/api.ts';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The editor of workflows in a browser. */

const browser = await useBrowser();
const api = await useApi();

const position = { x: 0, y: 0 };

/** A graph with a condition whose branches come together, and a step without a way. */
const graph = {
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  steps: [
    { key: 'trigger', type: 'TRIGGER' },
    { key: 'wait', type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' }, position },
    {
      key: 'plan',
      type: 'CONDITION',
      name: 'Which plan?',
      config: { field: 'contact.data.plan', operator: 'equals', value: 'pro' },
    },
    { key: 'pro', type: 'EXIT', name: 'Pro', config: { reason: 'pro' } },
    { key: 'lost', type: 'EXIT', name: 'Lost', config: {} },
  ],
  transitions: [
    { from: 'trigger', to: 'wait' },
    { from: 'wait', to: 'plan' },
    { from: 'plan', to: 'pro', branch: 'yes' },
  ],
};

describe.runIf(browser)('the editor of workflows', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function start(body: object, options = {}) {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const call = async (method: string, path: string, sent?: object) =>
      (await api.request(method, path, { key: project.secretKey, body: sent })).body;
    await call('POST', '/contacts', { email: 'ann@shop.test', data: { plan: 'pro' } });
    await call('POST', '/domains', { domain: 'shop.test' });
    await call('POST', '/templates', {
      name: 'Welcome',
      subject: 'Welcome',
      body: '<p>Hello</p>',
      from: 'shop@shop.test',
      type: 'TRANSACTIONAL',
    });
    const workflow = await call('POST', '/workflows', { name: 'Onboarding', ...body });
    const user = await openConsole(
      browser!,
      api,
      { email, cookie, projectId: project.id },
      options,
    );
    return { ...user, call, id: workflow.id as string };
  }

  it('draws, checks and saves a journey without a pointer', async () => {
    const { page, open, call, id, faults: own } = await start({ eventName: 'signed_up' });
    await open(`workflows/${id}/edit`);
    const step = page.getByRole('region', { name: 'Step' });
    const problems = page.getByRole('list', { name: 'Problems' });
    const press = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    const add = async (...choices: string[]) => {
      await press('Add step after');
      for (const choice of choices) {
        await page.getByRole('menuitem', { name: choice, exact: true }).focus();
        await page.keyboard.press('Enter');
      }
    };
    await problems
      .getByText('has no successor')
      .or(problems.getByText('no step'))
      .first()
      .waitFor();
    await add('Send email');
    await problems.getByRole('button', { name: /^Send email: / }).waitFor();
    await step.getByLabel('Template', { exact: true }).selectOption({ label: 'Welcome' });
    await step.getByTitle('Picture of Welcome').waitFor({ state: 'attached' });
    await add('Delay');
    await step.getByLabel('Amount').fill('0');
    await problems.getByRole('button', { name: /^Delay: / }).waitFor();
    expect(await step.getByLabel('Amount').getAttribute('aria-invalid')).toBe('true');
    await step.getByLabel('Amount').fill('3');
    await add('Condition');
    await step.getByLabel('Field', { exact: true }).fill('contact.data.plan');
    await step.getByLabel('Value', { exact: true }).fill('pro');
    await add('Yes', 'Exit');
    await step.getByLabel('Reason').fill('is pro');
    await page
      .getByRole('list', { name: 'Outline' })
      .getByRole('button', { name: 'Condition' })
      .click();
    await add('No', 'Exit');
    await page.getByRole('status').getByText('None').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved. People inside').waitFor();
    const stored = await call('GET', `/workflows/${id}/graph`);
    expect(stored.transitions).toEqual([
      { from: 'trigger', to: 'send-email' },
      { from: 'send-email', to: 'delay' },
      { from: 'delay', to: 'condition' },
      { from: 'condition', to: 'exit', branch: 'yes' },
      { from: 'condition', to: 'exit-2', branch: 'no' },
    ]);
    expect(stored.steps.slice(1).map(({ config }: { config: object }) => config)).toMatchObject([
      {},
      { amount: 3, unit: 'days' },
      { field: 'contact.data.plan', operator: 'equals', value: 'pro' },
      { reason: 'is pro' },
      {},
    ]);
    faults.push(...own);
  });

  it('changes a contact by the first row, and adds no blank one below it', async () => {
    const { page, open, id, faults: own } = await start({ graph });
    await open(`workflows/${id}/edit`);
    const step = page.getByRole('region', { name: 'Step', exact: true });
    await step.getByRole('button', { name: 'Add step after' }).click();
    await page.getByRole('menuitem', { name: 'Update contact' }).click();
    await step.getByRole('button', { name: 'Add field' }).click();
    await step.getByLabel('Key').fill('plan');
    await step.getByLabel('Value').fill('pro');
    await step.getByRole('button', { name: 'Add field' }).click();
    expect(await step.getByLabel('Key').count()).toBe(2);
    await step.getByRole('button', { name: 'Remove' }).first().click();
    await expect.poll(() => step.getByLabel('Key').inputValue()).toBe('');
    faults.push(...own);
  });

  it('keeps unsaved work over a reload, and asks before it is left', async () => {
    const { page, open, id, faults: own } = await start({ graph });
    await open(`workflows/${id}/edit`);
    await page.getByRole('button', { name: 'Two days', exact: true }).click();
    await page.getByLabel('Step name').fill('Three days');
    await page.getByText('Not saved').waitFor();
    await page.reload();
    await page.getByText('Your unsaved changes are here again').waitFor();
    await page.getByRole('button', { name: 'Three days', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
    await page.keyboard.press('Control+z');
    await page.getByRole('button', { name: 'Three days', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('button', { name: 'Two days', exact: true }).waitFor();
    await page.getByText('Saved', { exact: true }).waitFor();
    faults.push(...own);
  });

  it('undoes, redoes and deletes by keys', async () => {
    const { page, open, id, faults: own } = await start({ graph });
    await open(`workflows/${id}/edit`);
    const step = page.getByRole('button', { name: 'Two days', exact: true });
    await step.click();
    await page.keyboard.press('Delete');
    await step.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+z');
    await step.waitFor();
    await page.keyboard.press('Control+Shift+z');
    await step.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await step.waitFor();
    faults.push(...own);
  });

  it('draws on the canvas: from the palette, between two steps, and tidied up', async () => {
    const { page, open, id, faults: own } = await start({ graph });
    await open(`workflows/${id}/edit`);
    const canvas = page.getByRole('region', { name: 'Canvas' });
    const outline = page.getByRole('list', { name: 'Outline' });
    await outline.getByRole('button', { name: 'Which plan?' }).click();
    await canvas.getByRole('button', { name: 'Webhook', exact: true }).click();
    await outline.getByRole('button', { name: 'Webhook', exact: true }).waitFor();
    await canvas.getByRole('button', { name: 'Tidy up' }).click();
    await canvas.getByRole('button', { name: '+', exact: true }).first().click();
    await page.getByRole('menuitem', { name: 'Update contact' }).click();
    expect(
      await outline.getByRole('button').evaluateAll((all) => all.map((one) => one.textContent)),
    ).toEqual([
      'Trigger: signed_up',
      'Update contact',
      'Two days',
      'Which plan?',
      'Pro',
      'Webhook',
      'Lost',
    ]);
    await canvas.getByText('Two days').click();
    expect(await page.getByLabel('Step name').inputValue()).toBe('Two days');
    faults.push(...own);
  });

  it('plays the graph as it is drawn', async () => {
    const { page, open, id, faults: own } = await start({ graph });
    await open(`workflows/${id}/edit`);
    await page.getByRole('button', { name: 'Two days', exact: true }).click();
    await page.getByLabel('Amount').fill('3');
    await page.getByRole('button', { name: 'Simulate' }).click();
    const simulation = page.getByRole('region', { name: 'Simulation' });
    await simulation.getByLabel('Contact').fill('ann@shop.test');
    await simulation.getByRole('button', { name: 'Add event' }).click();
    await simulation.getByLabel('Event').fill('paid');
    await simulation.getByRole('button', { name: 'Run' }).click();
    const path = simulation.getByRole('list', { name: 'Path' });
    await path.getByText('stays 3 d').waitFor();
    await path.getByText('Pro').waitFor();
    await simulation.getByRole('list', { name: 'Mails' }).waitFor({ state: 'attached' });
    const outline = page.getByRole('list', { name: 'Outline' });
    expect(await outline.getByText('passed').count()).toBe(4);
    expect(await axeFindings(page)).toEqual([]);
    faults.push(...own);
  });

  it('decides by filters, which also read the event and compare with other fields', async () => {
    const { page, open, call, id, faults: own } = await start({ graph });
    const order = { email: 'ann@shop.test', event: 'signed_up', data: { total: 12, limit: 10 } };
    await call('POST', '/v1/track', order);
    await open(`workflows/${id}/edit`);
    const step = page.getByRole('region', { name: 'Step', exact: true });
    const problems = page.getByRole('list', { name: 'Problems' });
    await page.getByRole('button', { name: 'Which plan?', exact: true }).click();
    await step.getByLabel('Decide by').selectOption('filters');
    const first = step.getByRole('region', { name: 'Filter', exact: true });
    const chosen = () => first.getByLabel('Field', { exact: true }).inputValue();
    await expect.poll(chosen).toBe('data.plan');
    expect(await first.getByLabel('Value', { exact: true }).inputValue()).toBe('pro');
    await first.getByRole('button', { name: 'Add condition' }).click();
    await problems.getByRole('button', { name: /^Which plan\?: / }).waitFor();
    const line = first.locator('.filter-line').nth(1);
    await line.getByLabel('Field', { exact: true }).selectOption('event.total');
    await line.getByLabel('Operator').selectOption('greaterThan');
    await line.getByLabel('Compare with').selectOption('another field');
    await line.getByLabel('Other field').fill('event.limit');
    await step.getByRole('button', { name: 'Add branch' }).click();
    await step.getByLabel('Branch name').nth(1).fill('Once a buyer');
    const second = step.getByRole('region', { name: 'Filter of Once a buyer' });
    await second.getByLabel('Field', { exact: true }).selectOption('event.signed_up');
    await second.getByLabel('Operator').selectOption('triggeredWithin');
    await second.getByLabel('Value', { exact: true }).fill('3');
    await page.getByRole('list', { name: 'Problems' }).getByText('Problem').waitFor({
      state: 'detached',
    });
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Control+s');
    await page.getByText('Saved. People inside').waitFor();
    const stored = await call('GET', `/workflows/${id}/graph`);
    const { config } = stored.steps.find(({ key }: { key: string }) => key === 'plan');
    const compared: Record<string, unknown> = {
      field: 'event.total',
      operator: 'greaterThan',
      valueOf: 'event.limit',
    };
    const filters = config.branches.map(
      ({ filter }: { filter: { groups: { filters: object[] }[] } }) => filter.groups[0]!.filters,
    );
    expect(filters).toEqual([
      [{ field: 'data.plan', operator: 'equals', value: 'pro' }, compared],
      [{ field: 'event.signed_up', operator: 'triggeredWithin', value: 3, unit: 'days' }],
    ]);
    expect(stored.transitions).toContainEqual({ from: 'plan', to: 'pro', branch: 'yes' });
    faults.push(...own);
  });

  it('starts on a schedule for the contacts of a filter in a segment', async () => {
    const { page, open, call, id, faults: own } = await start({ graph });
    await call('POST', '/contacts', { email: 'bob@shop.test', data: { plan: 'pro' } });
    const staff = await call('POST', '/segments', { name: 'Staff', type: 'STATIC' });
    await call('POST', `/segments/${staff.id}/members`, { emails: ['bob@shop.test'] });
    await open(`workflows/${id}/edit`);
    const step = page.getByRole('region', { name: 'Step', exact: true });
    await step.getByLabel('Start when').selectOption('on a schedule');
    await step.getByLabel('Times').fill('0 9 1 * *');
    const filter = step.getByRole('region', { name: 'Filter', exact: true });
    await filter.getByText('2 contacts').waitFor();
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByLabel('Field', { exact: true }).selectOption('data.plan');
    await filter.getByLabel('Value', { exact: true }).fill('pro');
    await filter.getByText('2 contacts').waitFor();
    await step.getByLabel('Segment', { exact: true }).selectOption({ label: 'Staff' });
    await filter.getByText('1 contact', { exact: true }).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved. People inside').waitFor();
    const { trigger } = await call('GET', `/workflows/${id}/graph`);
    expect(trigger).toMatchObject({
      type: 'SCHEDULE',
      config: {
        cron: '0 9 1 * *',
        segmentId: staff.id,
        filter: {
          logic: 'AND',
          groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
        },
      },
    });
    await filter.getByRole('button', { name: 'Remove condition' }).click();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved', { exact: true }).waitFor();
    expect((await call('GET', `/workflows/${id}/graph`)).trigger.config.filter).toBeUndefined();
    faults.push(...own);
  });

  it('overwrites nothing that another user has saved', async () => {
    const { page, open, call, id } = await start({ graph });
    await open(`workflows/${id}/edit`);
    await page.getByRole('button', { name: 'Two days', exact: true }).click();
    await page.getByLabel('Step name').fill('Mine');
    const theirs = await call('GET', `/workflows/${id}/graph`);
    theirs.steps[1].name = 'Theirs';
    await call('PUT', `/workflows/${id}/graph`, theirs);
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await save.click();
    const dialog = page.getByRole('dialog', { name: 'Somebody else has changed this' });
    await dialog.waitFor();
    expect((await call('GET', `/workflows/${id}/graph`)).steps[1].name).toBe('Theirs');
    await dialog.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Saved. People inside').waitFor();
    expect((await call('GET', `/workflows/${id}/graph`)).steps[1].name).toBe('Mine');
  });

  it('says what is missing when it is to be enabled', async () => {
    const { page, open, call, id } = await start({
      graph: {
        ...graph,
        steps: graph.steps.slice(0, 3),
        transitions: graph.transitions.slice(0, 2),
      },
    });
    await open(`workflows/${id}/edit`);
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByRole('alert').getByText('Which plan?').waitFor();
    const whole = await call('GET', `/workflows/${id}/graph`);
    await call('PUT', `/workflows/${id}/graph`, {
      ...whole,
      steps: [...whole.steps, { key: 'pro', type: 'EXIT', name: 'Pro', config: {} }],
      transitions: [...whole.transitions, { from: 'plan', to: 'pro', branch: 'yes' }],
    });
    await page.reload();
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByText('Saved, enabled').waitFor();
    expect((await call('GET', `/workflows/${id}`)).enabled).toBe(true);
  });

  it.each(looks)('has no fault that axe finds: $name', async (look) => {
    const { page, open, id, faults: own } = await start({ graph }, look.options);
    await open(`workflows/${id}/edit`);
    await page.getByRole('list', { name: 'Problems' }).getByRole('button').first().waitFor();
    if (look.options.viewport.width > 1000) {
      await page.getByRole('button', { name: 'Tidy up' }).click();
    }
    await page.waitForLoadState('networkidle');
    for (const name of ['Trigger: signed_up', 'Two days', 'Which plan?']) {
      await page.getByRole('list', { name: 'Outline' }).getByRole('button', { name }).click();
      expect([name, await axeFindings(page)]).toEqual([name, []]);
      expect([name, await scrollsSideways(page)]).toEqual([name, false]);
    }
    await page.getByLabel('Decide by').selectOption('filters');
    await page.getByRole('button', { name: 'Add branch' }).click();
    await page.getByRole('region', { name: 'Filter of Branch 2' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
    if (process.env['SHOTS']) {
      const path = `${process.env['SHOTS']}-editor-${look.name.replaceAll(' ', '-')}.png`;
      await page.screenshot({ path, fullPage: true });
    }
    faults.push(...own);
  });
});
