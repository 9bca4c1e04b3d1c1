import { bySecretKey } from '../../support/actors.ts';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { pixelOf } from '../../support/pixel.ts';
import { findCampaign } from '../../../db/campaigns/campaigns.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { waitFor } from '../../support/wait-for.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { refusal } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Actions of the API on a campaign in each state of its run. */

const engine = await useEngine();
afterEach(() => deleteContacts(engine));

async function contact(email = `${randomUUID()}@people.test`): Promise<string> {
  const { body } = await engine.call('POST', '/contacts', { email });
  return body.id as string;
}
const emails = async (query: string) => (await engine.call('GET', `/emails?${query}`)).body;
const put = (id: string, body: object) => engine.call('PUT', `/campaigns/${id}`, body);
const runOf = (id: string) => engine.temporal.client.workflow.getHandle(`campaign-${id}`);

/** Tries actions that must all be refused. Returns the codes by action. */
async function refused(id: string, ...actions: string[]): Promise<Record<string, unknown>> {
  const codes: Record<string, unknown> = {};
  for (const action of actions) {
    const answer =
      action === 'DELETE'
        ? await engine.call('DELETE', `/campaigns/${id}`)
        : await engine.call('POST', `/campaigns/${id}/${action}`);
    codes[action] = refusal(answer).join(' ');
  }
  return codes;
}

async function deleted(id: string): Promise<void> {
  const { status, body } = await engine.call('DELETE', `/campaigns/${id}`);
  expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
  expect(refusal(await engine.call('GET', `/campaigns/${id}`))).toEqual([
    404,
    'CAMPAIGN_NOT_FOUND',
  ]);
}

it('keeps the audience of its start when it is paused before all messages are made', async () => {
  await insertContacts(engine, 5_000);
  const late = await contact();
  const ref = { projectId: engine.project.id, campaignId: await createCampaign(engine) };
  await engine.stopWorker();
  await engine.call('PATCH', `/contacts/${late}`, { subscribed: false });
  await act(engine, ref.campaignId, 'send');
  expect(await freezeCampaign(engine.api.db, ref)).toEqual({ isMore: true });
  await act(engine, ref.campaignId, 'pause');
  await engine.startWorker();
  await waitFor('all messages', async () => {
    const campaign = await findCampaign(engine.api.db, ref.projectId, ref.campaignId);
    return campaign?.audience_fixed;
  });
  await engine.call('PATCH', `/contacts/${late}`, { subscribed: true });
  expect((await campaignOf(engine, ref.campaignId)).status).toBe('PAUSED');
  await act(engine, ref.campaignId, 'cancel');
  const { body } = await engine.call('GET', `/campaigns/${ref.campaignId}/recipients/${late}`);
  expect(body).toMatchObject({ included: false, reason: 'unsubscribed_at_freeze' });
});

describe('a campaign that was sent', () => {
  /** Sends to three contacts: one opens it and opts out, and one bounces. */
  async function sentCampaign() {
    const [ada, bounced] = [
      await contact(),
      await contact(`bounce+${randomUUID()}@simulator.test`),
    ];
    await contact();
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    const { data } = await emails(`campaignId=${id}&contactId=${ada}`);
    const emailId = data[0].id as string;
    await engine.api.request('GET', pixelOf(engine.api, emailId));
    await engine.api.request('POST', `/unsubscribe/${ada}?e=${emailId}`, {
      body: 'List-Unsubscribe=One-Click',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    return { ada, bounced, emailId, sent: await campaignOf(engine, id) };
  }

  it('counts what came of it, and of whom it bounced says that it was sent', async () => {
    const { sent, bounced } = await sentCampaign();
    const { id } = sent;
    expect(sent).toMatchObject({
      totalRecipients: 3,
      sentCount: 3,
      deliveredCount: 2,
      openedCount: 1,
      bouncedCount: 1,
      unsubscribedCount: 1,
    });
    const found = await emails(`campaignId=${id}&status=BOUNCED`);
    expect(found).toMatchObject({ total: 1, data: [{ contactId: bounced }] });
    expect((await emails('status=BOUNCED')).total).toBe(1);
    const recipient = await engine.call('GET', `/campaigns/${id}/recipients/${bounced}`);
    expect(recipient.body).toMatchObject({ included: true, reason: 'sent' });
    await writeMail(engine.api.db, (tx) => tx.deleteFrom('email').execute());
  });

  it('is final: it can be copied into a draft with nothing counted, which can be sent', async () => {
    const { sent } = await sentCampaign();
    const { id } = sent;
    expect(await refused(id, 'send', 'cancel', 'pause', 'resume')).toEqual({
      send: '400 CAMPAIGN_NOT_SENDABLE',
      cancel: '400 CAMPAIGN_NOT_CANCELLABLE',
      pause: '400 CAMPAIGN_NOT_PAUSABLE',
      resume: '400 CAMPAIGN_NOT_RESUMABLE',
    });
    expect(refusal(await put(id, { subject: 'x' }))).toEqual([400, 'CAMPAIGN_NOT_EDITABLE']);
    await act(engine, id, 'archive');
    const copied = await engine.call('POST', `/campaigns/${id}/duplicate`);
    expect([copied.status, typeof copied.body.message]).toEqual([201, 'string']);
    const { data: copy } = copied.body;
    expect(copy).toEqual({
      ...sent,
      id: expect.any(String),
      name: 'Spring sale (Copy)',
      status: 'DRAFT',
      sentAt: null,
      sentBy: null,
      archived: false,
      // The other two have opted out or bounced.
      totalRecipients: 1,
      sentCount: 0,
      deliveredCount: 0,
      openedCount: 0,
      bouncedCount: 0,
      unsubscribedCount: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(copy.id).not.toBe(id);
    await act(engine, copy.id, 'send');
    expect(await campaignIn(engine, copy.id, 'SENT')).toMatchObject({ sentCount: 1 });
    expect(await campaignOf(engine, id)).toMatchObject({ sentCount: 3, archived: true });
  });

  it('can be deleted; its mails stay in the feed, with what they said as long as that is kept', async () => {
    const { sent, ada, emailId } = await sentCampaign();
    const before = (await engine.call('GET', `/emails/${emailId}`)).body;
    expect(before.body).toContain('20% off');
    await deleted(sent.id);
    const { body: after } = await engine.call('GET', `/emails/${emailId}`);
    // The campaign knew who sent it.
    const trace = [{ ...before.trace[0], detail: null }, ...before.trace.slice(1)];
    expect(before.causedBy).toEqual(bySecretKey);
    expect(after).toMatchObject({ body: before.body, trace, causedBy: null, status: 'OPENED' });
    const { body: feed } = await engine.call('GET', '/activity?limit=100');
    const types = feed.data
      .filter(({ contactId }: { contactId?: string }) => contactId === ada)
      .map(({ type }: { type: string }) => type);
    for (const type of ['email.sent', 'email.delivered', 'email.opened']) {
      expect(types).toContain(type);
    }
    const aTenthOfASecond = 1e-6;
    await tasksOf(engine.api, { bodyRetentionDays: aTenthOfASecond }).CLEAR_MAIL_BODIES();
    const { body: emptied } = await engine.call('GET', `/emails/${emailId}`);
    expect(emptied).toEqual({ ...after, body: null });
  });
});

describe('a campaign that is scheduled', () => {
  it('takes another content and no other audience, and cannot be deleted', async () => {
    await contact();
    const filters = {
      operator: 'AND',
      conditions: [{ field: 'email', operator: 'contains', value: 'people' }],
    };
    const { body: segment } = await engine.call('POST', '/segments', { name: 'People', filters });
    const { body: other } = await engine.call('POST', '/segments', { name: 'Others', filters });
    const id = await createCampaign(engine, { audienceType: 'SEGMENT', segmentId: segment.id });
    await act(engine, id, 'send', { scheduledFor: Date.now() + 3_600_000 });
    const scheduled = await campaignOf(engine, id);
    expect((await put(id, scheduled)).body.data).toEqual(scheduled);
    for (const audience of [
      { segmentId: other.id },
      { audienceType: 'ALL' },
      { audienceType: 'FILTERED', audienceFilter: filters },
    ]) {
      expect(refusal(await put(id, audience))).toEqual([400, 'CAMPAIGN_SEGMENT_LOCKED']);
    }
    expect((await put(id, { subject: 'Other' })).body.data).toMatchObject({
      subject: 'Other',
      scheduledFor: scheduled.scheduledFor,
    });
    expect(await refused(id, 'DELETE', 'archive', 'pause')).toEqual({
      DELETE: '409 CAMPAIGN_ACTIVE',
      archive: '400 CAMPAIGN_NOT_ARCHIVABLE',
      pause: '400 CAMPAIGN_NOT_PAUSABLE',
    });
    const isStarted = () =>
      runOf(id)
        .describe()
        .then(
          () => true,
          () => false,
        );
    await waitFor('the run', isStarted);
    await act(engine, id, 'cancel');
    await runOf(id).result();
    expect(await refused(id, 'send', 'cancel')).toEqual({
      send: '400 CAMPAIGN_NOT_SENDABLE',
      cancel: '400 CAMPAIGN_NOT_CANCELLABLE',
    });
    await deleted(id);
  });
});

describe('a campaign that is paused', () => {
  it('takes another content and nothing else, and is over once it is cancelled', async () => {
    await contact();
    const id = await createCampaign(engine);
    await engine.stopWorker();
    await act(engine, id, 'send');
    expect(await refused(id, 'resume', 'send', 'DELETE')).toEqual({
      resume: '400 CAMPAIGN_NOT_RESUMABLE',
      send: '400 CAMPAIGN_NOT_SENDABLE',
      DELETE: '409 CAMPAIGN_ACTIVE',
    });
    await act(engine, id, 'pause');
    await engine.startWorker();
    const paused = await campaignOf(engine, id);
    expect(paused).toMatchObject({ status: 'PAUSED', pausedReason: 'requested' });
    expect((await put(id, paused)).body.data).toEqual(paused);
    expect(refusal(await put(id, { name: 'Other' }))).toEqual([400, 'CAMPAIGN_NOT_EDITABLE']);
    expect((await put(id, { subject: 'Other' })).body.data.subject).toBe('Other');
    expect(await refused(id, 'DELETE', 'archive', 'send', 'pause')).toEqual({
      DELETE: '409 CAMPAIGN_ACTIVE',
      archive: '400 CAMPAIGN_NOT_ARCHIVABLE',
      send: '400 CAMPAIGN_NOT_SENDABLE',
      pause: '400 CAMPAIGN_NOT_PAUSABLE',
    });
    expect(await act(engine, id, 'cancel')).toMatchObject({ status: 'CANCELLED' });
    await runOf(id).result();
    expect(await campaignOf(engine, id)).toMatchObject({ sentCount: 0, pausedReason: null });
    expect((await emails(`campaignId=${id}&status=DELIVERED`)).total).toBe(0);
    await deleted(id);
  });
});
