import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../support/histories/executions.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';

/** The five tasks of the console, as users do them. */

const browser = await useBrowser();
const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { api, project } = engine;
const password = 'a long enough password';
const email = 'operator@users.test';
const faults: string[] = [];

await api.request('POST', '/auth/signup', { body: { email, password } });
await api.db
  .insertInto('membership')
  .columns(['user_id', 'project_id', 'role'])
  .expression((select) =>
    select
      .selectFrom('app_user')
      .where('email', '=', email)
      .select(({ val }) => ['id', val(project.id).as('project_id'), val('ADMIN').as('role')]),
  )
  .execute();

/** Opens a browser window with the console, logged in. Every failed request is a fault. */
async function openConsole(javaScriptEnabled: boolean): Promise<Page> {
  const context = await browser!.newContext({ javaScriptEnabled });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('requestfailed', (request) => {
    // The image of a page that was left.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(request.url());
  });
  await page.goto(`${api.url}/console`);
  faults.length = 0;
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  return page;
}

/** Creates a workflow whose webhook is refused, and executions that failed at it. */
async function failures(count: number) {
  const path = `/${newAddress()}`;
  receiver.answer(path, { status: 404 });
  const workflow = await createWorkflow(engine, {
    steps: [
      {
        type: 'WEBHOOK',
        name: 'Tell the shop',
        config: { url: `${receiver.url}${path}`, onFailure: 'fail' },
      },
    ],
  });
  const ids = await Promise.all(
    Array.from({ length: count }, async () =>
      startByHand(engine, workflow.id, await createContact(engine, newAddress())),
    ),
  );
  await Promise.all(ids.map((id) => executionIn(engine, workflow.id, id, 'FAILED')));
  const url = `${receiver.url}${path}`;
  return { workflow, ids, url, mend: () => receiver.answer(path, { status: 200 }) };
}

describe.runIf(browser).each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('the console %s', (_, javaScriptEnabled) => {
  it('has failures retried, one and all', async () => {
    const { workflow, ids, url, mend } = await failures(3);
    mend();
    const page = await openConsole(javaScriptEnabled);
    await page.getByRole('link', { name: 'Failures' }).click();
    const group = page.locator('section', { hasText: 'Tell the shop' }).first();
    expect(await group.innerText()).toMatch(/3\s+executions, (at|from) \d+ \w+ \d{4}/);
    expect(await group.innerText()).toContain(`Receiver: ${url}`);
    await group.getByRole('button', { name: 'Retry', exact: true }).first().click();
    await page.getByRole('status').getByText('The execution is being retried').waitFor();
    const left = async () => {
      const { body } = await engine.call(
        'GET',
        `/workflows/${workflow.id}/executions?status=FAILED`,
      );
      return body.total as number;
    };
    await waitFor('one to be mended', async () => (await left()) === 2);
    await page.getByRole('link', { name: 'Failures' }).click();
    await page
      .locator('section', { hasText: 'Tell the shop' })
      .first()
      .getByRole('button', { name: 'Retry all 2' })
      .click();
    await page.getByRole('heading', { name: 'Retry of failed executions' }).waitFor();
    await Promise.all(ids.map((id) => executionIn(engine, workflow.id, id, 'COMPLETED')));
    const retried = page.locator('.figures div', { hasText: 'Retried' });
    await waitFor('the job to tell what came of it', async () => {
      if ((await retried.count()) > 0) return true;
      await page.getByRole('link', { name: 'Refresh' }).click();
      return false;
    });
    expect(await retried.getByRole('definition').textContent()).toBe('2');
    expect(faults).toEqual([]);
  });

  it('retries on the corrected version, unless another one is chosen', async () => {
    const { workflow, ids } = await failures(2);
    const path = `/${newAddress()}`;
    receiver.answer(path, { status: 200 });
    const config = { url: `${receiver.url}${path}`, onFailure: 'fail' };
    const step = `/workflows/${workflow.id}/steps/${workflow.steps['Tell the shop']}`;
    expect((await engine.call('PATCH', step, { config })).status).toBe(200);
    const { version } = (await engine.call('GET', `/workflows/${workflow.id}`)).body;
    const page = await openConsole(javaScriptEnabled);
    await page.goto(
      `${api.url}/console/${project.id}/workflows/${workflow.id}/executions/${ids[0]}`,
    );
    await page.getByRole('button', { name: `Retry on version ${version - 1}` }).waitFor();
    await page.getByRole('button', { name: `Retry on version ${version}` }).click();
    await page.getByRole('status').waitFor();
    await executionIn(engine, workflow.id, ids[0]!, 'COMPLETED');
    await page.getByRole('link', { name: 'Failures' }).click();
    await page
      .getByRole('button', { name: `Retry all on version ${version}` })
      .first()
      .click();
    await page.getByRole('status').waitFor();
    await executionIn(engine, workflow.id, ids[1]!, 'COMPLETED');
    expect(faults).toEqual([]);
  });

  it('shows why a campaign did not reach a contact', async () => {
    const address = newAddress();
    await createContact(engine, address, { subscribed: false });
    const { body: made } = await engine.call('POST', '/campaigns', {
      name: 'Spring sale',
      subject: 'Sale',
      body: '<p>20% off</p>',
      from: `news@${engine.domain}`,
      audienceType: 'ALL',
    });
    await engine.call('POST', `/campaigns/${made.data.id}/send`);
    await waitFor('the campaign to be sent', async () => {
      const { body } = await engine.call('GET', `/campaigns/${made.data.id}`);
      return body.data.status === 'SENT';
    });
    const page = await openConsole(javaScriptEnabled);
    await page.getByRole('searchbox', { name: 'Contact by address' }).fill(address);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: address }).waitFor();
    const entry = page.locator('ol.timeline li', { hasText: 'not reached' });
    expect(await entry.textContent()).toContain(
      'The contact was unsubscribed when the audience was fixed.',
    );
    await entry.getByRole('link').click();
    await page.getByRole('heading', { name: 'Spring sale' }).waitFor();
    await page.getByLabel('Check a contact').fill(address);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The contact was unsubscribed when the audience was fixed.').waitFor();
    expect(faults).toEqual([]);
  });

  it('shows a delay as waited in until it is over', async () => {
    const workflow = await createWorkflow(engine, {
      steps: [
        { type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
        { type: 'EXIT', name: 'Over' },
      ],
    });
    const id = await startByHand(engine, workflow.id, await createContact(engine, newAddress()));
    await executionIn(engine, workflow.id, id, 'WAITING');
    const page = await openConsole(javaScriptEnabled);
    const path = `${api.url}/console/${project.id}/workflows/${workflow.id}`;
    await page.goto(`${path}/executions/${id}`);
    const row = page.getByRole('row', { name: 'Two days' });
    expect(await row.innerText()).toMatch(/waiting\s.*due \d+ \w+ \d{4}/s);
    await page.goto(path);
    const numbers = await page
      .getByRole('row', { name: 'Two days' })
      .getByRole('cell')
      .allInnerTexts();
    // Entered, waiting, completed.
    expect(numbers.slice(2, 5)).toEqual(['1', '1', '0']);
    expect(faults).toEqual([]);
  });

  it('erases a contact, and shows the receipt', async () => {
    const address = newAddress();
    const id = await createContact(engine, address);
    const page = await openConsole(javaScriptEnabled);
    await page.goto(`${api.url}/console/${project.id}/contacts/${id}`);
    await page.getByLabel('Erase every trace of this contact for ever').check();
    await page.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('heading', { name: 'Erasure of a contact' }).waitFor();
    const contacts = page.locator('.figures div', { hasText: 'Contact' });
    await waitFor('the receipt', async () => {
      if ((await contacts.count()) > 0) return true;
      await page.getByRole('link', { name: 'Refresh' }).click();
      return false;
    });
    expect(await contacts.getByRole('definition').textContent()).toBe('1');
    expect((await engine.call('GET', `/contacts/${id}`)).status).toBe(404);
    expect(faults).toEqual([]);
  });

  it('pauses a workflow, lets it go on, and moves the people in it to a new version', async () => {
    const { id, steps } = await createWorkflow(engine, {
      steps: [{ type: 'DELAY', name: 'A day', config: { amount: 1, unit: 'days' } }],
    });
    const execution = await startByHand(engine, id, await createContact(engine, newAddress()));
    await executionIn(engine, id, execution, 'WAITING');
    await engine.call('PATCH', `/workflows/${id}/steps/${steps['A day']}`, { name: 'One day' });
    const page = await openConsole(javaScriptEnabled);
    await page.goto(`${api.url}/console/${project.id}/workflows/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').getByText('Paused').waitFor();
    expect((await engine.call('GET', `/workflows/${id}`)).body.pausedAt).not.toBeNull();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('status').getByText('Resumed').waitFor();
    expect((await engine.call('GET', `/workflows/${id}`)).body.pausedAt).toBeNull();
    await page.getByRole('button', { name: /^Move all to version/ }).click();
    await page.getByRole('status').waitFor();
    const { version } = (await engine.call('GET', `/workflows/${id}`)).body;
    await waitFor('the execution on the new version', async () => {
      const { body } = await engine.call('GET', `/workflows/${id}/executions/${execution}`);
      return body.workflowVersion === version;
    });
    expect(faults).toEqual([]);
  });

  it('skips a step, on the way that its reader chooses', async () => {
    const { id } = await createWorkflow(engine, {
      steps: [
        { type: 'WAIT_FOR_EVENT', name: 'Paid', config: { eventName: 'paid', timeout: 86_400 } },
        { type: 'EXIT', name: 'Thanked', config: { reason: 'paid' } },
      ],
      ways: [
        ['TRIGGER', 'Paid'],
        ['Paid', 'Thanked', 'event'],
      ],
    });
    const execution = await startByHand(engine, id, await createContact(engine, newAddress()));
    await executionIn(engine, id, execution, 'WAITING');
    const page = await openConsole(javaScriptEnabled);
    await page.goto(`${api.url}/console/${project.id}/workflows/${id}/executions/${execution}`);
    await page.getByLabel('Branch on which the execution continues').selectOption('event');
    await page.getByRole('button', { name: 'Skip step' }).click();
    await page.getByRole('status').getByText('The step was skipped').waitFor();
    const { exitReason } = await executionIn(engine, id, execution, 'EXITED');
    expect(exitReason).toBe('paid');
    expect(faults).toEqual([]);
  });

  it('shows a template as a contact would get it', async () => {
    const address = newAddress();
    await createContact(engine, address, { data: { name: 'Ada' } });
    const id = await createTemplate(engine, {
      body: '<p>Hello {{name}}, {{nmae}}</p><img src="http://x.example/a.png">',
    });
    const page = await openConsole(javaScriptEnabled);
    await page.goto(`${api.url}/console/${project.id}/templates/${id}`);
    await page.getByLabel('Address', { exact: true }).fill(address);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.frameLocator('iframe').getByText('Hello Ada').waitFor();
    expect(await page.locator('section', { hasText: 'Warnings' }).textContent()).toContain('nmae');
    expect(faults.filter((fault) => !fault.includes('x.example'))).toEqual([]);
  });
});
