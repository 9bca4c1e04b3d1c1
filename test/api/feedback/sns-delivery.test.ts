import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import { useFakeSes } from '../../support/fakes/ses.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { bounceDetail, sesEvent } from '../../support/fakes/ses-messages.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Sends mail through SES, and receives its notifications through SNS. */

const sesMode = () => ({
  AWS_SES_REGION: 'eu-west-1',
  AWS_SES_ACCESS_KEY_ID: 'id',
  AWS_SES_SECRET_ACCESS_KEY: 'secret',
  AWS_SES_ENDPOINT: ses.endpoint,
  SNS_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:everpost',
  // No sending limit, because waiting for it would be in the trace.
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});

const [ses, fake] = [await useFakeSes(), await useFakeSns()];
const engine = await useEngine(sesMode());
await prepare(engine);

async function prepare(target: Engine): Promise<void> {
  target.api.services.feedbackReaders = fake.feedbackReaders;
  await target.api.db.updateTable('domain').set({ status: 'verified' }).execute();
}

async function send(on = engine): Promise<string> {
  const sent = await on.call('POST', '/v1/send', {
    to: 'ada@x.example',
    subject: 'Hi',
    body: '<a href="https://shop.test/">shop</a>',
    from: `team@${on.domain}`,
  });
  expect(sent.status).toBe(200);
  return sent.body.data.emails[0].email as string;
}

const handedOver = (id: string) =>
  waitFor('the mail at SES', async () =>
    ses.emails.find(({ tags }) => tags['everpost_email_id'] === id),
  );

const emailOf = (id: string, on = engine) =>
  on.api.db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

const statesOf = ({ trace }: { trace: unknown }) =>
  (trace as { state: string }[]).map(({ state }) => state);

async function setTracking(tracking: string): Promise<void> {
  await engine.api.db.updateTable('project').set({ tracking }).execute();
}

describe('tracking in SES mode', () => {
  it('is left to SES, by the configuration set', async () => {
    const tracked = await handedOver(await send());
    expect(tracked.configurationSet).toBe('everpost');
    expect(tracked.raw.toString()).not.toContain('/t/');
    await setTracking('DISABLED');
    expect((await handedOver(await send())).configurationSet).toBe('everpost-no-tracking');
    await setTracking('ENABLED');
  });

  it('is our own where the server wants that', async () => {
    const own = await useEngine({ ...sesMode(), TRACKING_MODE: 'own' });
    await prepare(own);
    const id = await send(own);
    const mail = await handedOver(id);
    expect(mail.configurationSet).toBe('everpost-no-tracking');
    // Quoted-printable breaks lines anywhere.
    expect(mail.raw.toString().replaceAll('=\r\n', '')).toContain(`/t/o/${id}.gif?s=3D`);
  });
});

describe('a message whose answer was lost', () => {
  it('is settled by feedback, and sent once', async () => {
    ses.next.push('accept-then-drop');
    const id = await send();
    await handedOver(id);
    await waitFor('an unknown outcome', async () =>
      JSON.stringify((await emailOf(id)).trace).includes('"uncertain"'),
    );
    expect((await emailOf(id)).status).toBe('SENDING');
    const event = sesEvent('Delivery', { emailId: id, messageId: `lost-${id}` });
    const body = fake.notification(event);
    expect((await engine.api.request('POST', '/webhooks/sns', { body })).status).toBe(200);
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'DELIVERED', error: null, message_id: `lost-${id}` });
    expect(statesOf(email)).toEqual(['handed_over', 'uncertain', 'settled', 'delivered']);
    expect(ses.countOf(id)).toBe(1);
  });

  it('is not taken back by an answer that comes after the feedback', async () => {
    ses.delayMs = 1500;
    const id = await send();
    await waitFor('the attempt', async () => (await emailOf(id)).status === 'SENDING');
    const body = fake.notification(sesEvent('Delivery', { emailId: id, messageId: 'early' }));
    await engine.api.request('POST', '/webhooks/sns', { body });
    expect((await emailOf(id)).status).toBe('DELIVERED');
    ses.delayMs = 0;
    // The next message is sent when the attempt of this one has ended.
    const next = await send();
    await waitFor('the next mail', async () => (await emailOf(next)).status === 'SENT');
    const email = await emailOf(id);
    expect([email.status, email.message_id]).toEqual(['DELIVERED', 'early']);
    expect(statesOf(email)).toEqual(['handed_over', 'accepted', 'delivered']);
    const events = await engine.api.db
      .selectFrom('event')
      .select('name')
      .where('email_id', '=', id)
      .orderBy('recorded_at')
      .execute();
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.delivery']);
  });
});

describe('feedback on the mail of a campaign', () => {
  /** Sends a campaign to one new contact, and waits until SES has its mail. */
  async function sentCampaign() {
    const email = `${randomUUID()}@x.example`;
    await engine.api.db.updateTable('contact').set({ subscribed: false }).execute();
    const { body: contact } = await engine.call('POST', '/contacts', { email });
    const campaignId = await createCampaign(engine);
    await act(engine, campaignId, 'send');
    await campaignIn(engine, campaignId, 'SENT');
    const { body: page } = await engine.call('GET', `/emails?campaignId=${campaignId}`);
    return { campaignId, contactId: contact.id as string, id: page.data[0].id as string };
  }

  /** Delivers a notification twice, as SNS may. */
  async function reportTwice(event: object): Promise<void> {
    const body = fake.notification(event);
    for (const _ of [1, 2]) {
      expect((await engine.api.request('POST', '/webhooks/sns', { body })).status).toBe(200);
    }
  }

  it('counts each report once, whatever their order and however often they come', async () => {
    const { campaignId, contactId, id } = await sentCampaign();
    expect(ses.countOf(id)).toBe(1);
    const link = 'https://shop.test/';
    await reportTwice(sesEvent('Click', { emailId: id }, { link }));
    await reportTwice(sesEvent('Open', { emailId: id }));
    await reportTwice(sesEvent('Delivery', { emailId: id }));
    const { body: clicked } = await engine.call('GET', `/emails/${id}`);
    expect(clicked).toMatchObject({ status: 'CLICKED', opens: 1, clicks: 1 });
    expect(clicked.deliveredAt).not.toBeNull();
    await reportTwice(sesEvent('Bounce', { emailId: id }, bounceDetail('Permanent')));
    await reportTwice(sesEvent('Delivery', { emailId: id }));
    const { body: bounced } = await engine.call('GET', `/emails/${id}`);
    expect(bounced.status).toBe('BOUNCED');
    expect(statesOf(bounced)).toEqual([
      'queued',
      'handed_over',
      'accepted',
      'clicked',
      'opened',
      'delivered',
      'bounced',
    ]);
    const { body: stats } = await engine.call('GET', `/campaigns/${campaignId}/stats`);
    expect(stats.data).toMatchObject({
      sentCount: 1,
      deliveredCount: 1,
      openedCount: 1,
      clickedCount: 1,
      bouncedCount: 1,
      unsubscribedCount: 0,
    });
    const { body: contact } = await engine.call('GET', `/contacts/${contactId}`);
    expect(contact.subscribed).toBe(false);
    const { body: history } = await engine.call('GET', `/events/contact/${contactId}`);
    const names = history.events.map(({ name }: { name: string }) => name);
    expect(names.toReversed()).toEqual([
      'email.sent',
      'email.click',
      'email.open',
      'email.delivery',
      'email.bounce',
      // A different notification of SES, not a repetition.
      'email.delivery',
    ]);
  });
});
