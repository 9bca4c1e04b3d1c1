import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { activityTypes } from '../../../domain/activity.ts';
import { useActivityShop } from '../../support/projects/activity-shop.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const activity = await useActivityShop();
const { shop, contact, insertEmail, insertCampaign, insertExecution } = activity;
afterEach(() => activity.clear());

const get = (path: string) => activity.get(path);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const item = { id: expect.any(String), timestamp: expect.any(String) };
const aboutContact = () => ({ contactId: contact.id, contactEmail: contact.email });

describe('GET /activity', () => {
  it('shows tracked events and changes of subscription', async () => {
    await shop.track({ email: contact.email, event: 'ordered', data: { total: 42 } });
    await shop.track({ email: contact.email, event: 'left', subscribed: false });
    await shop.call('POST', '/events/track', { name: 'alone' });
    expect(await get('/activity')).toEqual({
      hasMore: false,
      data: [
        { ...item, type: 'event.triggered', metadata: { eventName: 'alone', eventData: null } },
        {
          ...item,
          ...aboutContact(),
          type: 'event.triggered',
          metadata: { eventName: 'left', eventData: null },
        },
        {
          ...item,
          ...aboutContact(),
          type: 'contact.unsubscribed',
          metadata: { source: 'api' },
        },
        {
          ...item,
          ...aboutContact(),
          type: 'event.triggered',
          metadata: { eventName: 'ordered', eventData: { total: 42 } },
        },
      ],
    });
  });

  it('shows what became of a mail, each once', async () => {
    const at = (minute: number) => `2026-11-20T09:0${minute}:00.000Z`;
    const id = await insertEmail({
      status: 'BOUNCED',
      error: 'no such user',
      opens: 2,
      clicks: 3,
      sent_at: at(1),
      delivered_at: at(2),
      opened_at: at(3),
      clicked_at: at(4),
      bounced_at: at(5),
      complained_at: at(6),
    });
    const metadata = {
      subject: 'Hi Ada',
      body: '<p>Hi</p>',
      from: 'team@shop.example',
      fromName: 'The Shop',
      replyTo: null,
      toName: null,
      sourceType: 'TRANSACTIONAL',
      campaignName: null,
      workflowName: null,
    };
    const told = (word: string, minute: number, more = {}) => ({
      id: `${id}_${word}`,
      type: `email.${word}`,
      timestamp: at(minute),
      ...aboutContact(),
      metadata: { ...metadata, ...more },
    });
    const { data } = await get('/activity?startDate=2026-11-20');
    expect(data).toEqual([
      told('complaint', 6),
      told('bounced', 5, { error: 'no such user' }),
      told('clicked', 4, { totalClicks: 3 }),
      told('opened', 3, { totalOpens: 2 }),
      told('delivered', 2),
      told('sent', 1),
    ]);
  });

  it('shows inbound mail as received and failed mail not at all', async () => {
    await insertEmail({ status: 'FAILED', error: 'refused', sent_at: new Date() });
    await insertEmail({ source_type: 'INBOUND', status: 'RECEIVED', sent_at: new Date() });
    const { data } = await get('/activity');
    expect(data.map(({ type }: { type: string }) => type)).toEqual(['email.received']);
  });

  it('lists a mail whose body was removed', async () => {
    await insertEmail({ body: null, sent_at: new Date(), status: 'SENT' });
    expect((await get('/activity')).data).toMatchObject([{ metadata: { body: null } }]);
  });

  it('shows the body a campaign’s mail had when it left', async () => {
    const campaignId = await insertCampaign();
    const body = JSON.stringify({ texts: ['<p>Hi ', '</p>'], slots: [0] });
    const ids = { project_id: shop.project.id, campaign_id: campaignId };
    await shop.api.db
      .insertInto('body_template')
      .values({ ...ids, hash: 'f', body })
      .execute();
    await insertEmail({
      body: null,
      body_template: 'f',
      body_values: JSON.stringify(['Ada']),
      campaign_id: campaignId,
      status: 'SENT',
      sent_at: new Date(),
    });
    expect((await get('/activity')).data).toMatchObject([{ metadata: { body: '<p>Hi Ada</p>' } }]);
    await shop.api.db.deleteFrom('campaign').execute();
    expect((await get('/activity')).data).toMatchObject([
      { metadata: { body: '<p>Hi Ada</p>', campaignName: null } },
    ]);
  });

  it('names the campaign or the workflow a mail is of', async () => {
    const sent = { status: 'SENT', sent_at: new Date() };
    await insertEmail({ ...sent, campaign_id: await insertCampaign() });
    await insertEmail({ ...sent, workflow_execution_id: await insertExecution() });
    const { data } = await get('/activity?types=email.sent');
    expect(new Set(data.map((one: { metadata: object }) => one.metadata))).toMatchObject(
      new Set([
        { campaignName: 'Spring sale', workflowName: null },
        { campaignName: null, workflowName: 'Welcome' },
      ]),
    );
  });

  it('shows campaigns that were sent, without a contact', async () => {
    const segment = await shop.api.db
      .insertInto('segment')
      .values({ project_id: shop.project.id, name: 'Pro users', type: 'STATIC' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const id = await insertCampaign({
      status: 'SENT',
      sent_at: new Date(),
      audience_type: 'SEGMENT',
      segment_id: segment.id,
    });
    expect((await get('/activity')).data).toEqual([
      {
        id: `campaign_${id}_sent`,
        type: 'campaign.sent',
        timestamp: expect.any(String),
        metadata: {
          campaignName: 'Spring sale',
          subject: '20% off',
          totalRecipients: 4,
          segmentName: 'Pro users',
          audienceType: 'SEGMENT',
        },
      },
    ]);
  });

  it('shows when an execution started and how it ended', async () => {
    const id = await insertExecution({
      status: 'EXITED',
      exit_reason: 'enough',
      completed_at: new Date(Date.now() + 1e3),
    });
    const metadata = { workflowName: 'Welcome', status: 'EXITED', exitReason: 'enough' };
    expect((await get('/activity')).data).toEqual([
      { ...item, ...aboutContact(), id: `${id}_completed`, type: 'workflow.completed', metadata },
      { ...item, ...aboutContact(), id: `${id}_started`, type: 'workflow.started', metadata },
    ]);
  });

  it('pages by cursor, also after the item it ends with was deleted', async () => {
    for (const minutes of [1, 2, 3]) {
      await insertEmail({ status: 'SENT', sent_at: new Date(Date.now() - minutes * 60_000) });
    }
    const first = await get('/activity?types=email.sent&limit=1');
    expect([first.data.length, first.hasMore]).toEqual([1, true]);
    await writeMail(shop.api.db, (tx) =>
      tx.deleteFrom('email').where('id', '=', first.data[0].id.slice(0, 36)).execute(),
    );
    const second = await get(`/activity?types=email.sent&limit=1&cursor=${first.cursor}`);
    const third = await get(`/activity?types=email.sent&limit=1&cursor=${second.cursor}`);
    expect(third).toEqual({ data: [expect.anything()], hasMore: false });
    const ids = [first, second, third].map(({ data }) => data[0].id);
    expect(new Set(ids).size).toBe(3);
  });

  it('begins with the last 30 days and goes on without end', async () => {
    const old = await insertEmail({ status: 'SENT', sent_at: inDays(-400) });
    const first = await get('/activity');
    expect(first).toEqual({ data: [], hasMore: true, cursor: expect.any(String) });
    const second = await get(`/activity?cursor=${first.cursor}`);
    expect(second).toMatchObject({ data: [{ id: `${old}_sent` }], hasMore: false });
    const since = await get(`/activity?startDate=${inDays(-401).toISOString()}`);
    expect(since.data).toHaveLength(1);
  });

  it('shows a contact alone', async () => {
    await insertEmail({ status: 'SENT', sent_at: new Date() });
    await insertCampaign({ status: 'SENT', sent_at: new Date() });
    await shop.track({ email: newAddress() });
    const { data } = await get(`/activity?contactId=${contact.id}`);
    expect(data.map(({ type }: { type: string }) => type)).toEqual(['email.sent']);
    expect(await get(`/activity?contactId=${randomUUID()}`)).toEqual({ data: [], hasMore: false });
  });

  it('never shows another project’s rows, wherever the cursor comes from', async () => {
    await shop.track({ email: newAddress() });
    await shop.track({ email: newAddress() });
    const { cursor } = await get('/activity?limit=1');
    const key = shop.other.secretKey;
    for (const query of ['', `?cursor=${cursor}`, `?contactId=${contact.id}`]) {
      const answer = await shop.api.request('GET', `/activity${query}`, { key });
      expect(answer.body).toEqual({ data: [], hasMore: false });
    }
  });

  it.each([
    ['types=foo', 'types invalid_enum_value'],
    ['types=', 'types invalid_enum_value'],
    ['limit=101', 'limit too_big'],
    ['cursor=zz', 'cursor invalid_string'],
    ['cursor=', 'cursor invalid_string'],
    ['contactId=x', 'contactId invalid_string'],
    ['startDate=2026-02-30', 'startDate invalid_date'],
    ['startDate=2026-02-02&endDate=2026-02-01', 'startDate custom'],
  ])('refuses ?%s', async (query, fault) => {
    const answer = await shop.call('GET', `/activity?${query}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });
});

describe('GET /activity/stats', () => {
  it('counts one more as soon as one more was sent', async () => {
    const sent = { status: 'SENT', sent_at: new Date() };
    await insertEmail({ ...sent, opened_at: new Date() });
    expect(await get('/activity/stats')).toEqual({
      totalEvents: 0,
      totalEmailsSent: 1,
      totalEmailsOpened: 1,
      totalEmailsClicked: 0,
      totalWorkflowsStarted: 0,
      openRate: 100,
      clickRate: 0,
    });
    await insertEmail(sent);
    expect(await get('/activity/stats')).toMatchObject({ totalEmailsSent: 2, openRate: 50 });
  });

  it('never answers a rate above 100', async () => {
    await insertEmail({ status: 'SENT', sent_at: new Date() });
    for (let n = 0; n < 2; n++) {
      await insertEmail({ status: 'OPENED', sent_at: inDays(-40), opened_at: new Date() });
    }
    expect(await get('/activity/stats')).toMatchObject({ totalEmailsOpened: 2, openRate: 100 });
  });
});

describe('GET /activity/recent-count', () => {
  it('counts the items of the last minutes', async () => {
    await shop.track({ email: contact.email });
    await insertEmail({ status: 'SENT', sent_at: inDays(-20 / 1440) });
    expect(await get('/activity/recent-count')).toEqual({ count: 1, minutes: 5 });
    expect(await get('/activity/recent-count?minutes=30')).toEqual({ count: 2, minutes: 30 });
  });

  it.each([
    ['61', 'too_big'],
    ['0', 'too_small'],
  ])('refuses %s minutes', async (minutes, code) => {
    const answer = await shop.call('GET', `/activity/recent-count?minutes=${minutes}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', `minutes ${code}`]);
  });
});

describe('GET /activity/types', () => {
  it('lists all types in their order', async () => {
    expect(await get('/activity/types')).toEqual({ types: [...activityTypes] });
    for (const type of activityTypes) {
      expect((await shop.call('GET', `/activity?types=${type}`)).status).toBe(200);
    }
  });
});
