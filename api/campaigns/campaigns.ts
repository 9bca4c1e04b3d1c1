import { z } from 'zod';
import {
  findCampaign,
  insertCampaign,
  listCampaigns as listCampaignRows,
  readCampaigns,
  lockCampaign,
  updateCampaign as updateCampaignRow,
} from '../../db/campaigns/campaigns.ts';
import { findExperiment } from '../../db/campaigns/experiments.ts';
import { type Database, transact } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { findSegment, lockSegmentReferences } from '../../db/segments/segments.ts';
import { findTemplate } from '../../db/templates/templates.ts';
import { found, invalidField, together } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { requireMatch, tagged } from '../http/etag.ts';
import {
  copyName,
  pageExample,
  pageOf,
  pageQuery,
  answerList,
  presentPage,
  ById,
} from '../http/schemas.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import { requireReadable } from '../templates/templates.ts';
import { keptTopic, requireTopics } from '../topics/references.ts';
import { actionEndpoints } from './actions.ts';
import { countRecipients, recounting, requireCounted } from './counting.ts';
import { bulkUpdateCampaigns, deleteCampaign } from './delete.ts';
import { experimentEndpoints } from './experiment/experiment.ts';
import { requireArmSenders, requireReadableArms, withArmTemplates } from './experiment/input.ts';
import { followUpCampaign } from './follow-up.ts';
import {
  CampaignChange,
  campaignTag,
  type CampaignValues,
  NewCampaign,
  changesOf,
  conditionIn,
  givenValues,
  planEdit,
  refuseEdit,
  valuesOf,
  withAudience,
  refuseGivenTopic,
} from './input.ts';
import {
  Campaign,
  CampaignDone,
  CampaignState,
  campaignExample,
  campaignPresenter,
  presentCampaign,
} from './record.ts';
import { retryFailedCampaign } from './retry-failed.ts';
import { recipientEndpoints } from './recipients.ts';
import { actorOf, type Project } from '../access/caller.ts';
import { targetOf } from '../access/changes.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';

const listCampaigns = endpoint({
  id: 'listCampaigns',
  method: 'GET',
  path: '/campaigns',
  summary: 'List the campaigns',
  description:
    'A page list of at most 100 campaigns a page, by default 20. Archived ones need `archived=true`.',
  access: 'secret',
  query: pageQuery(['createdAt', 'name', 'updatedAt']).extend({
    status: CampaignState.optional(),
    search: z.string().optional().describe('Part of name, subject or sender, in any case'),
    archived: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
  }),
  response: pageOf(Campaign),
  example: { response: pageExample(campaignExample) },
  async handle({ db, caller, query }) {
    const { rows, total } = await listCampaignRows(db, caller.projectId, query);
    return answerList(
      rows,
      async (ids) => {
        const items = await readCampaigns(db, ids);
        return items.map(await campaignPresenter(db, items, caller.project));
      },
      (items) => presentPage(items, total, query),
    );
  },
});

export const createCampaign = endpoint({
  id: 'createCampaign',
  method: 'POST',
  path: '/campaigns',
  summary: 'Create a campaign as a draft',
  description:
    'With a template, fields that are left out are copied from it. The audience is ALL, a ' +
    'SEGMENT or FILTERED by a condition, and is counted at once. DOMAIN_NOT_REGISTERED, ' +
    "DOMAIN_NOT_VERIFIED: the sender's domain must be a verified one of this project. " +
    'CONDITION_TOO_HEAVY: counting took longer than 20 seconds.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  status: 201,
  wrapped: true,
  body: NewCampaign,
  response: Campaign,
  problems: [
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'SEGMENT_NOT_FOUND',
    'TEMPLATE_NOT_FOUND',
    'TOPIC_NOT_FOUND',
    'CONDITION_TOO_HEAVY',
  ],
  example: {
    body: {
      name: campaignExample.name,
      subject: campaignExample.subject,
      body: campaignExample.body,
      from: campaignExample.from,
      fromName: campaignExample.fromName,
      audienceType: 'SEGMENT',
      segmentId: campaignExample.segmentId,
    },
    response: campaignExample,
  },
  async check({ db, caller: { projectId }, renderer, body }) {
    await together(
      () => requireReadable(renderer, body, projectId),
      () => requireReadableArms(renderer, body, projectId),
      () => refuseGivenTopic(body),
      () => requireSender(db, projectId, body),
      () => refuseBadReferences(db, projectId, conditionIn(body)),
    );
  },
  async handle({ db, caller, body, note }) {
    const { projectId, project } = caller;
    const values = await newValues(db, projectId, await withArmTemplates(db, projectId, body));
    await requireReferences(db, projectId, values);
    await requireVerifiedSender(db, projectId, values.from_email);
    await requireArmSenders(db, projectId, values.experiment);
    const total = await countRecipients(db, projectId, values);
    const id = await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      await holdReferences(tx, projectId, values, body);
      const made = await insertCampaign(tx, {
        ...values,
        project_id: projectId,
        total_recipients: total,
        created_by: actorOf(caller),
      });
      await note({ event: 'campaign.created', projectId, ...targetOf('campaign', [made]) }, tx);
      return made;
    });
    return answerOf(db, project, id);
  },
});

/**
 * Requires a sender in the request or its template.
 * @throws Problem VALIDATION_ERROR
 */
async function requireSender(
  db: Database,
  projectId: string,
  { from, templateId }: Partial<NewCampaign>,
): Promise<void> {
  const template = templateId && !from && (await findTemplate(db, projectId, templateId));
  if (template && !template.from_email) throw noSender();
}

const noSender = () =>
  invalidField(
    'from',
    'required',
    'The template has no sender. Send `from`, or give the template a sender.',
  );

/**
 * Returns the columns of a new campaign. The subject, body, sender and topic are copied from the
 * template, if the request does not have them.
 */
async function newValues(db: Database, projectId: string, body: NewCampaign) {
  const { templateId } = body;
  const template = templateId
    ? found('TEMPLATE', templateId, await findTemplate(db, projectId, templateId))
    : null;
  const given = valuesOf(body);
  const messageClass = given.message_class ?? 'MARKETING';
  const ofTemplate = messageClass === 'MARKETING' ? (template?.topic_id ?? null) : null;
  const from = body.from?.email ?? template?.from_email;
  if (!from) throw noSender();
  return withAudience({
    subject: template?.subject ?? '',
    body: template?.body ?? '',
    from_name: template?.from_name ?? null,
    reply_to: template?.reply_to ?? null,
    segment_id: null,
    // The default is only for TypeScript, because the schema guarantees that `given` has an
    // audience type.
    audience_type: 'ALL',
    follow_up_list: null,
    message_class: messageClass,
    topic_id: ofTemplate,
    max_per_minute: null,
    experiment: null,
    ...given,
    name: body.name,
    from_email: from,
    audience_condition: conditionIn(body)?.condition ?? null,
  });
}

/** Prevents the deletion of an audience's segments and of the topic until the transaction ends. */
async function holdReferences(
  tx: Database,
  projectId: string,
  { segment_id: segmentId, topic_id: topicId }: Partial<CampaignValues>,
  body: Parameters<typeof conditionIn>[0],
): Promise<void> {
  const given = conditionIn(body);
  if (segmentId || given?.mentions.length) await lockSegmentReferences(tx, projectId);
  if (segmentId) found('SEGMENT', segmentId, await findSegment(tx, projectId, segmentId));
  await refuseBadReferences(tx, projectId, given);
  await requireTopics(tx, projectId, [topicId]);
}

async function taggedAnswer(db: Database, project: Project, id: string) {
  const row = found('CAMPAIGN', id, await findCampaign(db, project.id, id));
  return tagged(await presentCampaign(db, row, project), campaignTag(row));
}

async function answerOf(db: Database, project: Project, id: string) {
  return (await taggedAnswer(db, project, id)).data;
}

const getCampaign = endpoint({
  id: 'getCampaign',
  method: 'GET',
  path: '/campaigns/{id}',
  summary: 'Get one campaign',
  description:
    'Counters are as of now. CAMPAIGN_NOT_FOUND: there is no such campaign in the project.',
  access: 'secret',
  wrapped: true,
  params: ById,
  hasEtag: true,
  response: Campaign,
  problems: ['CAMPAIGN_NOT_FOUND'],
  example: { response: campaignExample },
  async handle({ db, caller, params: { id } }) {
    return taggedAnswer(db, caller.project, id);
  },
});

export const updateCampaign = endpoint({
  id: 'updateCampaign',
  method: 'PUT',
  path: '/campaigns/{id}',
  summary: 'Change a campaign; a whole record can be sent back',
  description:
    'Fields that are left out keep their value. Of a paused campaign only subject, body, ' +
    'fromName, replyTo and maxPerMinute can change, for mails that are not sent yet. ' +
    'CAMPAIGN_SEGMENT_LOCKED: the audience of a scheduled campaign cannot change. ' +
    'CAMPAIGN_NOT_EDITABLE: the status in `details.status` allows no edit, or not of these ' +
    'fields.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  wrapped: true,
  params: ById,
  hasEtag: true,
  body: CampaignChange,
  response: Campaign,
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'CAMPAIGN_NOT_EDITABLE',
    'CAMPAIGN_SEGMENT_LOCKED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'SEGMENT_NOT_FOUND',
    'TEMPLATE_NOT_FOUND',
    'TOPIC_NOT_FOUND',
    'CONDITION_TOO_HEAVY',
  ],
  example: { body: { subject: 'Last day, {{name ?? you}}' }, response: campaignExample },
  async check({ db, caller: { projectId }, renderer, params: { id }, body }) {
    const before = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    await together(
      () => requireReadable(renderer, body, projectId),
      () => requireReadableArms(renderer, body, projectId),
      () => planEdit(before, body),
      () => refuseBadReferences(db, projectId, conditionIn(body)),
    );
  },
  async handle({ db, caller, params: { id }, body: given, note, request }) {
    const { projectId, project } = caller;
    const body = await withArmTemplates(db, projectId, given);
    return recounting(async () => {
      const before = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
      const plan = planEdit(before, body);
      await requireReferences(db, projectId, plan.values);
      requireMatch(request, campaignTag(before));
      refuseEdit(before, plan);
      const from = plan.values.from_email;
      if (from !== undefined) await requireVerifiedSender(db, projectId, from);
      await requireArmSenders(db, projectId, plan.values.experiment);
      const after = { ...before, ...plan.values };
      const total = plan.changesCount ? await countRecipients(db, projectId, after) : null;
      return transact(db, async (tx) => {
        if (plan.changesAudience) await holdReferences(tx, projectId, plan.values, body);
        else await requireTopics(tx, projectId, [plan.values.topic_id]);
        const locked = found('CAMPAIGN', id, await lockCampaign(tx, projectId, id));
        requireMatch(request, campaignTag(locked));
        const edit = planEdit(locked, body);
        const run = locked.experiment && (await findExperiment(tx, id));
        refuseEdit(locked, edit, run?.decided_at === null);
        if (edit.changesCount || total !== null) requireCounted(before, locked);
        if (Object.keys(edit.values).length === 0) return taggedAnswer(tx, project, id);
        const counted = total === null ? {} : { total_recipients: total };
        await updateCampaignRow(tx, id, { ...edit.values, ...counted });
        const target = { type: 'campaign', id };
        const changes = changesOf(locked, edit);
        await note({ event: 'campaign.changed', projectId, target, changes }, tx);
        return taggedAnswer(tx, project, id);
      });
    });
  },
});

/**
 * Requires that the template, segment and topic of a campaign exist.
 * @throws Problem TEMPLATE_NOT_FOUND, SEGMENT_NOT_FOUND, TOPIC_NOT_FOUND
 */
async function requireReferences(
  db: Database,
  projectId: string,
  { template_id: templateId, segment_id: segmentId, topic_id: topicId }: Partial<CampaignValues>,
): Promise<void> {
  if (templateId) found('TEMPLATE', templateId, await findTemplate(db, projectId, templateId));
  if (segmentId) found('SEGMENT', segmentId, await findSegment(db, projectId, segmentId));
  await requireTopics(db, projectId, [topicId]);
}

export const duplicateCampaign = endpoint({
  id: 'duplicateCampaign',
  method: 'POST',
  path: '/campaigns/{id}/duplicate',
  summary: 'Copy a campaign into a new draft',
  description:
    'The copy has the content and the audience of the original, with `(Copy)` after its ' +
    'name, and its audience is counted again.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  status: 201,
  params: ById,
  response: CampaignDone,
  problems: ['CAMPAIGN_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: {
    response: {
      success: true,
      data: { ...campaignExample, name: copyName(campaignExample.name) },
      message: 'The campaign was copied.',
    },
  },
  async handle({ db, caller, params: { id }, note }) {
    const { projectId, project } = caller;
    const copyId = await recounting(async () => {
      const original = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
      const total = await countRecipients(db, projectId, original);
      return transact(db, async (tx) => {
        await holdProject(tx, projectId);
        await lockSegmentReferences(tx, projectId);
        // The campaign is read again, because its segment may have been deleted in the meantime.
        // The lock prevents the deletion of the campaign's list of recipients.
        const row = found('CAMPAIGN', id, await lockCampaign(tx, projectId, id));
        requireCounted(original, row);
        const made = await insertCampaign(tx, {
          project_id: projectId,
          ...givenValues(row),
          follow_up: row.follow_up,
          follow_up_list: row.follow_up_list,
          topic_id: await keptTopic(tx, projectId, row.topic_id),
          name: copyName(row.name),
          total_recipients: total,
          created_by: actorOf(caller),
        });
        const target = { type: 'campaign', id: made };
        await note({ event: 'campaign.created', projectId, target, details: { copyOf: id } }, tx);
        return made;
      });
    });
    const data = await answerOf(db, project, copyId);
    return { success: true as const, data, message: 'The campaign was copied.' };
  },
});

export const campaignEndpoints = [
  listCampaigns,
  createCampaign,
  getCampaign,
  updateCampaign,
  deleteCampaign,
  duplicateCampaign,
  bulkUpdateCampaigns,
  followUpCampaign,
  retryFailedCampaign,
  ...actionEndpoints,
  ...recipientEndpoints,
  ...experimentEndpoints,
];
