import { z } from 'zod';
import { measureAudience } from '../../db/reads/audience.ts';
import { findSegment } from '../../db/segments/segments.ts';
import { found, together } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import { requireTopics } from '../topics/references.ts';
import { AudienceInput, audienceIn, conditionIn, refuseGivenTopic } from './input.ts';

export const countCampaignAudience = endpoint({
  id: 'countCampaignAudience',
  method: 'POST',
  path: '/campaigns/audience',
  summary: 'Count who would get a campaign now, and who would be left out',
  description:
    'Takes the fields of a campaign that decide who gets it. `leftOut` counts the contacts of the ' +
    'audience that would get no mail, each with its first reason. `suppressed` counts those of ' +
    '`recipients` whose mail the suppression list would stop. Nothing is changed, and ' +
    '`Idempotency-Key` is ignored. CONDITION_TOO_HEAVY: counting took longer than 20 seconds.',
  access: 'secret',
  idempotent: false,
  whileDisabled: true,
  body: AudienceInput,
  response: z.object({
    recipients: z.int(),
    leftOut: z.object({
      unsubscribed: z.int(),
      topic_unsubscribed: z.int().describe('Subscribed, but not to the topic'),
    }),
    suppressed: z.int(),
  }),
  problems: ['SEGMENT_NOT_FOUND', 'TOPIC_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: {
    body: { audienceType: 'ALL', topicId: '7c8a0f35-5b2e-4a4b-9f36-2f4f0f6a9d11' },
    response: {
      recipients: 1180,
      leftOut: { unsubscribed: 56, topic_unsubscribed: 12 },
      suppressed: 3,
    },
  },
  async check({ db, caller: { projectId }, body }) {
    await together(
      () => refuseGivenTopic(body),
      () => refuseBadReferences(db, projectId, conditionIn(body)),
    );
  },
  async handle({ db, caller: { projectId }, body }) {
    const { audience, kind } = audienceIn(body);
    const { segmentId } = audience;
    if (segmentId) found('SEGMENT', segmentId, await findSegment(db, projectId, segmentId));
    await requireTopics(db, projectId, [kind.topicId]);
    const sizes = await measureAudience(db, projectId, audience, kind);
    const { recipients, unsubscribed, topicUnsubscribed, suppressed } = sizes;
    const leftOut = { unsubscribed, topic_unsubscribed: topicUnsubscribed };
    return { recipients, leftOut, suppressed };
  },
});
