import { z } from 'zod';
import { audienceOf, isInAudience } from '../../db/campaigns/audience.ts';
import {
  countUncertainEmails,
  findCampaignEmail,
  wasSubscribedAt,
} from '../../db/campaigns/emails.ts';
import { findCampaign } from '../../db/campaigns/campaigns.ts';
import { countHeldMail } from '../../db/delivery/state.ts';
import { findContact } from '../../db/contacts/contacts.ts';
import { reasonOfEmail, reasonWithoutEmail } from '../../domain/campaign/campaign.ts';
import { hadLeftTopicAt } from '../../db/topics/topics.ts';
import { found } from '../../domain/errors.ts';
import { Progress, presentProgress, progressExample } from '../delivery/delivery.ts';
import { readProgress } from '../delivery/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time, Uuid } from '../http/schemas.ts';
import { CampaignById, tag } from './record.ts';

/** The results of a campaign: as a whole, and for one contact. */

const Percent = z.number().describe('Percent of sentCount; 0 when nothing was sent');

export const getCampaignStats = endpoint({
  id: 'getCampaignStats',
  method: 'GET',
  path: '/campaigns/{id}/stats',
  tag,
  summary: 'See what came of a campaign',
  description: 'Rates are percentages of `sentCount`, not rounded, and 0 when nothing was sent.',
  access: 'secret',
  wrapped: true,
  params: CampaignById,
  response: z.object({
    totalRecipients: z.int(),
    sentCount: z.int().describe('Accepted by the provider'),
    deliveredCount: z.int(),
    openedCount: z.int(),
    clickedCount: z.int(),
    bouncedCount: z.int(),
    complainedCount: z.int(),
    unsubscribedCount: z.int(),
    heldCount: z
      .int()
      .describe(
        'Mail that the send policy holds back now; what waits for a local time: progress.scheduledCount',
      ),
    renderedPlainlyCount: z.int().describe('Mail whose template could not be rendered'),
    uncertainCount: z.int().describe('Mail of which nobody knows whether it was accepted'),
    progress: Progress.nullable().describe('While it is SENDING, at most 5 seconds old'),
    deliveryRate: Percent,
    openRate: Percent,
    clickRate: Percent,
    bounceRate: Percent,
    complaintRate: Percent,
    unsubscribeRate: Percent,
  }),
  problems: ['CAMPAIGN_NOT_FOUND'],
  example: {
    response: {
      success: true,
      data: {
        totalRecipients: 128,
        sentCount: 125,
        deliveredCount: 120,
        openedCount: 50,
        clickedCount: 10,
        bouncedCount: 5,
        complainedCount: 0,
        unsubscribedCount: 1,
        heldCount: 0,
        renderedPlainlyCount: 0,
        uncertainCount: 0,
        progress: progressExample,
        deliveryRate: 96,
        openRate: 40,
        clickRate: 8,
        bounceRate: 4,
        complaintRate: 0,
        unsubscribeRate: 0.8,
      },
    },
  },
  async handle(call) {
    const {
      db,
      caller,
      params: { id },
    } = call;
    const row = found('CAMPAIGN', id, await findCampaign(db, caller.projectId, id));
    const rate = (count: number) => (row.sent_count === 0 ? 0 : (count / row.sent_count) * 100);
    return {
      totalRecipients: row.total_recipients,
      sentCount: row.sent_count,
      deliveredCount: row.delivered_count,
      openedCount: row.opened_count,
      clickedCount: row.clicked_count,
      bouncedCount: row.bounced_count,
      complainedCount: row.complained_count,
      unsubscribedCount: row.unsubscribed_count,
      heldCount: await countHeldMail(db, row),
      renderedPlainlyCount: row.rendered_plainly_count,
      uncertainCount: await countUncertainEmails(db, id),
      progress: row.status === 'SENDING' ? presentProgress(await readProgress(call, row)) : null,
      deliveryRate: rate(row.delivered_count),
      openRate: rate(row.opened_count),
      clickRate: rate(row.clicked_count),
      bounceRate: rate(row.bounced_count),
      complaintRate: rate(row.complained_count),
      unsubscribeRate: rate(row.unsubscribed_count),
    };
  },
});

export const getCampaignRecipient = endpoint({
  id: 'getCampaignRecipient',
  method: 'GET',
  path: '/campaigns/{id}/recipients/{contactId}',
  tag,
  summary: 'See whether a contact gets a campaign, and why (not)',
  description:
    '`reason` says what became of the mail to this contact, or why there is none. Before the ' +
    'audience is fixed, `frozenAt` is null and the answer is about now. CAMPAIGN_NOT_FOUND ' +
    'and CONTACT_NOT_FOUND tell which of the two is unknown.',
  access: 'secret',
  params: CampaignById.extend({ contactId: Uuid }),
  response: z.object({
    included: z.boolean(),
    reason: z.enum([
      'sent',
      'withheld',
      'refused',
      'not_in_audience',
      'unsubscribed_at_freeze',
      'topic_unsubscribed_at_freeze',
      'created_after_freeze',
      'pending',
    ]),
    emailId: z.uuid().nullable(),
    frozenAt: Time.nullable().describe('When the audience was fixed'),
  }),
  problems: ['CAMPAIGN_NOT_FOUND', 'CONTACT_NOT_FOUND'],
  example: {
    response: {
      included: true,
      reason: 'sent',
      emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
      frozenAt: '2026-12-01T08:00:00.000Z',
    },
  },
  async handle({ db, caller: { projectId }, params: { id, contactId } }) {
    const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    const contact = found('CONTACT', contactId, await findContact(db, projectId, contactId));
    const frozenAt = time(campaign.frozen_at);
    const email = await findCampaignEmail(db, id, contactId);
    if (email) {
      return { included: true, reason: reasonOfEmail(email), emailId: email.id, frozenAt };
    }
    const at = campaign.frozen_at ?? new Date();
    const reason = reasonWithoutEmail(
      {
        status: campaign.status,
        messageClass: campaign.message_class,
        frozenAt: campaign.frozen_at,
        isFixed: campaign.audience_fixed,
        isForAll: campaign.audience_type === 'ALL',
      },
      {
        createdAt: contact.created_at,
        subscribed: await wasSubscribedAt(db, contact, at),
        topicLeft: await hadLeftTopicAt(db, contact.id, campaign.topic_id, at),
        isInAudience: await isInAudience(db, projectId, audienceOf(campaign), contactId, at),
      },
    );
    return { included: reason === 'pending', reason, emailId: null, frozenAt };
  },
});

export const recipientEndpoints = [getCampaignStats, getCampaignRecipient];
