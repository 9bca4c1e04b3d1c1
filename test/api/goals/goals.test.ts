import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { foldGoalTally } from '../../../db/goals/tally.ts';
import { trackingLinks } from '../../../domain/links/tracking.ts';
import { createSigner } from '../../../providers/encryption.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { touchMail } from '../../support/projects/touches.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';
import { linkTo } from '../../support/tracked-link.ts';

/** Goals of campaigns and workflows, and the events that their mail led to. */

const { api, call, project, domain } = await useShop();
const { db } = api;
const projectId = project.id;
const dayMs = 86_400_000;
const ago = (ms: number) => new Date(Date.now() - ms);

/** Creates a contact and a name for an event that only this contact has. */
async function visitor() {
  const email = newAddress();
  const { body } = await call('POST', '/contacts', { email });
  const event: string = randomUUID();
  const track = async (data?: object, name = event) => {
    const answer = await call('POST', '/v1/track', { email, event: name, data });
    expect(answer.status).toBe(200);
  };
  return { contactId: body.id as string, email, event, track };
}

type Visitor = Awaited<ReturnType<typeof visitor>>;

/** Inserts a campaign that has sent one mail, to a visitor. */
async function sentCampaign(
  { contactId, event }: Visitor,
  goal: object = {},
  sentAt = ago(60_000),
) {
  const campaignId = await insertTestCampaign(db, projectId, {
    status: 'SENT',
    sent_count: 1,
    goal: JSON.stringify({ eventName: event, windowDays: 7, touch: 'click', ...goal }),
  });
  const mail = { projectId, contactId, campaignId };
  const emailId = await insertTestEmail(db, mail, { created_at: sentAt, sent_at: sentAt });
  return { campaignId, emailId };
}

async function click(emailId: string): Promise<void> {
  const sign = createSigner(api.services.config.jwtSecret, 'tracking links');
  const url = trackingLinks('', emailId, sign).clickUrl(linkTo('https://shop.test/'));
  expect((await fetch(`${api.url}${url}`, { redirect: 'manual' })).status).toBe(302);
}

const goalOf = async (campaignId: string) =>
  (await call('GET', `/campaigns/${campaignId}/stats`)).body.data.goal;

const none = { converted: 0, conversions: 0, conversionRate: 0, value: 0 };

describe('the goal of a campaign', () => {
  it('counts the events after a click, the mail once, and sums their values', async () => {
    const buyer = await visitor();
    const { campaignId, emailId } = await sentCampaign(buyer, { valueField: 'total' });
    await buyer.track({ total: 1_000 });
    expect(await goalOf(campaignId)).toEqual({ eventName: buyer.event, ...none });
    await click(emailId);
    await buyer.track({ total: 12.5 });
    await buyer.track({ total: '12.5' });
    await buyer.track({ total: 1_000 }, 'another event');
    const meant = { converted: 1, conversions: 2, conversionRate: 100, value: 25 };
    expect(await goalOf(campaignId)).toEqual({ eventName: buyer.event, ...meant });
    const all = await call('GET', `/campaigns/${campaignId}/recipients?outcome=converted`);
    expect(all.body.data).toMatchObject([{ emailId, convertedAt: expect.any(String) }]);
    expect(all.body.data[0].convertedAt > all.body.data[0].clickedAt).toBe(true);
    while (await foldGoalTally(db));
    expect(await goalOf(campaignId)).toMatchObject(meant);
  });

  it('adds values exactly; a value may be negative, and anything but a number is 0', async () => {
    const buyer = await visitor();
    const { campaignId, emailId } = await sentCampaign(buyer, { valueField: 'order.total' });
    await click(emailId);
    for (const total of [0.1, '0.2', -5.000001, 'much', '1,5', true, null, [7]]) {
      await buyer.track({ order: { total } });
    }
    await buyer.track({ 'order.total': 7 });
    await buyer.track();
    expect(await goalOf(campaignId)).toMatchObject({ conversions: 10, value: -4.700001 });
  });

  it('gets an event only if its mail has the latest touch of all goals', async () => {
    const buyer = await visitor();
    const first = await sentCampaign(buyer);
    const second = await sentCampaign(buyer);
    const unclicked = await sentCampaign(buyer);
    await click(second.emailId);
    await click(first.emailId);
    await buyer.track();
    expect(await goalOf(first.campaignId)).toMatchObject({ conversions: 1 });
    expect(await goalOf(second.campaignId)).toMatchObject(none);
    expect(await goalOf(unclicked.campaignId)).toMatchObject(none);
    const other = await visitor();
    await other.track({}, buyer.event);
    expect(await goalOf(first.campaignId)).toMatchObject({ conversions: 1 });
  });

  it('takes the latest click of a mail that no machine has made', async () => {
    const buyer = await visitor();
    const [first, second] = [await sentCampaign(buyer), await sentCampaign(buyer)];
    const minute = 60_000;
    await touchMail(db, { projectId, ...first }, 'click', ago(4 * minute));
    await touchMail(db, { projectId, ...second }, 'click', ago(3 * minute));
    await touchMail(db, { projectId, ...first }, 'click', ago(2 * minute), null);
    await touchMail(db, { projectId, ...second }, 'click', ago(minute), 'machine');
    await buyer.track();
    expect(await goalOf(first.campaignId)).toMatchObject({ conversions: 1 });
    expect(await goalOf(second.campaignId)).toMatchObject(none);
  });

  it('prefers the younger mail if two were touched at the same moment', async () => {
    const buyer = await visitor();
    const older = await sentCampaign(buyer, {}, ago(3 * dayMs));
    const younger = await sentCampaign(buyer, {}, ago(2 * dayMs));
    const at = ago(dayMs);
    await touchMail(db, { projectId, ...younger }, 'click', at);
    await touchMail(db, { projectId, ...older }, 'click', at);
    await buyer.track();
    expect(await goalOf(older.campaignId)).toMatchObject(none);
    expect(await goalOf(younger.campaignId)).toMatchObject({ conversions: 1 });
  });

  it('counts until the end of the window', async () => {
    const buyer = await visitor();
    const counts = async (touch: string, windowDays: number, at: Date) => {
      const { campaignId, emailId } = await sentCampaign(buyer, { touch, windowDays }, at);
      if (touch !== 'sent') await touchMail(db, { projectId, emailId }, touch as 'open', at);
      await buyer.track();
      const { conversions } = await goalOf(campaignId);
      await call('DELETE', `/campaigns/${campaignId}`);
      return conversions;
    };
    const minute = 60_000;
    for (const touch of ['sent', 'open', 'click']) {
      expect(await counts(touch, 2, ago(2 * dayMs - minute))).toBe(1);
      expect(await counts(touch, 2, ago(2 * dayMs + minute))).toBe(0);
    }
  });

  it('counts each event once, however many arrive at the same time', async () => {
    const buyer = await visitor();
    const campaigns = [await sentCampaign(buyer), await sentCampaign(buyer)];
    for (const { emailId } of campaigns) await click(emailId);
    await Promise.all(Array.from({ length: 20 }, () => buyer.track({})));
    const goals = await Promise.all(campaigns.map(({ campaignId }) => goalOf(campaignId)));
    expect(goals).toMatchObject([none, { converted: 1, conversions: 20 }]);
  });

  it('holds for the events after it was changed, and what was counted stays', async () => {
    const buyer = await visitor();
    const campaign = {
      name: 'Sale',
      subject: 'Sale',
      body: '<p>Sale</p>',
      from: `news@${domain}`,
      audienceType: 'ALL',
      goal: { eventName: buyer.event, windowDays: 7, touch: 'sent' },
    };
    const made = await call('POST', '/campaigns', campaign);
    expect(made.body.data.goal).toEqual(campaign.goal);
    const { id: campaignId } = made.body.data;
    await insertTestEmail(
      db,
      { projectId, contactId: buyer.contactId, campaignId },
      { sent_at: ago(60_000) },
    );
    await buyer.track();
    const other = `${buyer.event} 2`;
    const goal = { eventName: other, windowDays: 7, touch: 'sent' };
    expect((await call('PUT', `/campaigns/${campaignId}`, { goal })).body.data.goal).toEqual(goal);
    await buyer.track();
    expect(await goalOf(campaignId)).toMatchObject({ eventName: other, conversions: 1 });
    await buyer.track({}, other);
    expect(await goalOf(campaignId)).toMatchObject({ eventName: other, conversions: 2 });
    const taken = await call('PUT', `/campaigns/${campaignId}`, { goal: null });
    expect(taken.body.data).not.toHaveProperty('goal');
    await buyer.track({}, other);
    expect(await goalOf(campaignId)).toBeUndefined();
    const rows = db.selectFrom('conversion').select('value').where('owner_id', '=', campaignId);
    expect(await rows.execute()).toHaveLength(2);
  });

  it('is copied with the campaign', async () => {
    const { event } = await visitor();
    const goal = { eventName: event, valueField: 'total', windowDays: 90, touch: 'open' };
    const id = await insertTestCampaign(db, projectId, { goal: JSON.stringify(goal) });
    const copy = (await call('POST', `/campaigns/${id}/duplicate`)).body.data;
    expect(copy.goal).toEqual(goal);
    expect(await goalOf(copy.id)).toEqual({ eventName: event, ...none });
  });

  it('is not copied to a follow-up', async () => {
    const { campaignId } = await sentCampaign(await visitor(), { touch: 'sent' });
    const body = { outcome: 'not_opened' };
    const followUp = await call('POST', `/campaigns/${campaignId}/follow-up`, body);
    expect(followUp.status).toBe(201);
    expect(followUp.body.data).not.toHaveProperty('goal');
  });

  it('is refused with all its mistakes', async () => {
    const refused = async (goal: unknown) =>
      errorFields((await call('POST', '/campaigns', { name: 'x', goal })).body).filter((field) =>
        field.startsWith('goal'),
      );
    expect(await refused({ valueField: 'a..b', windowDays: 91, touch: 'seen' })).toEqual([
      'goal.eventName invalid_type',
      'goal.valueField invalid_string',
      'goal.windowDays too_big',
      'goal.touch invalid_enum_value',
    ]);
    const long = { eventName: 'e'.repeat(101), valueField: 'f'.repeat(201), windowDays: 0.5 };
    expect(await refused(long)).toEqual([
      'goal.eventName too_big',
      'goal.valueField too_big',
      'goal.windowDays invalid_type',
    ]);
    expect(await refused({ eventName: 'order', windowDays: 0 })).toEqual([
      'goal.windowDays too_small',
    ]);
    expect(await refused('order')).toEqual(['goal invalid_type']);
  });

  it('makes the event count as used while the campaign is not over', async () => {
    const { event, track } = await visitor();
    await track();
    const goal = JSON.stringify({ eventName: event, windowDays: 1, touch: 'sent' });
    const id = await insertTestCampaign(db, projectId, { status: 'DRAFT', goal });
    const usage = async () => (await call('GET', `/events/${event}/usage`)).body;
    expect(await usage()).toMatchObject({
      usedInCampaigns: [{ id, name: 'News' }],
      canDelete: false,
    });
    expect((await call('DELETE', `/events/${event}`)).body.error.code).toBe('EVENT_IN_USE');
    await db.updateTable('campaign').set({ status: 'SENT' }).where('id', '=', id).execute();
    expect(await usage()).toMatchObject({ usedInCampaigns: [], canDelete: true });
  });

  it('leaves with the campaign; a deleted contact takes its conversions, but not the sums', async () => {
    const buyer = await visitor();
    const { campaignId, emailId } = await sentCampaign(buyer);
    await click(emailId);
    await buyer.track();
    const rowsOf = (table: 'conversion' | 'goal' | 'goal_tally') =>
      db.selectFrom(table).select('owner_id').where('owner_id', '=', campaignId).execute();
    expect(await rowsOf('conversion')).toHaveLength(1);
    await call('DELETE', `/contacts/${buyer.contactId}`);
    expect(await rowsOf('conversion')).toEqual([]);
    expect(await goalOf(campaignId)).toMatchObject({ converted: 1, conversions: 1 });
    await call('DELETE', `/campaigns/${campaignId}`);
    expect([await rowsOf('goal'), await rowsOf('goal_tally')]).toEqual([[], []]);
  });
});

describe('the goal of a workflow', () => {
  /** Creates a workflow with a goal, and the mail of an execution of it. */
  async function sentByWorkflow({ contactId, event }: Visitor, fields: object = {}) {
    const made = await call('POST', '/workflows', { name: 'Onboarding', eventName: randomUUID() });
    const workflowId: string = made.body.id;
    const goal = { eventName: event, valueField: 'total', windowDays: 7, touch: 'sent' };
    const changed = await call('PATCH', `/workflows/${workflowId}`, { goal });
    expect(changed.body).toMatchObject({ goal, version: made.body.version });
    const execution = await db
      .insertInto('execution')
      .values({
        project_id: projectId,
        workflow_id: workflowId,
        workflow_version: 1,
        workflow_name: 'Onboarding',
        contact_id: contactId,
        status: 'COMPLETED',
        completed_at: new Date(),
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const emailId = await insertTestEmail(
      db,
      { projectId, contactId },
      {
        source_type: 'WORKFLOW',
        workflow_execution_id: execution.id,
        sent_at: ago(60_000),
        ...fields,
      },
    );
    const stats = async (query = '') =>
      (await call('GET', `/workflows/${workflowId}/stats${query}`)).body.data.goal;
    return { workflowId, emailId, goal, stats };
  }

  it('counts what followed the mail of its executions, also in a period', async () => {
    const buyer = await visitor();
    const { stats } = await sentByWorkflow(buyer);
    await buyer.track({ total: 3 });
    await buyer.track({ total: 4 });
    const meant = { converted: 1, conversions: 2, conversionRate: 100, value: 7 };
    expect(await stats()).toEqual({ eventName: buyer.event, ...meant });
    expect(await stats(`?startDate=${ago(dayMs).toISOString()}`)).toMatchObject(meant);
    expect(await stats(`?endDate=${ago(dayMs).toISOString()}`)).toMatchObject(none);
    await call('DELETE', `/contacts/${buyer.contactId}`);
    expect(await stats()).toMatchObject(meant);
  });

  it('ignores mail that a step has sent to another address', async () => {
    const buyer = await visitor();
    const { stats } = await sentByWorkflow(buyer, { to_email: 'team@shop.test' });
    await buyer.track({ total: 3 });
    expect(await stats()).toMatchObject(none);
  });

  it('is copied, counts as use of the event, and can be taken away', async () => {
    const buyer = await visitor();
    const { workflowId, goal } = await sentByWorkflow(buyer);
    const copy = (await call('POST', `/workflows/${workflowId}/duplicate`)).body;
    expect(copy.goal).toEqual(goal);
    const usage = async () => (await call('GET', `/events/${buyer.event}/usage`)).body;
    expect((await usage()).usedInWorkflows.map(({ id }: { id: string }) => id)).toEqual([
      workflowId,
      copy.id,
    ]);
    const { body } = await call('PATCH', `/workflows/${workflowId}`, { goal: null });
    expect(body).not.toHaveProperty('goal');
    await call('DELETE', `/workflows/${copy.id}`);
    expect(await usage()).toMatchObject({ usedInWorkflows: [] });
    const left = db.selectFrom('goal').select('owner_id').where('event_name', '=', buyer.event);
    expect(await left.execute()).toEqual([]);
  });
});
