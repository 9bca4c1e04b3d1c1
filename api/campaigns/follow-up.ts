import { z } from 'zod';
import { findCampaign, insertCampaign } from '../../db/campaigns/campaigns.ts';
import {
  completeFollowUpList,
  deleteUnusedLists,
  fillFollowUpList,
  insertFollowUpList,
} from '../../db/campaigns/follow-ups.ts';
import { transact } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { isFinished } from '../../domain/campaign/campaign.ts';
import { followUpOutcomes } from '../../domain/campaign/follow-up.ts';
import { found, Problem, together } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { actorOf } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById, cutName, Email, Name, SenderName, Subject } from '../http/schemas.ts';
import { templateText } from '../templates/input.ts';
import { requireReadable } from '../templates/templates.ts';
import { keptTopic } from '../topics/references.ts';
import { countRecipients } from './counting.ts';
import { givenValues, valuesOf } from './input.ts';
import { CampaignDone, campaignExample, presentCampaign } from './record.ts';
import { notFinished } from './states.ts';

const FollowUpRequest = z.object({
  outcome: z
    .enum(followUpOutcomes)
    .describe(
      'Who gets it: recipients without an open or click, without a click, whose mail failed, or ' +
        'whose mail failed or was withheld',
    ),
  ignoreMachines: z
    .boolean()
    .default(true)
    .describe('True: opens and clicks that machines made do not count'),
  name: Name.optional(),
  subject: templateText(Subject).optional(),
  body: templateText(z.string().min(1)).optional(),
  fromName: SenderName.nullable().optional(),
  replyTo: Email.nullable().optional(),
});

const message = 'The follow-up is a draft.';

const onlyFinished =
  'Only a campaign that is SENT, or was cancelled after sending had begun, can have a follow-up.';

export const followUpCampaign = endpoint({
  id: 'followUpCampaign',
  method: 'POST',
  path: '/campaigns/{id}/follow-up',
  summary: 'Make a draft for the recipients who did not open, did not click or got no mail',
  description:
    'The draft has the content and settings of the campaign, with `(Follow-up)` after its name, ' +
    'unless the request has its own. Its recipients are chosen now, and later opens and clicks ' +
    'change nothing. `not_opened` and `not_clicked` leave out contacts that were not sent ' +
    'the campaign, whose mail bounced, or who complained. CAMPAIGN_NOT_FINISHED: it is not SENT, ' +
    'nor was it cancelled after sending had begun. CAMPAIGN_NO_RECIPIENTS: no contact fits.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  status: 201,
  params: ById,
  body: FollowUpRequest,
  response: CampaignDone,
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'CAMPAIGN_NOT_FINISHED',
    'CAMPAIGN_NO_RECIPIENTS',
    'CONDITION_TOO_HEAVY',
  ],
  example: {
    body: { outcome: 'not_opened', subject: 'Did you miss it?' },
    response: {
      success: true,
      data: {
        ...campaignExample,
        name: 'Spring sale (Follow-up)',
        subject: 'Did you miss it?',
        type: 'FOLLOW_UP',
        audienceType: 'FOLLOW_UP',
        segmentId: null,
        segment: null,
        followUp: {
          campaignId: campaignExample.id,
          outcome: 'not_opened',
          ignoreMachines: true,
          asOf: campaignExample.createdAt,
        },
      },
      message,
    },
  },
  async check({ db, caller: { projectId }, renderer, params: { id }, body }) {
    await together(
      () => requireReadable(renderer, body, projectId),
      async () => void found('CAMPAIGN', id, await findCampaign(db, projectId, id)),
    );
  },
  async handle({ db, caller, params: { id }, body, note, keyUse }) {
    const { projectId, project } = caller;
    const { outcome, ignoreMachines, ...content } = body;
    const first = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    const isFrozen = first.frozen_at !== null;
    if (!isFinished({ status: first.status, isFrozen })) throw notFinished(first, onlyFinished);
    const { id: listId, asOf } = await insertFollowUpList(db, projectId);
    const followUp = { campaignId: id, outcome, ignoreMachines, asOf };
    await fillFollowUpList(db, projectId, listId, followUp);
    const audience = {
      audience_type: 'FOLLOW_UP',
      audience_condition: null,
      segment_id: null,
      follow_up: followUp,
      follow_up_list: listId,
    };
    const total = await countRecipients(db, projectId, { ...first, ...audience });
    if (total === 0) {
      await deleteUnusedLists(db, [listId]);
      throw new Problem('CAMPAIGN_NO_RECIPIENTS');
    }
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      // The campaign is read again, because its template or segment may have been deleted
      // meanwhile.
      const row = found('CAMPAIGN', id, await findCampaign(tx, projectId, id));
      await completeFollowUpList(tx, listId);
      const made = await insertCampaign(tx, {
        project_id: projectId,
        ...givenValues(row),
        goal: null,
        experiment: null,
        topic_id: await keptTopic(tx, projectId, row.topic_id),
        name: cutName(`${row.name} (Follow-up)`),
        ...valuesOf(content),
        ...audience,
        total_recipients: total,
        created_by: actorOf(caller),
      });
      const target = { type: 'campaign', id: made };
      await note({ event: 'campaign.created', projectId, target, details: { followUpOf: id } }, tx);
      const stored = found('CAMPAIGN', made, await findCampaign(tx, projectId, made));
      const data = await presentCampaign(tx, stored, project);
      const answer = { success: true as const, data, message };
      await keyUse?.completeIn(tx, answer, 201);
      return answer;
    });
  },
});
