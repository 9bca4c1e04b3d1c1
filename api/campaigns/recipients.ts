import { z } from 'zod';
import { audienceOf, isInAudience } from '../../db/reads/audience.ts';
import { listLeftOut } from '../../db/reads/recipients/left-out.ts';
import { findCampaignEmail, findJudgedConsent } from '../../db/campaigns/emails.ts';
import { findCampaign } from '../../db/campaigns/campaigns.ts';
import { findCampaignTally } from '../../db/campaigns/tally.ts';
import { findContact } from '../../db/contacts/contacts.ts';
import { readGoalSums } from '../../db/goals/tally.ts';
import { absenceOf, absences, reasonOfOutcome } from '../../domain/campaign/campaign.ts';
import { campaignOutcomes } from '../../domain/outcomes/tally.ts';
import { found } from '../../domain/errors.ts';
import { outcomeOf, outcomes, pendingIn } from '../../domain/outcomes/outcome.ts';
import { Progress, presentProgress, progressExample } from '../delivery/delivery.ts';
import { readProgress } from '../delivery/limits.ts';
import {
  deliveryCounts,
  humanCounts,
  mailCounts,
  mailRates,
  Outcomes,
  percentOf,
  presentHumans,
  Reasons,
  withRates,
} from '../emails/outcomes.ts';
import {
  answerRecipients,
  recipientExample,
  RecipientList,
  recipientQuery,
  recipientsDescription,
} from '../emails/recipients.ts';
import { ReasonCode } from '../emails/record.ts';
import { GoalStats, goalStats } from '../goals/goal.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time, Uuid, ById } from '../http/schemas.ts';

/** The results of a campaign: for all contacts, and for one contact. */

const LeftOut = z
  .object({ unsubscribed_at_freeze: z.int(), topic_unsubscribed_at_freeze: z.int() })
  .describe('Contacts of the audience that are no recipients; null before the audience is fixed');

const getCampaignStats = endpoint({
  id: 'getCampaignStats',
  method: 'GET',
  path: '/campaigns/{id}/stats',
  summary: 'Get the results of a campaign',
  description:
    'Every recipient has one of the `outcomes`, and each one that was not sent the mail has ' +
    'one of the `reasons`. `outcomes` add up to `totalRecipients` at any moment. Deleted ' +
    'contacts stay counted. Rates are percentages of `sentCount`, not rounded, and 0 when ' +
    'nothing was sent.',
  access: 'secret',
  wrapped: true,
  params: ById,
  response: z.object({
    totalRecipients: z.int(),
    ...mailCounts,
    heldCount: z
      .int()
      .describe(
        'Mail that the send policy or a ramp holds now. Mail that waits for a local time is in ' +
          'progress.scheduledCount',
      ),
    renderedPlainlyCount: z.int().describe('Mail whose template could not be rendered'),
    uncertainCount: z.int().describe('Mail that may or may not have been accepted'),
    outcomes: Outcomes.describe('Recipients by outcome: the sum is totalRecipients'),
    reasons: Reasons,
    leftOut: LeftOut.nullable(),
    goal: GoalStats.optional().describe('Only with a goal'),
    reachRate: z
      .number()
      .describe('Percent of totalRecipients that were delivered; 0 without recipients'),
    ...humanCounts,
    progress: Progress.nullable().describe('While it is SENDING, at most 5 seconds old'),
    ...mailRates,
  }),
  problems: ['CAMPAIGN_NOT_FOUND'],
  example: {
    response: {
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
      outcomes: { sent: 125, failed: 1, withheld: 2, held: 0, pending: 0, unknown: 0 },
      reasons: { recipient_refused: 1, frequency_cap: 2 },
      leftOut: { unsubscribed_at_freeze: 14, topic_unsubscribed_at_freeze: 0 },
      reachRate: 93.75,
      humanOpenedCount: 30,
      machineOpenedCount: 12,
      humanClickedCount: 7,
      machineClickedCount: 3,
      humanOpenRate: 24,
      humanClickRate: 5.6,
      progress: progressExample,
      deliveryRate: 96,
      openRate: 40,
      clickRate: 8,
      bounceRate: 4,
      complaintRate: 0,
      unsubscribeRate: 0.8,
    },
  },
  async handle(call) {
    const {
      db,
      caller,
      params: { id },
    } = call;
    const known = found('CAMPAIGN', id, await findCampaignTally(db, caller.projectId, id));
    const { campaign: row, tally } = known;
    const { outcomes: counts, reasons } = campaignOutcomes(tally);
    const sums = await readGoalSums(db, row.id);
    return withRates({
      totalRecipients: row.total_recipients,
      sentCount: row.sent_count,
      ...deliveryCounts({
        delivered: row.delivered_count,
        unreported: row.unreported_count,
        assumed: row.assumed_count,
      }),
      openedCount: row.opened_count,
      clickedCount: row.clicked_count,
      bouncedCount: row.bounced_count,
      complainedCount: row.complained_count,
      unsubscribedCount: row.unsubscribed_count,
      heldCount: Object.values(tally.held).reduce((sum, count) => sum + count, 0),
      renderedPlainlyCount: row.rendered_plainly_count,
      uncertainCount: counts.unknown,
      outcomes: counts,
      reasons,
      leftOut: row.frozen_at && {
        unsubscribed_at_freeze: row.left_unsubscribed,
        topic_unsubscribed_at_freeze: row.left_topic,
      },
      ...goalStats(row.goal, sums, row.sent_count),
      ...presentHumans(
        {
          humanOpened: row.human_opened_count,
          machineOpened: row.machine_opened_count,
          humanClicked: row.human_clicked_count,
          machineClicked: row.machine_clicked_count,
        },
        row.sent_count,
      ),
      reachRate: percentOf(row.delivered_count + row.assumed_count, row.total_recipients),
      progress: row.status === 'SENDING' ? presentProgress(await readProgress(call, row)) : null,
    });
  },
});

const getCampaignRecipient = endpoint({
  id: 'getCampaignRecipient',
  method: 'GET',
  path: '/campaigns/{id}/recipients/{contactId}',
  summary: 'Explain why a contact gets a campaign or does not',
  description:
    '`outcome` is the result of the mail to this contact. `reasonCode` says why it was not ' +
    'sent, or why there will be none; `reason` is a broader category. Before the audience is ' +
    'fixed, `frozenAt` is null and the answer is about now. CAMPAIGN_NOT_FOUND, ' +
    'CONTACT_NOT_FOUND: the project has no such campaign, or no such contact.',
  access: 'secret',
  params: ById.extend({ contactId: Uuid }),
  response: z.object({
    included: z.boolean(),
    reason: z.enum(['sent', 'withheld', 'refused', ...absences, 'pending']),
    outcome: z.enum(outcomes).nullable().describe('null: the contact is no recipient'),
    reasonCode: z
      .enum([...ReasonCode.options, ...absences])
      .nullable()
      .describe('null: it was sent'),
    emailId: z.uuid().nullable(),
    frozenAt: Time.nullable().describe('Time at which the audience was fixed'),
  }),
  problems: ['CAMPAIGN_NOT_FOUND', 'CONTACT_NOT_FOUND'],
  example: {
    response: {
      included: true,
      reason: 'sent',
      outcome: 'sent',
      reasonCode: null,
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
      const judged = outcomeOf(email, new Date());
      const reason = reasonOfOutcome(judged.outcome);
      return { included: true, reason, ...judged, emailId: email.id, frozenAt };
    }
    const at = campaign.frozen_at ?? new Date();
    const absence = absenceOf(
      {
        messageClass: campaign.message_class,
        frozenAt: campaign.frozen_at,
        isFixed: campaign.audience_fixed,
        isForAll: campaign.audience_type === 'ALL',
      },
      {
        createdAt: contact.created_at,
        ...(await findJudgedConsent(db, id, contact)),
        isInAudience: await isInAudience(db, projectId, audienceOf(campaign), contactId, at),
      },
    );
    const none = { emailId: null, frozenAt };
    if (absence) {
      return { included: false, reason: absence, outcome: null, reasonCode: absence, ...none };
    }
    const judged = pendingIn(campaign.status);
    const reason = reasonOfOutcome(judged.outcome);
    return { included: reason === 'pending', reason, ...judged, ...none };
  },
});

export const listCampaignRecipients = endpoint({
  id: 'listCampaignRecipients',
  method: 'GET',
  path: '/campaigns/{id}/recipients',
  summary: 'List the recipients of a campaign and what became of their mail',
  description:
    `${recipientsDescription} It is empty before the audience is fixed. The reasons ` +
    '`unsubscribed_at_freeze` and `topic_unsubscribed_at_freeze` list the contacts that the ' +
    'campaign has left out, newest contact first; whether they belong to the audience is ' +
    'evaluated as of now. CAMPAIGN_NOT_FOUND: the project has no such campaign. ' +
    'CONDITION_TOO_HEAVY: the audience of those left out took too long to evaluate.',
  access: 'secret',
  params: ById,
  query: recipientQuery.extend({
    arm: z.string().optional().describe('Id of an arm: only mail of this arm of the experiment'),
  }),
  response: RecipientList,
  problems: ['CAMPAIGN_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: recipientExample,
  async handle({ db, caller: { projectId }, params: { id }, query }) {
    const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    return answerRecipients(db, { projectId, column: 'campaign_id', id }, query, (reason, page) =>
      listLeftOut(db, campaign, { reason, search: query.search }, page),
    );
  },
});

export const recipientEndpoints = [getCampaignStats, listCampaignRecipients, getCampaignRecipient];
