import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import {
  insertClaimedEmail,
  insertTestCampaign,
  type insertTestEmail,
} from '../../support/projects/mails.ts';
import { bounceDetail, sesEvent, sesNotification } from '../../support/fakes/ses-messages.ts';
import { useSnsFeedback } from '../../support/projects/sns-feedback.ts';

const feedback = await useSnsFeedback();
const {
  api,
  fake,
  project,
  post,
  notify,
  sentEmail,
  contactOf,
  emailOf,
  campaignOf,
  eventsOf,
  namesOf,
  traceOf,
} = feedback;

describe('notifications', () => {
  it.each(['/webhooks/sns', '/webhooks/incoming/sns', '/api/webhooks/sns'])(
    'are taken at %s: a delivery, and once only',
    async (path) => {
      const { id, contactId } = await sentEmail();
      const notification = fake.notification(sesEvent('Delivery', { emailId: id }));
      for (const _ of [1, 2]) {
        const { status, body } = await post(notification, path);
        expect([status, body]).toEqual([200, { success: true }]);
      }
      expect((await emailOf(id)).status).toBe('DELIVERED');
      expect(await namesOf(contactId)).toEqual(['email.delivery']);
    },
  );

  it('have an effect once when they come twice at one moment', async () => {
    const { id, contactId } = await sentEmail();
    const notification = fake.notification(sesEvent('Open', { emailId: id }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(notification)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await emailOf(id)).opens).toBe(1);
    expect(await namesOf(contactId)).toEqual(['email.open']);
  });

  it('find their message by the id of the provider, too', async () => {
    const messageId = randomUUID();
    const { id } = await sentEmail({ message_id: messageId });
    await notify(sesNotification('Delivery', { messageId }));
    expect((await emailOf(id)).status).toBe('DELIVERED');
    const tagged = await sentEmail();
    await notify(sesEvent('Delivery', { emailId: randomUUID(), messageId }));
    await notify(sesEvent('Open', { emailId: tagged.id, messageId }));
    expect((await emailOf(tagged.id)).status).toBe('OPENED');
  });

  it.each([
    ['no JSON', 'Successfully validated SNS topic.'],
    ['no mail', { eventType: 'Delivery' }],
    ['a mail without id', { eventType: 'Delivery', mail: {} }],
    ['another kind of JSON', '[]'],
    ['null', 'null'],
    ['a number', '5'],
    ['an empty text', '""'],
    ['half of a mail', { eventType: 'Delivery', mail: null }],
    ['a mail with an empty id', { eventType: 'Delivery', mail: { messageId: '' } }],
    ['a mail with an endless id', { eventType: 'Delivery', mail: { messageId: 'm'.repeat(3000) } }],
  ])('with %s are answered 400 INVALID_NOTIFICATION', async (_, message) => {
    const { status, body } = await notify(message);
    expect([status, body.error.code]).toEqual([400, 'INVALID_NOTIFICATION']);
  });

  it.each(['', 'm'.repeat(3000), 'm\0', '\ud800'])(
    'whose own id is %j are answered 400 INVALID_NOTIFICATION',
    async (MessageId) => {
      const { id } = await sentEmail();
      const odd = fake.notification(sesEvent('Delivery', { emailId: id }), { MessageId });
      const { status, body } = await post(odd);
      expect([status, body.error.code]).toEqual([400, 'INVALID_NOTIFICATION']);
      expect((await emailOf(id)).status).toBe('SENT');
    },
  );

  it.each(['-200000-01-01T00:00:00Z', '+200000-01-01T00:00:00Z', '1969-12-31T23:00:00Z', 'x', 5])(
    'of the time %s count from now',
    async (timestamp) => {
      const { id } = await sentEmail({ sent_at: null, message_id: null, attempts: 1 });
      const event = sesEvent('Delivery', { emailId: id }, { timestamp });
      const mail = { ...(event['mail'] as object), timestamp };
      const before = Date.now();
      expect((await notify({ ...event, mail })).status).toBe(200);
      const email = await emailOf(id);
      expect(Number(email.delivered_at)).toBeGreaterThanOrEqual(before);
      expect(Number(email.sent_at)).toBeGreaterThanOrEqual(before);
    },
  );

  it.each([
    { eventType: 'Delivery', delivery: [] },
    { eventType: 'Bounce', bounce: 'x' },
    { eventType: 'Bounce', bounce: { bouncedRecipients: [null] } },
    { eventType: 'Click', click: { link: { a: 1 } } },
    { eventType: 'Complaint', complaint: [5] },
    { eventType: ['Open'], notificationType: {} },
    { eventType: '__proto__', receipt: '['.repeat(1000) },
  ])('with parts of another form are answered 200: %o', async (odd) => {
    const { id } = await sentEmail();
    const { mail } = sesEvent('Open', { emailId: id });
    expect((await notify({ ...odd, mail })).status).toBe(200);
  });

  it('of an unknown email are answered 404, and taken once it is known', async () => {
    const id = randomUUID();
    const notification = fake.notification(sesEvent('Delivery', { emailId: id, messageId: id }));
    const { status, body } = await post(notification);
    expect([status, body.error.code]).toEqual([404, 'EMAIL_NOT_FOUND']);
    await sentEmail({ id });
    expect((await post(notification)).status).toBe(200);
    expect((await emailOf(id)).status).toBe('DELIVERED');
  });

  it.each(['Send', 'DeliveryDelay', 'Subscription', 'SomethingNew'])(
    '%s is answered 200 without effect',
    async (kind) => {
      const { id, contactId } = await sentEmail();
      const before = await emailOf(id);
      expect((await notify(sesEvent(kind, { emailId: id }))).status).toBe(200);
      expect((await notify(sesEvent(kind, { messageId: 'unknown' }))).status).toBe(200);
      expect(await emailOf(id)).toEqual(before);
      expect(await namesOf(contactId)).toEqual([]);
    },
  );

  it.each(['not-spam', 'auth-failure', 'Not-Spam'])(
    'of a complaint that is none (%s) are answered 200 without effect',
    async (complaintFeedbackType) => {
      const { id, contactId } = await sentEmail();
      const before = await emailOf(id);
      const detail = { complaintFeedbackType };
      expect((await notify(sesEvent('Complaint', { emailId: id }, detail))).status).toBe(200);
      const unknown = sesNotification('Complaint', { messageId: 'unknown' }, detail);
      expect((await notify(unknown)).status).toBe(200);
      expect(await emailOf(id)).toEqual(before);
      expect((await contactOf(contactId)).subscribed).toBe(true);
      expect(await namesOf(contactId)).toEqual([]);
    },
  );

  it.each(['abuse', 'fraud', 'virus', 'other', null, 7])(
    'of a complaint of the type %s unsubscribe',
    async (complaintFeedbackType) => {
      const { id, contactId } = await sentEmail();
      await notify(sesEvent('Complaint', { emailId: id }, { complaintFeedbackType }));
      expect((await emailOf(id)).status).toBe('COMPLAINED');
      expect((await contactOf(contactId)).subscribed).toBe(false);
    },
  );

  it('wake and start workflows', async () => {
    const { id } = await sentEmail();
    const { body } = await api.request('POST', '/workflows', {
      key: project.secretKey,
      body: { name: 'Clicked', triggerType: 'EVENT', eventName: 'email.click' },
    });
    await sql`update workflow set enabled = true where id = ${body.id}`.execute(api.db);
    await sql`insert into workflow_version (workflow_id, version, project_id, graph)
      values (${body.id}, 1, ${project.id}, '{}') on conflict do nothing`.execute(api.db);
    api.dispatched.length = 0;
    await notify(sesEvent('Click', { emailId: id }, { link: 'https://shop.test' }));
    expect(api.dispatched).toEqual([expect.stringMatching(/^execution-/)]);
    await sql`delete from workflow where id = ${body.id}`.execute(api.db);
  });
});

describe('what becomes of a message', () => {
  it('moves on whatever the order: click, open, delivery', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail({}, campaignId);
    const link = 'https://shop.test/a?b=1';
    const at = (second: number) => ({ timestamp: `2026-11-20T08:00:0${second}.000Z` });
    await notify(sesEvent('Click', { emailId: id }, { ...at(5), link }));
    await notify(sesEvent('Open', { emailId: id }, at(4)));
    await notify(sesEvent('Open', { emailId: id }, at(3)));
    await notify(sesEvent('Delivery', { emailId: id }, at(2)));
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'CLICKED', opens: 2, clicks: 1, error: null });
    const times = [email.delivered_at, email.opened_at, email.clicked_at];
    expect(times.map((time) => time?.toISOString())).toEqual([
      '2026-11-20T08:00:02.000Z',
      '2026-11-20T08:00:03.000Z',
      '2026-11-20T08:00:05.000Z',
    ]);
    expect(await campaignOf(campaignId)).toMatchObject({
      delivered_count: 1,
      opened_count: 1,
      clicked_count: 1,
      bounced_count: 0,
    });
    const base = {
      subject: 'Hi Ada',
      from: 'team@shop.test',
      fromName: 'The Shop',
      messageId: email.message_id,
      emailId: id,
      templateId: null,
      campaignId,
      sourceType: 'CAMPAIGN',
    };
    expect((await eventsOf(contactId)).map(({ name, data }) => [name, data])).toEqual([
      [
        'email.click',
        {
          ...base,
          link,
          linkId: linkIdOf(link),
          clickedAt: at(5).timestamp,
          clicks: 1,
          isFirstClick: true,
        },
      ],
      ['email.open', { ...base, openedAt: at(4).timestamp, opens: 1, isFirstOpen: true }],
      ['email.open', { ...base, openedAt: at(3).timestamp, opens: 2, isFirstOpen: false }],
      ['email.delivery', { ...base, deliveredAt: at(2).timestamp }],
    ]);
    expect(await traceOf(id)).toEqual([
      ['clicked', { link }],
      ['opened', null],
      ['delivered', null],
    ]);
    expect((await eventsOf(contactId)).every(({ email_id: named }) => named === id)).toBe(true);
  });

  it('ends as BOUNCED after a click, and stays so after a delivery', async () => {
    const { id } = await sentEmail();
    await notify(sesEvent('Click', { emailId: id }, { link: 'x' }));
    await notify(sesEvent('Bounce', { emailId: id }, bounceDetail('Permanent')));
    expect((await emailOf(id)).status).toBe('BOUNCED');
    await notify(sesEvent('Delivery', { emailId: id }));
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'BOUNCED', error: 'smtp; 550 5.1.1 user unknown' });
    expect(email.delivered_at).not.toBeNull();
    await notify(sesEvent('Complaint', { emailId: id }));
    expect((await emailOf(id)).status).toBe('COMPLAINED');
  });

  it.each(['Permanent', 'Undetermined'])(
    'bounces (%s) and unsubscribes its contact without saying so',
    async (bounceType) => {
      const campaignId = await insertTestCampaign(api.db, project.id);
      const { id, contactId } = await sentEmail({}, campaignId);
      await notify(sesEvent('Bounce', { emailId: id }, bounceDetail(bounceType)));
      await notify(sesEvent('Bounce', { emailId: id }, bounceDetail(bounceType)));
      expect((await contactOf(contactId)).subscribed).toBe(false);
      expect(await namesOf(contactId)).toEqual(['email.bounce', 'email.bounce']);
      const [{ data } = { data: null }] = await eventsOf(contactId);
      expect(data).toMatchObject({ bounceType, bouncedAt: '2026-11-20T08:00:02.000Z' });
      expect((await campaignOf(campaignId)).bounced_count).toBe(1);
      expect((await traceOf(id)).map(([state]) => state)).toEqual(['bounced']);
    },
  );

  it('leaves everything as it is when a bounce passes', async () => {
    const { id, contactId } = await sentEmail();
    await notify(sesEvent('Bounce', { emailId: id }, bounceDetail('Transient')));
    expect(await emailOf(id)).toMatchObject({ status: 'SENT', bounced_at: null, error: null });
    expect((await contactOf(contactId)).subscribed).toBe(true);
    const [event] = await eventsOf(contactId);
    expect(event).toMatchObject({ name: 'email.bounce', data: { transientBounce: true } });
    expect(event?.data).not.toHaveProperty('bounceType');
  });

  it('does not unsubscribe a contact for mail that went to another address', async () => {
    const { id, contactId } = await sentEmail({ to_email: 'team@else.example' });
    await notify(sesEvent('Bounce', { emailId: id }, bounceDetail('Permanent')));
    expect((await emailOf(id)).status).toBe('BOUNCED');
    expect((await contactOf(contactId)).subscribed).toBe(true);
  });

  it('unsubscribes its contact when it complains', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail({}, campaignId);
    await notify(sesEvent('Delivery', { emailId: id }));
    await notify(sesEvent('Complaint', { emailId: id }));
    expect((await emailOf(id)).status).toBe('COMPLAINED');
    expect((await contactOf(contactId)).subscribed).toBe(false);
    expect(await namesOf(contactId)).toEqual(['email.delivery', 'email.complaint']);
    expect((await campaignOf(campaignId)).complained_count).toBe(1);
  });

  it.each([
    ['Reject', { reason: 'Bad content' }, 'SES: Bad content'],
    ['Rendering Failure', {}, 'SES: no template'],
    ['RenderingFailure', {}, 'SES: no template'],
  ])('fails after %s, without an event, and is not billed', async (kind, detail, error) => {
    const { id, contactId } = await sentEmail();
    await sql`insert into usage_report (email_id, customer, units, sent_at)
      values (${id}, 'cus_1', 1, now())`.execute(api.db);
    const event = sesEvent(kind, { emailId: id }, detail);
    await notify({ ...event, failure: { errorMessage: 'no template' } });
    expect(await emailOf(id)).toMatchObject({ status: 'FAILED', error });
    expect(await namesOf(contactId)).toEqual([]);
    const billed = await sql`select from usage_report where email_id = ${id}`.execute(api.db);
    expect(billed.rows).toEqual([]);
  });
});

describe('a message whose outcome is unknown', () => {
  const unknown = {
    sent_at: null,
    message_id: null,
    attempts: 1,
    attempt_id: randomUUID(),
  } as const;
  const states: [string, Parameters<typeof insertTestEmail>[2]][] = [
    ['uncertain', { ...unknown, status: 'SENDING', lease_until: new Date(Date.now() - 60_000) }],
    ['given up', { ...unknown, status: 'FAILED', error: 'delivery_unknown' }],
    ['due once more', { ...unknown, status: 'PENDING' }],
  ];

  it.each(states)('stays rejected if that is reported before Send: %s', async (_, fields) => {
    const customer = `cus_${randomUUID()}`;
    await sql`update project set customer = ${customer} where id = ${project.id}`.execute(api.db);
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail(fields, campaignId);
    await notify(sesEvent('Reject', { emailId: id }, { reason: 'Bad content' }));
    await notify(sesEvent('Send', { emailId: id }));
    const error = 'SES: Bad content';
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'FAILED', error, refusal: 'provider_refused' });
    expect(email.sent_at).not.toBeNull();
    expect(await namesOf(contactId)).toEqual(['email.sent']);
    expect((await campaignOf(campaignId)).sent_count).toBe(1);
    expect((await traceOf(id)).map(([state]) => state)).toEqual(['settled', 'refused']);
    const billed = await sql`select from usage_report where email_id = ${id}`.execute(api.db);
    expect(billed.rows).toEqual([]);
    const { rows: tally } = await sql`
      select code, sum(count)::int as count, sum(sent)::int as sent from campaign_tally
        where campaign_id = ${campaignId} group by code having sum(count) <> 0`.execute(api.db);
    expect(tally).toEqual([{ code: 'provider_refused', count: 1, sent: 1 }]);
    await sql`update project set customer = null where id = ${project.id}`.execute(api.db);
  });

  it.each(states)('counts as sent first when it was %s', async (_, fields) => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail(fields, campaignId);
    api.dispatched.length = 0;
    await notify(sesEvent('Delivery', { emailId: id, messageId: `ses-${id}` }));
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'DELIVERED', error: null, message_id: `ses-${id}` });
    expect(email.sent_at?.toISOString()).toBe('2026-11-20T08:00:00.000Z');
    expect(email.lease_until).toBeNull();
    expect(await namesOf(contactId)).toEqual(['email.sent', 'email.delivery']);
    expect(await campaignOf(campaignId)).toMatchObject({ sent_count: 1, delivered_count: 1 });
    expect((await traceOf(id)).map(([state]) => state)).toEqual(['settled', 'delivered']);
    expect((await traceOf(id))[0]?.[1]).toMatchObject({ by: 'feedback', feedback: 'delivery' });
    expect(api.dispatched).toEqual([`campaign-${campaignId}`]);
  });

  it('is accepted, not settled, while its attempt still waits for the answer', async () => {
    const lease_until = new Date(Date.now() + 60_000);
    const { id } = await sentEmail({ ...unknown, status: 'SENDING', lease_until });
    await notify(sesEvent('Send', { emailId: id }));
    expect((await emailOf(id)).status).toBe('SENT');
    await notify(sesEvent('Delivery', { emailId: id, messageId: `ses-${id}` }));
    expect((await emailOf(id)).status).toBe('DELIVERED');
    expect(await traceOf(id)).toEqual([
      ['accepted', { messageId: expect.any(String) }],
      ['delivered', null],
    ]);
  });

  it('keeps what was handed over when feedback is quicker than the answer', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { contactId } = await sentEmail();
    const { emailId: id, attempt } = await insertClaimedEmail(
      api.db,
      { projectId: project.id, contactId, campaignId },
      { subject: '' },
    );
    await notify(sesEvent('Delivery', { emailId: id }));
    const content = { subject: 'Hi Ada', bodyTemplate: 'f', values: ['Ada'] };
    await recordDeliveryOutcomes(api.db, {
      ...attempt,
      outcomes: [{ emailId: id, kind: 'accepted', messageId: 'm', delivered: false, content }],
    });
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'DELIVERED', subject: 'Hi Ada' });
    expect(email.body_values).toEqual(['Ada']);
    expect(await campaignOf(campaignId)).toMatchObject({ sent_count: 1, delivered_count: 1 });
  });

  it('counts as sent when the provider says that it took it', async () => {
    const { id, contactId } = await sentEmail(states[0]![1]);
    await notify(sesEvent('Send', { emailId: id }));
    expect((await emailOf(id)).status).toBe('SENT');
    expect(await namesOf(contactId)).toEqual(['email.sent']);
  });

  it('was not sent when it was never handed over', async () => {
    const { id, contactId } = await sentEmail({
      status: 'FAILED',
      error: 'project_disabled',
      sent_at: null,
    });
    expect((await notify(sesEvent('Open', { emailId: id }))).status).toBe(200);
    expect((await emailOf(id)).status).toBe('FAILED');
    expect(await namesOf(contactId)).toEqual([]);
  });
});
