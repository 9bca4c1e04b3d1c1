import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { looks } from '../support/console/axe.ts';
import { type ConsoleShop, openShop } from '../support/console/shop.ts';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { keyed, trigger, ways } from '../support/projects/portable-graph.ts';
import { waitFor } from '../support/wait-for.ts';

/** One execution in a browser, with a worker that runs it. */

const browser = await useBrowser();
const receiver = await useReceiver();
const { api } = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  TEMPORAL_UI_URL: 'http://temporal.test:8233',
});

const ann = { email: 'ann@shop.test' };

const payment = {
  trigger: { type: 'EVENT', config: { eventName: 'ordered' } },
  steps: [
    trigger,
    keyed('paid', 'WAIT_FOR_EVENT', {
      name: 'Has it paid?',
      config: { eventName: 'paid', timeout: 172_800 },
    }),
    keyed('pause', 'DELAY', { name: 'Two days', config: { amount: 2, unit: 'days' } }),
    keyed('thanks', 'UPDATE_CONTACT', { name: 'Thanks', config: { updates: { paid: true } } }),
    keyed('late', 'EXIT', { name: 'No payment', config: { reason: 'has not paid' } }),
  ],
  transitions: ways('trigger>paid', 'paid:event>pause', 'pause>thanks', 'paid:timeout>late'),
};

/** Starts an execution of a workflow, and opens its page once it has this status. */
async function openExecution(shop: ConsoleShop, graph: object, status: string) {
  const { call, open } = shop;
  const { id } = await call('POST', '/workflows', { name: 'Orders', graph, enabled: true });
  await call('POST', '/events/track', { email: ann.email, event: 'ordered', data: { total: 42 } });
  const found = await waitFor(`an execution that is ${status}`, async () => {
    const { data } = await call('GET', `/executions?workflowId=${id}&status=${status}`);
    return data[0];
  });
  const at = `workflows/${id}/executions/${found.id}`;
  const read = () => call('GET', `/${at}`);
  await open(at);
  return { at, read };
}

describe.runIf(browser)('an execution in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('says where it is, why, and what it has done, with times', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page } = shop;
    await openExecution(shop, payment, 'WAITING');
    await page.getByRole('heading', { name: ann.email, level: 1 }).waitFor();
    await page.getByText(/^It waits at “Has it paid\?” until \d+ \w+ \d{4}, \d\d:\d\d /).waitFor();
    await page.getByRole('img', { name: /The way of ann@shop\.test through Orders/ }).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText('The event ordered started it.').waitFor();
    await steps.getByText(/It waits for the event paid, until .* at the latest\./).waitFor();
    await page
      .getByRole('region', { name: 'Context', exact: true })
      .getByText('"total": 42')
      .waitFor();
    const run = page.getByRole('link', { name: 'Temporal run' });
    expect(await run.getAttribute('href')).toContain('http://temporal.test:8233/');
    faults.push(...shop.faults);
  });

  it('is paused and resumed, its step is skipped along a branch, and its wait moved', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page } = shop;
    const { read } = await openExecution(shop, payment, 'WAITING');
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await press('Pause');
    await page.getByText('It is paused: no step begins until it is resumed.').waitFor();
    expect((await read()).pausedAt).not.toBeNull();
    await press('Resume');
    await page.getByText(/^It waits at “Has it paid\?”/).waitFor();

    await press('Skip step');
    const skipping = page.getByRole('dialog', { name: 'Skip step' });
    await skipping.getByLabel('Branch').selectOption('Event');
    await skipping.getByRole('button', { name: 'Skip' }).click();
    await page.getByText(/^It waits at “Two days” until/).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText('It was skipped.').waitFor();

    await press('Move wait');
    const moving = page.getByRole('dialog', { name: 'Move wait' });
    await moving.getByLabel('Date and time').fill('');
    await moving.getByRole('button', { name: 'Move' }).click();
    await moving.locator('[aria-invalid="true"]').waitFor();
    await moving.getByLabel('Now').check();
    await moving.getByRole('button', { name: 'Move' }).click();
    await page.getByText('All steps are done.').waitFor();
    await steps.getByText('It changed paid.').waitFor();
    expect((await read()).status).toBe('COMPLETED');
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    faults.push(...shop.faults.filter((fault) => !fault.includes('422')));
  });

  it('is retried from the step that has failed', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page } = shop;
    const path = `/${randomUUID()}`;
    receiver.answer(path, { status: 404 });
    const config = { url: `${receiver.url}${path}`, onFailure: 'fail' };
    const failing = {
      trigger: payment.trigger,
      steps: [trigger, keyed('shop', 'WEBHOOK', { name: 'Tell the shop', config })],
      transitions: ways('trigger>shop'),
    };
    await openExecution(shop, failing, 'FAILED');
    await page.getByText(/^It failed at “Tell the shop”: .*404/).waitFor();
    await page.getByRole('button', { name: 'Skip step' }).waitFor();
    receiver.answer(path, { status: 200 });
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByText('All steps are done.').waitFor();
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText(/answered 200\./).waitFor();
    faults.push(...shop.faults);
  });

  it('is cancelled only after a question', async () => {
    const shop = await openShop(browser!, api, [ann]);
    const { page } = shop;
    const { read } = await openExecution(shop, payment, 'WAITING');
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const question = page.getByRole('dialog');
    await question.getByText('ann@shop.test gets no further step of Orders.').waitFor();
    await question.getByRole('button', { name: 'Cancel execution' }).click();
    await page.getByText('It was cancelled.').waitFor();
    expect((await read()).status).toBe('CANCELLED');
    faults.push(...shop.faults);
  });

  it('of another project is not found', async () => {
    const other = await openShop(browser!, api, [ann]);
    const { at } = await openExecution(other, payment, 'WAITING');
    const { page, open } = await openShop(browser!, api, []);
    await open(at);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    expect(await page.getByText(ann.email).count()).toBe(0);
  });

  it.each(looks)('has no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [ann], options);
    const { page } = shop;
    await openExecution(shop, payment, 'WAITING');
    await page.getByRole('img', { name: /The way of/ }).waitFor();
    await shop.check('execution');
    await page.getByRole('button', { name: 'Move wait' }).click();
    await page.getByRole('dialog').waitFor();
    await shop.check('move wait');
    faults.push(...shop.faults);
  });
});
