import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { axeFindings, looks, scrollsSideways } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useBrowser } from '../support/processes/chromium.ts';
import { waitFor } from '../support/wait-for.ts';

/** Failures and mail in a browser, as operators look at them. */

const browser = await useBrowser();
const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { api } = engine;

describe.runIf(browser)('the pages of operators', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  async function start(options = {}) {
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie, 'Shop');
    const call = async (method: string, path: string, body?: object) =>
      (await api.request(method, path, { key: project.secretKey, body })).body;
    const domain = `${randomUUID()}.test`;
    await call('POST', '/domains', { domain });
    const about = { email, cookie, projectId: project.id };
    const user = await openConsole(browser!, api, about, options);
    return { ...user, call, domain };
  }

  /** A workflow whose webhook is refused for these people. */
  async function failedAt(
    { call }: Pick<Awaited<ReturnType<typeof start>>, 'call'>,
    people: readonly string[],
  ) {
    const path = `/${randomUUID()}`;
    receiver.answer(path, { status: 404 });
    const graph = {
      trigger: { type: 'MANUAL', config: {} },
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        {
          key: 'shop',
          type: 'WEBHOOK',
          name: 'Tell the shop',
          config: { url: `${receiver.url}${path}`, onFailure: 'fail' },
        },
      ],
      transitions: [{ from: 'trigger', to: 'shop' }],
    };
    const { id } = await call('POST', '/workflows', { name: 'Orders', graph, enabled: true });
    const enter = async (email: string) => {
      const contact = await call('POST', '/contacts', { email });
      await call('POST', `/workflows/${id}/executions`, { contactId: contact.id });
    };
    for (const email of people) await enter(email);
    const inState = (status: string, count: number) =>
      waitFor(`${count} executions in ${status}`, async () => {
        const { total } = await call('GET', `/executions?workflowId=${id}&status=${status}`);
        return total === count;
      });
    await inState('FAILED', people.length);
    return {
      id: id as string,
      inState,
      enter,
      answer: (status: number) => receiver.answer(path, { status }),
    };
  }

  it('group failures by reason, and retry or skip one and all', async () => {
    const user = await start();
    const { page } = user;
    const { id, inState, answer } = await failedAt(user, [
      'ann@x.test',
      'bob@x.test',
      'cleo@x.test',
    ]);
    await user.open('');
    await page.getByRole('link', { name: /^Failures/ }).click();
    const group = page.getByRole('region', { name: 'Orders: Tell the shop' });
    await group.getByText('3 executions').waitFor();
    await group.getByText('404').first().waitFor();
    await group.getByRole('button', { name: 'Show people' }).click();
    const row = group.getByRole('row', { name: /ann@x\.test/ });
    await row.getByRole('button', { name: 'Skip' }).click();
    await page.getByText('ann@x.test goes on with the next step.').waitFor();
    await inState('FAILED', 2);
    answer(200);
    await group.getByRole('button', { name: 'Retry all' }).click();
    await page.getByText('They are being retried').waitFor();
    await inState('FAILED', 0);
    await page.getByText('All executions run as they should.').waitFor();
    const { paused } = await user.call('GET', `/workflows/${id}`);
    expect(paused).not.toBe(true);
    faults.push(...user.faults);
  });

  it('retry exactly the people of one reason', async () => {
    const user = await start();
    const { page } = user;
    const { inState, answer, enter } = await failedAt(user, ['ann@x.test', 'bob@x.test']);
    answer(410);
    await enter('cleo@x.test');
    await inState('FAILED', 3);
    await user.open('failures');
    const first = page.getByRole('region', { name: 'Orders: Tell the shop', exact: true });
    const second = page.getByRole('region', { name: 'Orders: Tell the shop (2)', exact: true });
    await first.getByText('2 executions').waitFor();
    await first.getByRole('button', { name: 'Show people' }).click();
    await first.getByRole('row', { name: /ann@x\.test/ }).waitFor();
    await second.getByRole('button', { name: 'Show people' }).click();
    await second.getByRole('row', { name: /cleo@x\.test/ }).waitFor();
    expect(await second.getByRole('row').count()).toBe(2);
    expect(await axeFindings(page)).toEqual([]);
    answer(200);
    await second.getByRole('button', { name: 'Retry all' }).click();
    await inState('FAILED', 2);
    await second.waitFor({ state: 'detached' });
    await first.getByText('2 executions').waitFor();
    faults.push(...user.faults);
  });

  it('pause a workflow that fails', async () => {
    const user = await start();
    const { page } = user;
    const { id } = await failedAt(user, ['ann@x.test']);
    await user.open('failures');
    await page.getByRole('button', { name: 'Pause workflow' }).click();
    await page.getByText('Orders is paused.').waitFor();
    expect((await user.call('GET', `/workflows/${id}`)).pausedAt).not.toBeNull();
    faults.push(...user.faults);
  });

  it('find a mail by its address, and tell its way in sentences', async () => {
    const user = await start();
    const { page } = user;
    const body =
      '<style>p { color: rgb(1, 2, 3) }</style><p>Thanks</p><script>parent.x = 1</script>';
    const from = `team@${user.domain}`;
    await user.call('POST', '/v1/send', { from, subject: 'Your order', body, to: 'ann@x.test' });
    await user.call('POST', '/v1/send', { from, subject: 'Other', body, to: 'bob@x.test' });
    await user.open('emails');
    await page.getByLabel('Search emails').fill('ann@');
    await page.getByText('1 email', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Your order' }).click();
    const trace = page.getByRole('list', { name: 'Trace' });
    await trace.getByText('The mail provider accepted it.').waitFor({ timeout: 30_000 });
    const frame = page.frameLocator('iframe[title="Preview"]');
    await frame.getByText('Thanks').waitFor();
    const colour = await frame
      .locator('html')
      .evaluate('getComputedStyle(document.querySelector("p")).color');
    expect(colour).toBe('rgb(1, 2, 3)');
    expect(await page.evaluate('window.x')).toBeUndefined();
    // The browser says that the policy of the frame has refused the script.
    faults.push(...user.faults.filter((text) => !text.includes('script')));
  });

  it('cancel a mail that waits', async () => {
    const user = await start();
    const { page } = user;
    const from = `team@${user.domain}`;
    const scheduledFor = new Date(Date.now() + 86_400_000).toISOString();
    const mail = { from, subject: 'Later', body: 'x', to: 'ann@x.test', scheduledFor };
    await user.call('POST', '/v1/send', mail);
    await user.open('emails?status=PENDING');
    await page.getByRole('link', { name: 'Later' }).click();
    await page.getByRole('button', { name: 'Cancel email' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel email' }).click();
    const trace = page.getByRole('list', { name: 'Trace' });
    await trace.getByText('It was not sent. The mail was cancelled.').waitFor();
    faults.push(...user.faults);
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const user = await start(options);
    const { page } = user;
    await failedAt(user, ['ann@x.test']);
    const from = `team@${user.domain}`;
    await user.call('POST', '/v1/send', { from, subject: 'Hello', body: 'Hi', to: 'ann@x.test' });
    const { data } = await user.call('GET', '/emails');
    for (const path of ['failures', 'emails', `emails/${data[0].id}`]) {
      await user.open(path);
      await page.waitForLoadState('networkidle');
      expect([path, await axeFindings(page)]).toEqual([path, []]);
      expect([path, await scrollsSideways(page)]).toEqual([path, false]);
    }
    faults.push(...user.faults);
  });
});
