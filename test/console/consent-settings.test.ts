import { afterAll, describe, expect, it } from 'vitest';
import { sendPolicySentence } from '../../console/src/words/settings/send-policy.ts';
import { looks } from '../support/console/axe.ts';
import { openConsole } from '../support/console/open.ts';
import { openShop } from '../support/console/shop.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** Topics, consent, send policy and suppression list in a browser. */

const browser = await useBrowser();
const api = await useApi();

describe('the sentence about a send policy', () => {
  const policy = {
    timeZone: 'Europe/Vienna',
    contactTimeZoneField: 'data.timeZone',
    quietHours: null,
    caps: [],
    onCap: 'skip',
  } as const;

  it('names what is not limited', () => {
    expect(sendPolicySentence({ ...policy, caps: [] })).toBe(
      'Marketing mail of campaigns and workflows is sent at any hour. A contact may get any number of mails.',
    );
  });

  it('names the hours, their days, and the limits', () => {
    expect(
      sendPolicySentence({
        ...policy,
        contactTimeZoneField: null,
        quietHours: { from: '21:00', to: '08:00', days: ['sat', 'sun'] },
        caps: [
          { max: 1, perDays: 1 },
          { max: 3, perDays: 7 },
        ],
      }),
    ).toBe(
      'Marketing mail of campaigns and workflows waits from 21:00 to 08:00 on Saturday and Sunday, in the time zone Europe/Vienna. A contact gets at most 1 mail in 1 day and 3 mails in 7 days; more are not sent.',
    );
  });
});

describe.runIf(browser)('settings of consent in the console', () => {
  const faults: string[] = [];
  afterAll(() => expect(faults).toEqual([]));

  it('have topics, which are made, changed, and deleted when nothing uses them', async () => {
    const { page, open, call, projectId } = await openShop(browser!, api, []);
    await call('POST', '/domains', { domain: 'letters.test', projectId });
    await open('settings/topics');
    await page.getByRole('button', { name: 'New topic' }).click();
    const dialog = page.getByRole('dialog', { name: 'New topic' });
    await dialog.getByLabel('Key').fill('News!');
    await dialog.getByLabel('Name').fill('News');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    expect(await dialog.getByLabel('Key').getAttribute('aria-invalid')).toBe('true');
    await dialog.getByLabel('Key').fill('news');
    await dialog.getByLabel('Description').fill('Once a month');
    await dialog.getByLabel('Default').selectOption('subscribed');
    await dialog.getByLabel('Visibility').selectOption('public');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const table = page.getByRole('table', { name: 'Topics' });
    await table.getByText('news', { exact: true }).waitFor();
    const [topic] = await call('GET', '/topics');
    expect(topic).toMatchObject({
      key: 'news',
      description: 'Once a month',
      default: 'subscribed',
      visibility: 'public',
    });
    const template = await call('POST', '/templates', {
      name: 'Letter',
      subject: 'Hello',
      body: '<p>Hello</p>',
      from: 'shop@letters.test',
      type: 'MARKETING',
      topicId: topic.id,
    });
    await table.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit News' });
    await edit.getByLabel('Name').fill('Product news');
    await edit.getByRole('button', { name: 'Save' }).click();
    await table.getByText('Product news').waitFor();
    const remove = async () => {
      await table.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    };
    await remove();
    await page.getByRole('link', { name: 'Template Letter' }).waitFor();
    await page.keyboard.press('Escape');
    await call('DELETE', `/templates/${template.id}`);
    await remove();
    await page.getByText('A topic is a kind of marketing mail').waitFor();
    expect(await call('GET', '/topics')).toEqual([]);
  });

  it('require a confirmation, which needs a sender', async () => {
    const { page, open, call, projectId } = await openShop(browser!, api, []);
    await call('POST', '/domains', { domain: 'shop.test', projectId });
    await open('settings/consent');
    await page.getByLabel('Require confirmation').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    const from = page.getByLabel('From', { exact: true });
    expect(await from.getAttribute('aria-invalid')).toBe('true');
    await from.fill('team@shop.test');
    await page.getByLabel('From name').fill('The shop');
    await page.getByLabel('Remind after').fill('2');
    await page.getByLabel('Expire after').fill('3');
    await page.getByLabel('After a permanent bounce').selectOption('all');
    await page.getByText('A reminder comes after 2 h. The link works for 3 d.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The consent policy is saved.').waitFor();
    expect(await call('GET', '/consent-policy')).toMatchObject({
      requireConfirmation: true,
      templateId: null,
      from: 'team@shop.test',
      fromName: 'The shop',
      remindAfter: 7200,
      expireAfter: 259_200,
      bounceScope: 'all',
    });
  });

  it('limit when and how often marketing mail is sent, and say so', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    await open('settings/send-policy');
    await page.getByText('A contact may get any number of mails.').waitFor();
    await page.getByLabel('Time zone').fill('Europe/Vienna');
    await page.getByLabel('Quiet hours').check();
    await page.getByLabel('From', { exact: true }).fill('22:00');
    await page.getByLabel('To', { exact: true }).fill('22:00');
    await page.getByLabel('Sunday').uncheck();
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByRole('button', { name: 'Add limit' }).click();
    await limits.getByLabel('At most').fill('2');
    await page.getByLabel('Over the limit').selectOption('delay');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    await page.getByLabel('To', { exact: true }).fill('07:00');
    await page.getByText('at most 2 mails in 7 days; more are sent later').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The send policy is saved.').waitFor();
    expect(await call('GET', '/send-policy')).toMatchObject({
      timeZone: 'Europe/Vienna',
      quietHours: { from: '22:00', to: '07:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
      caps: [{ max: 2, perDays: 7 }],
      onCap: 'delay',
    });
  });

  it('have a suppression list, to which addresses are added and from which they are removed', async () => {
    const { page, open, call, faults: found } = await openShop(browser!, api, []);
    await open('settings/suppression');
    await page.getByRole('button', { name: 'Add addresses' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add addresses' });
    await dialog.getByLabel('Addresses').fill('ann@x.test\nbob@x.test\nnobody');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('1 line left out').waitFor();
    expect(await dialog.getByLabel('Addresses').inputValue()).toBe('nobody');
    await page.keyboard.press('Escape');
    const table = page.getByRole('table', { name: 'Suppression list' });
    await table.getByText('ann@x.test').waitFor();
    await page.getByText('2 addresses', { exact: true }).waitFor();
    await page.getByLabel('Search addresses').fill('bob');
    await table.getByText('ann@x.test').waitFor({ state: 'detached' });
    expect(page.url()).toContain('search=bob');
    await table.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await table.getByText('bob@x.test').waitFor();
    await table.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('bob@x.test is removed.').waitFor();
    await expect
      .poll(() => call('GET', '/suppression-list'), { timeout: 20_000, interval: 500 })
      .toMatchObject({ data: [{ email: 'ann@x.test', reason: 'manual', scope: 'marketing' }] });
    faults.push(...found);
  });

  it('find the entry of an erased contact by its address', async () => {
    const { page, open, call } = await openShop(browser!, api, []);
    const { id } = await call('POST', '/contacts', { email: 'ann@x.test' });
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await call('DELETE', `/contacts/${id}`);
    await open('settings/suppression?search=ann@x.test');
    await page.getByRole('button', { name: 'Look for a hash of it' }).click();
    await page.getByText('The contact was erased.').waitFor();
  });

  it('are only looked at by members', async () => {
    const { projectId } = await openShop(browser!, api, []);
    const bob = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ user_id: bob.userId, project_id: projectId, role: 'MEMBER' })
      .execute();
    const { page, open } = await openConsole(browser!, api, { ...bob, projectId });
    for (const path of ['consent', 'send-policy']) {
      await open(`settings/${path}`);
      const save = page.getByRole('button', { name: 'Save' });
      await save.waitFor();
      const reason = 'Only administrators of this project may do this.';
      expect([path, await save.getAttribute('title')]).toEqual([path, reason]);
    }
  });

  it.each(looks)('have no fault that axe finds: $name', async ({ options }) => {
    const shop = await openShop(browser!, api, [], options);
    const { page, open, call, check, faults: found } = shop;
    await open('settings/topics');
    await check('no topics');
    await open('settings/suppression');
    await check('no suppression');
    for (const visibility of ['public', 'private']) {
      await call('POST', '/topics', {
        key: visibility,
        name: `A topic that is ${visibility}`,
        description: 'A long description of it. '.repeat(10),
        default: 'subscribed',
        visibility,
      });
    }
    const emails = Array.from({ length: 60 }, (_, at) => `person-${at}@${'long-'.repeat(8)}x.test`);
    await call('POST', '/suppression-list', { emails });
    await call('PUT', '/send-policy', {
      quietHours: { from: '21:00', to: '08:00' },
      caps: [{ max: 3, perDays: 7 }],
    });
    await open('settings/topics');
    await page.getByRole('table', { name: 'Topics' }).waitFor();
    await check('topics');
    await page.getByRole('button', { name: 'New topic' }).click();
    await check('new topic');
    await open('settings/suppression');
    await page.getByRole('table', { name: 'Suppression list' }).waitFor();
    await check('suppression');
    await open('settings/consent');
    await page.getByLabel('Expire after').waitFor();
    await check('consent');
    await open('settings/send-policy');
    await page.getByLabel('Sunday').waitFor();
    await check('send policy');
    faults.push(...found);
  });
});
