import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { useSnsFeedback } from '../../support/projects/sns-feedback.ts';

/** Opt-outs that a mail service reports. */

const feedback = await useSnsFeedback();
const { api, project, sentEmail, emailOf, contactOf, campaignOf, eventsOf, namesOf } = feedback;

const at = new Date('2026-11-20T08:00:00.000Z');

const report = (emailId: string, kind: 'unsubscribe' | 'complaint' = 'unsubscribe') =>
  api.services.feedback.record(
    {
      emailId,
      messageId: null,
      feedback: [{ kind, at }],
      acceptedAt: null,
      receipt: randomUUID(),
    },
    0,
  );

const logOf = async (contactId: string) =>
  (await api.request('GET', `/contacts/${contactId}/consent`, { key: project.secretKey })).body;

describe('an opt-out at a mail service', () => {
  it('unsubscribes the contact, with an event and a line in the consent log', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail({}, campaignId);
    expect(await report(id)).toBe('recorded');
    expect((await contactOf(contactId)).subscribed).toBe(false);
    expect((await eventsOf(contactId)).at(-1)).toMatchObject({
      name: 'contact.unsubscribed',
      email_id: id,
      data: { source: 'provider', emailId: id },
    });
    expect((await logOf(contactId)).at(-1)).toMatchObject({
      action: 'withdrawn',
      source: 'provider',
      topic: null,
    });
    expect((await emailOf(id)).unsubscribed_at).toEqual(at);
    expect((await campaignOf(campaignId)).unsubscribed_count).toBe(1);
  });

  it('counts once, however often it is reported', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { id, contactId } = await sentEmail({}, campaignId);
    await report(id);
    await report(id);
    expect(await namesOf(contactId)).toEqual(['contact.unsubscribed']);
    expect((await campaignOf(campaignId)).unsubscribed_count).toBe(1);
  });

  it('leaves a contact alone that has another address by now', async () => {
    const { id, contactId } = await sentEmail();
    await api.request('PATCH', `/contacts/${contactId}`, {
      key: project.secretKey,
      body: { email: `${randomUUID()}@x.example` },
    });
    await report(id);
    expect((await contactOf(contactId)).subscribed).toBe(true);
    expect(await namesOf(contactId)).not.toContain('contact.unsubscribed');
  });

  it('proves that a message with an unknown outcome was accepted', async () => {
    const { id, contactId } = await sentEmail({
      status: 'FAILED',
      error: 'delivery_unknown',
      sent_at: null,
      message_id: null,
      attempts: 1,
    });
    await report(id);
    expect(await emailOf(id)).toMatchObject({ status: 'SENT', error: null });
    expect(await namesOf(contactId)).toEqual(['email.sent', 'contact.unsubscribed']);
  });

  it('has no event after a complaint, which has unsubscribed the contact', async () => {
    const { id, contactId } = await sentEmail();
    await report(id, 'complaint');
    await report(id);
    expect(await namesOf(contactId)).toEqual(['email.complaint']);
  });
});
