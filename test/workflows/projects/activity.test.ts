import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { writeMail } from '../../support/mail-tables.ts';
import { ageEvents } from '../../support/pixel.ts';
import { act, createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The feed and its numbers after real work: sent, delivered, opened, scheduled. */

const engine = await useEngine();

const get = async (path: string) => (await engine.call('GET', path)).body;

/** Sends a mail. Returns its id, its recipient and the path of its pixel, once it was delivered. */
async function delivered() {
  const to = `${randomUUID()}@people.test`;
  const mail = { to, from: `team@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
  const { body } = await engine.call('POST', '/v1/send', mail);
  const { email: id, contact } = body.data.emails[0];
  await waitFor('the delivery', async () => {
    const { status } = await get(`/emails/${id}`);
    return status === 'DELIVERED';
  });
  const caught = await engine.api.request('GET', `/local/mailbox/${id}`);
  const [pixel = ''] = /http[^"]+\/t\/o\/[^"]+/.exec(caught.body.html as string) ?? [];
  return { id: id as string, contactId: contact.id as string, pixel };
}

it('a mail that is delivered and opened twice is three items and four events', async () => {
  const { id, contactId, pixel } = await delivered();
  for (const _ of [1, 2]) {
    expect((await fetch(pixel)).status).toBe(200);
    await ageEvents(engine.api.db, id, 11);
  }
  const { data } = await get(`/activity?contactId=${contactId}`);
  const items = data as { id: string; metadata: { totalOpens?: number } }[];
  expect(items.map((item) => item.id).toSorted()).toEqual(
    ['delivered', 'opened', 'sent'].map((word) => `${id}_${word}`),
  );
  expect(items.find((item) => item.id === `${id}_opened`)?.metadata.totalOpens).toBe(2);
  const { events } = await get(`/events/contact/${contactId}`);
  const told = (events as { name: string; data: { isFirstOpen?: boolean } }[])
    .toReversed()
    .map(({ name, data: { isFirstOpen } }) => [name, isFirstOpen]);
  expect(told).toEqual([
    ['email.sent', undefined],
    ['email.delivery', undefined],
    ['email.open', true],
    ['email.open', false],
  ]);
});

it('one more mail is one more in the numbers at once', async () => {
  const { totalEmailsSent: before } = await get('/activity/stats');
  await delivered();
  expect((await get('/activity/stats')).totalEmailsSent).toBe(before + 1);
});

it('a mail whose body the sweep has removed is listed without it', async () => {
  const { id, contactId } = await delivered();
  const feed = () => get(`/activity?contactId=${contactId}&types=email.sent`);
  expect((await feed()).data[0].metadata.body).toContain('<p>Hi</p>');
  // Two days old, because ids begin with their time.
  const at = Date.now() - 2 * 86_400_000;
  const aged = at.toString(16).padStart(12, '0') + id.replaceAll('-', '').slice(12);
  await writeMail(engine.api.db, (tx) =>
    sql`update email set id = ${aged}::uuid, created_at = to_timestamp(${at / 1000}::float8)
    where id = ${id}`.execute(tx),
  );
  await tasksOf(engine.api, { bodyRetentionDays: 1 }).CLEAR_MAIL_BODIES();
  expect((await feed()).data).toMatchObject([{ metadata: { subject: 'Hi', body: null } }]);
});

it('a campaign for tomorrow is upcoming until it is cancelled, and never in the feed', async () => {
  await engine.call('POST', '/contacts', { email: `${randomUUID()}@people.test` });
  const id = await createCampaign(engine);
  const scheduledFor = new Date(Date.now() + 86_400_000).toISOString();
  await act(engine, id, 'send', { scheduledFor });
  expect((await get('/activity/upcoming')).activities).toMatchObject([
    { id: `campaign_${id}_scheduled`, type: 'campaign.scheduled', timestamp: scheduledFor },
  ]);
  const { data } = await get('/activity');
  expect(data.map((item: { type: string }) => item.type)).not.toContain('campaign.scheduled');
  await act(engine, id, 'cancel');
  expect((await get('/activity/upcoming')).activities).toEqual([]);
});
