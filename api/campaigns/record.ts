import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { NamedCampaignRow } from '../../db/campaigns/campaigns.ts';
import { lateRules } from '../../domain/campaign/local-time.ts';
import {
  audienceTypes,
  campaignStatuses,
  chosenAudienceTypes,
} from '../../domain/campaign/campaign.ts';
import { followUpOutcomes } from '../../domain/campaign/follow-up.ts';
import { conditionToFlat } from '../../domain/filter/forms.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, Time, time } from '../http/schemas.ts';
import { Goal } from '../goals/goal.ts';
import { CampaignUtm } from '../projects/link-policy.ts';
import { ConditionAnswer, FlatAnswer } from '../segments/condition-input.ts';
import type { OwnerProject } from '../access/caller.ts';
import { CampaignExperiment, presentExperiment } from './experiment/input.ts';
import { segmentExample } from '../segments/record.ts';

export const AudienceType = z.enum(audienceTypes);

/** The audiences that a new campaign can have. */
export const ChosenAudienceType = z.enum(chosenAudienceTypes);

const FollowUpRecord = z.object({
  campaignId: z.uuid().describe('The campaign that is followed up; it may be deleted'),
  outcome: z.enum(followUpOutcomes),
  ignoreMachines: z.boolean(),
  asOf: Time.describe(
    'When the recipients of the follow-up were chosen. Opens and clicks after it do not count',
  ),
});

export const MessageType = z.enum(['MARKETING', 'TRANSACTIONAL', 'HEADLESS']);

export const CampaignState = z.enum(campaignStatuses);

export const Campaign = named('Campaign', {
  id: z.uuid().meta({ examples: ['7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05'] }),
  name: z.string().meta({ examples: ['Spring sale'] }),
  description: z.string().nullable(),
  subject: z.string().meta({ examples: ['Hello {{name ?? you}}'] }),
  body: z.string().meta({ examples: ['<p>20% off</p>'] }),
  from: z.string().meta({ examples: ['news@shop.example'] }),
  fromName: z
    .string()
    .nullable()
    .meta({ examples: ['The Shop'] }),
  replyTo: z.string().nullable(),
  templateId: z.uuid().nullable(),
  type: AudienceType.describe('The same as audienceType'),
  audienceType: AudienceType,
  segmentId: z.uuid().nullable(),
  segment: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  audienceCondition: ConditionAnswer.nullable(),
  audienceFilter: FlatAnswer.nullable().describe('The condition as a list, if it can be one'),
  followUp: FollowUpRecord.optional().describe('Only with FOLLOW_UP'),
  messageType: MessageType,
  status: CampaignState,
  scheduledFor: Time.nullable(),
  scheduledAt: Time.nullable().describe('The same as scheduledFor'),
  localTime: z
    .string()
    .nullable()
    .describe('Local time at which each contact gets it; null: all at once'),
  late: z
    .enum(lateRules)
    .nullable()
    .describe('For contacts whose localTime had passed when it began; null without localTime'),
  maxPerMinute: z
    .int()
    .nullable()
    .describe('Maximum number of mails per minute; null: no limit of its own'),
  utm: CampaignUtm.optional().describe(
    'UTM parameters of its links, over those of the link policy',
  ),
  goal: Goal.optional().describe('The event that its mail should lead to'),
  experiment: CampaignExperiment.optional().describe(
    'Versions of the campaign, and how one is chosen',
  ),
  sentAt: Time.nullable(),
  topicId: z.uuid().optional().describe('Topic of marketing mail'),
  createdBy: Actor.nullable().describe('Who created it; null: not known'),
  sentBy: Actor.nullable().describe('Who sent or scheduled it last; null: not sent yet'),
  pausedReason: z.enum(['requested', 'provider_failures']).nullable(),
  archived: z.boolean(),
  totalRecipients: z.int().describe('The last count; the final number once it is SENT'),
  sentCount: z.int(),
  deliveredCount: z.int(),
  openedCount: z.int(),
  clickedCount: z.int(),
  bouncedCount: z.int(),
  complainedCount: z.int(),
  unsubscribedCount: z.int(),
  ...ofProject,
});

/** The response of an action on a campaign. */
export const CampaignDone = z.object({
  success: z.literal(true),
  data: Campaign,
  message: z.string(),
});

export async function presentCampaign(db: Database, row: NamedCampaignRow, project: OwnerProject) {
  return (await campaignPresenter(db, [row], project))(row);
}

/** Returns a function that presents these campaigns, with the current names of their actors. */
export async function campaignPresenter(
  db: Database,
  rows: readonly NamedCampaignRow[],
  project: OwnerProject,
) {
  const actors = rows.flatMap((row) => [row.created_by, row.sent_by]);
  const presentActor = await readActors(db, actors);
  return (row: NamedCampaignRow) => recordOf(row, project, presentActor);
}

function recordOf(
  row: NamedCampaignRow,
  { publicId: projectId }: OwnerProject,
  presentActor: Awaited<ReturnType<typeof readActors>>,
) {
  const { audience_condition: condition, segment_id: segmentId, segment_name: segmentName } = row;
  const audienceType = row.audience_type as z.input<typeof AudienceType>;
  return present(Campaign, row, {
    projectId,
    from: row.from_email,
    type: audienceType,
    segment:
      segmentId !== null && segmentName !== null ? { id: segmentId, name: segmentName } : null,
    audienceFilter: condition && conditionToFlat(condition),
    messageType: row.message_class as z.input<typeof MessageType>,
    scheduledAt: time(row.scheduled_for),
    topicId: row.topic_id ?? undefined,
    utm: row.utm ?? undefined,
    followUp: row.follow_up ?? undefined,
    goal: row.goal ?? undefined,
    experiment: row.experiment ? presentExperiment(row.experiment) : undefined,
    createdBy: presentActor(row.created_by),
    sentBy: presentActor(row.sent_by),
  });
}

/** Example for the documentation: a draft for the contacts of a segment. */
export const campaignExample = {
  ...exampleOf(Campaign),
  type: 'SEGMENT',
  audienceType: 'SEGMENT',
  segmentId: segmentExample.id,
  segment: { id: segmentExample.id, name: segmentExample.name },
  totalRecipients: 128,
} as const;
