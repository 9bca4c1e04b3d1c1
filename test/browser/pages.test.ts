import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../db/consent/confirmations.ts';
import { withTracking } from '../../domain/links/tracking.ts';
import { optOutLanguages } from '../../domain/mail/opt-out-texts.ts';
import { useApi } from '../support/api.ts';
import { useBrowser } from '../support/processes/chromium.ts';

/** The pages in a browser of this machine, without JavaScript. */

const browser = await useBrowser();
const api = await useApi();
const project = await api.createProject((await api.signUp()).cookie);
let contacts = 0;
const faults: string[] = [];

async function createContact(locale = 'en'): Promise<string> {
  contacts += 1;
  const made = await api.request('POST', '/contacts', {
    key: project.secretKey,
    body: { email: `zoe${contacts}@x.example`, data: { locale } },
  });
  return made.body.id as string;
}

async function isSubscribed(id: string): Promise<boolean> {
  return (await api.request('GET', `/contacts/public/${id}`)).body.subscribed as boolean;
}

/** Opens a page. Every violation of its policy is a fault. */
async function open(path: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const context = await browser!.newContext({ javaScriptEnabled: false, colorScheme });
  const page = await context.newPage();
  page.on('console', (message) => faults.push(message.text()));
  page.on('requestfailed', (request) => faults.push(request.url()));
  await page.goto(`${api.url}${path}`);
  return page;
}

it('finds a Chromium to try the pages in', (context) => {
  if (!browser) context.skip('No Chromium is installed: no page is tried in a browser.');
});

describe.runIf(browser)('the opt-out pages in a browser', () => {
  afterAll(() => expect(faults).toEqual([]));

  it('unsubscribe by keyboard alone', async () => {
    const id = await createContact();
    const page = await open(`/unsubscribe/${id}`);
    expect(await isSubscribed(id)).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
    expect(await page.getByText('z…@x.example').count()).toBe(1);
    expect(await isSubscribed(id)).toBe(false);
  });

  it('manage a subscription back and forth', async () => {
    const id = await createContact();
    const page = await open(`/manage/${id}`);
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
    expect(await isSubscribed(id)).toBe(false);
    await page.goto(`${api.url}/manage/${id}`);
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor();
    expect(await isSubscribed(id)).toBe(true);
  });

  it.each(optOutLanguages)('choose topics in %s', async (language) => {
    const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
    const ask = (method: string, path: string, body?: unknown) =>
      api.request(method, path, { key, body });
    const topic = { default: 'subscribed', visibility: 'public' };
    await ask('POST', '/topics', { ...topic, key: 'news', name: 'News', description: 'Monthly' });
    await ask('POST', '/topics', { ...topic, key: 'tips', name: 'Tips' });
    await ask('POST', '/topics', { ...topic, key: 'staff', name: 'Staff', visibility: 'private' });
    const made = { email: 'zoe@x.example', data: { locale: language } };
    const id = (await ask('POST', '/contacts', made)).body.id as string;
    const chosen = async () => {
      const { body } = await ask('GET', `/contacts/${id}/topics`);
      return body.map((each: { subscribed: boolean }) => each.subscribed);
    };
    const page = await open(`/manage/${id}`);
    const box = (name: string) => page.getByRole('checkbox', { name, exact: true });
    const [save, all] = [page.getByRole('button').first(), page.getByRole('button').last()];
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    expect(await page.getByRole('checkbox').count()).toBe(2);
    expect(await page.getByRole('button').count()).toBe(2);
    await box('News').uncheck();
    await save.click();
    expect([await box('News').isChecked(), await box('Tips').isChecked()]).toEqual([false, true]);
    expect([await isSubscribed(id), await chosen()]).toEqual([true, [false, true, true]]);
    await all.click();
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0);
    expect(await isSubscribed(id)).toBe(false);
    await box('News').check();
    await save.click();
    expect([await isSubscribed(id), await chosen()]).toEqual([true, [true, false, true]]);
    await page.setViewportSize({ width: 320, height: 480 });
    const label = await page.locator('label').first().boundingBox();
    expect(label?.height).toBeGreaterThanOrEqual(44);
    await page.context().close();
  });

  it.each(optOutLanguages)('confirm a request by keyboard alone in %s', async (language) => {
    const id = await createContact(language);
    await api.request('POST', `/contacts/public/${id}/unsubscribe`);
    const token = randomBytes(32).toString('hex');
    await api.db
      .insertInto('opt_in')
      .values({
        project_id: project.id,
        contact_id: id,
        email: `zoe${contacts}@x.example`,
        of_mail: true,
        topic_ids: [],
        token_hash: hashToken(token),
        mail_wanted: false,
        mails: 1,
        last_mail_at: new Date(),
        expire_after: 3600,
      })
      .execute();
    const page = await open(`/confirm/${token}`);
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    expect(await page.getByText('z…@x.example').count()).toBe(1);
    expect(await isSubscribed(id)).toBe(false);
    const asked = await page.getByRole('heading', { level: 1 }).innerText();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: asked }).waitFor();
    expect([await page.getByRole('button').count(), await isSubscribed(id)]).toEqual([0, true]);
    await page.context().close();
  });

  it.each(optOutLanguages)('have one heading and one named button in %s', async (language) => {
    const id = await createContact(language);
    for (const path of ['unsubscribe', 'subscribe', 'manage']) {
      const page = await open(`/${path}/${id}`);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      expect(await page.getByRole('main').getByRole('heading', { level: 1 }).count()).toBe(1);
      expect(await page.getByRole('button').innerText()).not.toBe('');
      expect(await page.title()).toBe(await page.getByRole('heading').innerText());
      await page.context().close();
    }
  });

  it.each(['light', 'dark'] as const)('can be read in %s, on a small screen', async (scheme) => {
    const page = await open(`/unsubscribe/${await createContact('de')}`, scheme);
    await page.setViewportSize({ width: 320, height: 480 });
    const coloursOf = (selector: string) =>
      page.evaluate<[front: string, back: string]>(
        `(({ color, backgroundColor }) => [color, backgroundColor])(
          getComputedStyle(document.querySelector('${selector}')))`,
      );
    const [text, button] = [await coloursOf('body'), await coloursOf('button')];
    for (const [front, back] of [text, button]) {
      expect(contrast(front, back)).toBeGreaterThanOrEqual(7);
    }
    expect(scheme === 'dark').toBe(luminance(text[1]) < 0.5);
    const box = await page.getByRole('button').boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(44);
    expect(box!.x + box!.width).toBeLessThanOrEqual(320);
  });

  it('answer a broken link with a page', async () => {
    const page = await open('/manage/x');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
    // The browser logs the status.
    expect(faults.splice(0)).toEqual([expect.stringContaining('404')]);
  });
});

describe.runIf(browser)('tracked links in a browser', () => {
  let page: Page;
  beforeAll(async () => {
    page = await browser!.newPage();
  });

  /** Returns the addresses that a browser finds in HTML, and the number of images it shows. */
  async function readLinks(html: string) {
    await page.setContent(html);
    const links = await page.evaluate<string[]>(
      "[...document.querySelectorAll('a[href]')].map((link) => link.href)",
    );
    return { links, pixels: await page.locator('img').count() };
  }

  it.each([
    '<a href="https://s.test/?a=1&amp;b=2&c=3&copy=4">x</a>',
    "<a href=https://s.test/a/b>x</a><a href = 'https://s.test/\"'>y</a>",
    '<a href="https://s.test/&#x41;&#66;">x</a>',
    '<p title="<a href=https://s.test/no>"><a href="https://s.test/yes">x</a>',
    '<!-- <a href="https://s.test/no"> --!><a href="https://s.test/yes">x</a>',
    '<!--><a href="https://s.test/yes">x</a><!-- -->',
    '<style><a href="https://s.test/no"></style><a href="https://s.test/yes">x</a>',
    '<textarea><a href="https://s.test/no"></textarea><a href="https://s.test/yes">x</a>',
    '<a href="https://s.test/1" href="https://s.test/2">x</a>',
    '<a/href="https://s.test/1"/>x</a><a\thref="https://s.test/2"class=a>y</a>',
    '</body><a href="https://s.test/after">x</a>',
    '<a href="https://s.test/yes">x</a><a href="https://s.test/no',
    '<a href="https://s.test/yes">x</a><!-- never closed',
    '<a href="\n https://s.test/a\nb ">x</a>',
  ])('lead where they led before: %j', async (html) => {
    const targets: string[] = [];
    const clickUrl = ({ target }: { target: string }) =>
      `https://t.test/${targets.push(target) - 1}`;
    const tracked = withTracking(html, { pixelUrl: 'data:image/gif;base64,', clickUrl });
    const [before, after] = [await readLinks(html), await readLinks(tracked)];
    const led = after.links.map((link) => {
      const [, index] = /^https:\/\/t\.test\/(\d+)$/.exec(link) ?? [];
      return new URL(targets[Number(index)]!).href;
    });
    expect(led).toEqual(before.links);
    expect([before.pixels, after.pixels]).toEqual([0, 1]);
  });
});

/** Returns the relative luminance of `rgb(r, g, b)` (WCAG 2.2). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}
