import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSigner } from '../../../providers/encryption.ts';
import { trackingLinks } from '../../../domain/links/tracking.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { ageEvents } from '../../support/pixel.ts';
import { linkTo } from '../../support/tracked-link.ts';

let campaignId: string;

const api = await useApi();
const project = await api.createProject((await api.signUp()).cookie);
const projectId = project.id;
const body = { email: 'ada@x.example' };
const made = await api.request('POST', '/contacts', { key: project.secretKey, body });
const contactId = made.body.id as string;

/** Sends a message. Returns its tracking links as they are in the mail. */
async function sentEmail() {
  campaignId = await insertTestCampaign(api.db, projectId);
  const id = await insertTestEmail(api.db, { projectId, contactId, campaignId });
  return { id, ...linksOf(id) };
}

function linksOf(emailId: string) {
  const sign = createSigner(api.services.config.jwtSecret, 'tracking links');
  const { pixelUrl, clickUrl } = trackingLinks('', emailId, sign);
  return { pixel: pixelUrl, clickUrl: (target: string) => clickUrl(linkTo(target)) };
}

const get = (path: string) => api.request('GET', path);
const emailOf = (id: string) =>
  api.db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const eventsOf = (id: string) =>
  api.db
    .selectFrom('event')
    .select(['name', 'data'])
    .where('email_id', '=', id)
    .orderBy('recorded_at')
    .execute();

describe('the pixel', () => {
  it('is a picture of one pixel that is never cached, and counts each open', async () => {
    const { id, pixel } = await sentEmail();
    for (const opens of [1, 2, 3]) {
      const response = await fetch(`${api.url}${pixel}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('image/gif');
      expect(response.headers.get('cache-control')).toBe('no-store');
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.subarray(0, 10).toString('latin1')).toBe('GIF89a\u0001\0\u0001\0');
      expect((await emailOf(id)).opens).toBe(opens);
      await ageEvents(api.db, id, 10.1);
    }
    const email = await emailOf(id);
    expect(email.status).toBe('OPENED');
    expect(email.delivered_at).toBeNull();
    const { opened_count: count } = await api.db
      .selectFrom('campaign')
      .select('opened_count')
      .where('id', '=', campaignId)
      .executeTakeFirstOrThrow();
    expect(count).toBe(1);
    const events = await eventsOf(id);
    expect(events.map(({ data }) => (data as { isFirstOpen: boolean }).isFirstOpen)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each([`/t/o/${randomUUID()}.gif`, '/t/o/x.gif', '/t/o/%00.gif'])(
    'is the same for an unknown message: %s',
    async (path) => {
      const { status, headers } = await get(path);
      expect([status, headers.get('content-type')]).toEqual([200, 'image/gif']);
    },
  );

  it('counts one open in 10 seconds', async () => {
    const { id, pixel, clickUrl } = await sentEmail();
    for (const opens of [1, 1, 1]) {
      await get(pixel);
      expect((await emailOf(id)).opens).toBe(opens);
    }
    // A click does not count as an open.
    await get(clickUrl('https://shop.test/'));
    await ageEvents(api.db, id, 9);
    await get(pixel);
    expect(await emailOf(id)).toMatchObject({ opens: 1, clicks: 1 });
    await ageEvents(api.db, id, 1.1);
    await get(pixel);
    expect((await emailOf(id)).opens).toBe(2);
    expect((await eventsOf(id)).map(({ name }) => name)).toEqual([
      'email.open',
      'email.click',
      'email.open',
    ]);
    // The limit applies to each message, not to each contact.
    const other = await sentEmail();
    await get(other.pixel);
    expect((await emailOf(other.id)).opens).toBe(1);
  });

  it('counts one of many opens at one moment', async () => {
    const { id, pixel } = await sentEmail();
    await Promise.all(Array.from({ length: 20 }, () => get(pixel)));
    expect((await emailOf(id)).opens).toBe(1);
    expect(await eventsOf(id)).toHaveLength(1);
  });

  it('without a signature of this mail is the same picture, and counts nothing', async () => {
    const { id, pixel, clickUrl } = await sentEmail();
    const other = await sentEmail();
    const [path] = pixel.split('?');
    const sign = createSigner('another secret of thirty-two characters', 'tracking links');
    const signature = new URL(other.pixel, api.url).searchParams.get('s')!;
    const ofLink = new URL(clickUrl('https://shop.test/'), api.url).searchParams.get('s')!;
    const given = ['', 'x', signature, ofLink, sign(id)];
    for (const query of ['', '?s=a&s=b', ...given.map((s) => `?s=${s}`)]) {
      const { status, headers } = await get(`${path}${query}`);
      expect([status, headers.get('content-type')]).toEqual([200, 'image/gif']);
    }
    expect((await emailOf(id)).opens).toBe(0);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('does not count other methods', async () => {
    const { id, pixel } = await sentEmail();
    expect((await api.request('HEAD', pixel)).status).toBe(200);
    expect((await api.request('POST', pixel)).status).toBe(405);
    expect((await emailOf(id)).opens).toBe(0);
  });
});

describe('a link', () => {
  it('leads to exactly its target and counts each time', async () => {
    const { id, clickUrl } = await sentEmail();
    const target = 'https://shop.test/a?b=1';
    for (const clicks of [1, 2]) {
      const { status, headers } = await get(clickUrl(target));
      expect([status, headers.get('location')]).toEqual([302, target]);
      expect((await emailOf(id)).clicks).toBe(clicks);
    }
    expect((await emailOf(id)).status).toBe('CLICKED');
    const [first] = await eventsOf(id);
    expect(first).toMatchObject({
      name: 'email.click',
      data: { link: target, linkId: linkTo(target).linkId, clicks: 1 },
    });
  });

  it.each([
    ['https://shop.test', 'https://shop.test'],
    ['https://shop.test/#a', 'https://shop.test/#a'],
    ['https://shop.test/?q=%C3%BC+%26', 'https://shop.test/?q=%C3%BC+%26'],
    ['https://shop.test/ü?q=a b', 'https://shop.test/%C3%BC?q=a%20b'],
  ])('to %s leads to %s', async (target, location) => {
    const { clickUrl } = await sentEmail();
    expect((await get(clickUrl(target))).headers.get('location')).toBe(location);
  });

  it('that was changed is answered 404, and counts nothing', async () => {
    const { id, clickUrl } = await sentEmail();
    const other = await sentEmail();
    const path = clickUrl('https://shop.test/');
    const evil = new URL(other.clickUrl('https://evil.example/'), api.url).searchParams.get('u')!;
    const changed = [
      path.replace(/u=[^&]+/, `u=${evil}`),
      path.replace(/s=.*/, 's='),
      path.replace(/&s=.*/, ''),
      path.replace(/u=[^&]+&/, ''),
      path.replace(/l=[^&]+/, 'l=00000000000000ff.1'),
      path.replace(/l=([^.]+)[^&]+/, 'l=$1.2'),
      path.replace(/l=[^&]+/, 'l=x'),
      path.replace(/l=[^&]+&/, ''),
      path.replace(/u=/, 'u=x&u='),
      `${path}x`,
      path.replace(id, other.id),
      path.replace(id, 'x'),
      `/t/c/${id}`,
    ];
    for (const link of changed) {
      const { status, headers, body } = await get(link);
      expect([link, status, body.error?.code]).toEqual([link, 404, 'RESOURCE_NOT_FOUND']);
      expect(headers.get('location')).toBeNull();
    }
    expect((await emailOf(id)).clicks).toBe(0);
  });

  it('of a server with another secret is answered 404', async () => {
    const sign = createSigner('another secret of thirty-two characters', 'tracking links');
    const { id } = await sentEmail();
    const { status } = await get(
      trackingLinks('', id, sign).clickUrl(linkTo('https://shop.test/')),
    );
    expect(status).toBe(404);
  });

  it('of a message that was removed still leads on', async () => {
    const { clickUrl } = linksOf(randomUUID());
    const { status, headers } = await get(clickUrl('https://shop.test/'));
    expect([status, headers.get('location')]).toEqual([302, 'https://shop.test/']);
  });

  it('does not count other methods', async () => {
    const { id, clickUrl } = await sentEmail();
    expect((await api.request('HEAD', clickUrl('https://shop.test/'))).status).toBe(302);
    expect((await emailOf(id)).clicks).toBe(0);
  });
});

it('counts every one of many clicks, and one open, at one moment', async () => {
  const { id, pixel, clickUrl } = await sentEmail();
  const path = clickUrl('https://shop.test/');
  await Promise.all(Array.from({ length: 20 }, (_, n) => get(n % 2 ? pixel : path)));
  expect(await emailOf(id)).toMatchObject({ opens: 1, clicks: 10 });
});
