import { z } from 'zod';
import { requireAllowance } from '../../db/billing/billing.ts';
import { audienceOf, countAudience } from '../../db/campaigns/audience.ts';
import {
  type CampaignRow,
  findCampaign,
  insertCampaignContent,
  lockCampaign,
  startCampaign,
  updateCampaign,
} from '../../db/campaigns/campaigns.ts';
import { type Database, transact } from '../../db/database.ts';
import { isMemberAddress } from '../../db/accounts/members.ts';
import { findProject, holdProject } from '../../db/projects/projects.ts';
import { insertSystemMail } from '../../db/emails/system-mail.ts';
import { campaignActions } from '../../domain/campaign/campaign.ts';
import { Problem, type ProblemCode, found } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, fault, laterTime } from '../http/schemas.ts';
import { refuseBrokenText } from '../templates/stored.ts';
import {
  Campaign,
  CampaignById,
  CampaignDone,
  campaignExample,
  presentCampaign,
  tag,
} from './record.ts';
import { signalCampaign } from '../../db/outbox/outbox.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';

/** Actions on a whole campaign. Each changes its row and signals its run. */

type Action = Exclude<keyof typeof campaignActions, 'edit' | 'delete'>;

const refusals: Record<Action, ProblemCode> = {
  send: 'CAMPAIGN_NOT_SENDABLE',
  cancel: 'CAMPAIGN_NOT_CANCELLABLE',
  pause: 'CAMPAIGN_NOT_PAUSABLE',
  resume: 'CAMPAIGN_NOT_RESUMABLE',
  archive: 'CAMPAIGN_NOT_ARCHIVABLE',
};

/** @throws Problem when the action does not fit the campaign's state. */
function requireState({ status }: CampaignRow, action: Action): void {
  if ((campaignActions[action] as readonly string[]).includes(status)) return;
  throw new Problem(refusals[action], { details: { status } });
}

/** Changes a campaign in a fitting state, and signals its run. Of concurrent calls, one wins. */
async function act(
  db: Database,
  given: { projectId: string; id: string; action: Action },
  change: (tx: Database, row: CampaignRow) => Promise<void>,
) {
  const { projectId, id, action } = given;
  await transact(db, async (tx) => {
    await holdProject(tx, projectId);
    const row = found('CAMPAIGN', id, await lockCampaign(tx, projectId, id));
    requireState(row, action);
    await change(tx, row);
    if (action !== 'archive') await signalCampaign(tx, row);
  });
  return presentCampaign(found('CAMPAIGN', id, await findCampaign(db, projectId, id)));
}

const SendTime = laterTime().optional().meta({ description: 'When to send; absent: now' });

export const sendCampaign = endpoint({
  id: 'sendCampaign',
  method: 'POST',
  path: '/campaigns/{id}/send',
  tag,
  summary: 'Send a campaign now, or at a time; a scheduled one can be given another time',
  description:
    '`scheduledFor` is a date-time with an offset, or milliseconds since 1970. The audience ' +
    'is counted now, and fixed when sending begins. CAMPAIGN_NO_RECIPIENTS: it is empty. ' +
    'SCHEDULE_IN_PAST: the time is not in the future. BILLING_LIMIT_EXCEEDED: the project may ' +
    'not send so many mails this month. VALIDATION_ERROR `invalid_template`: its text, stored by an ' +
    'earlier version, cannot be rendered. CAMPAIGN_NOT_SENDABLE: `details.status` cannot be ' +
    'sent.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: CampaignById,
  body: z
    .object({ scheduledFor: SendTime, scheduledAt: SendTime })
    .refine(
      ({ scheduledFor: one, scheduledAt: other }) =>
        !one || !other || one.getTime() === other.getTime(),
      { path: ['scheduledAt'], ...fault('custom', 'Means something else than scheduledFor.') },
    ),
  response: CampaignDone,
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'CAMPAIGN_NOT_SENDABLE',
    'SCHEDULE_IN_PAST',
    'CAMPAIGN_NO_RECIPIENTS',
    'BILLING_LIMIT_EXCEEDED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'CONDITION_TOO_HEAVY',
  ],
  example: {
    body: { scheduledFor: '2026-12-01T08:00:00.000Z' },
    response: {
      success: true,
      data: {
        ...campaignExample,
        status: 'SCHEDULED',
        scheduledFor: '2026-12-01T08:00:00.000Z',
        scheduledAt: '2026-12-01T08:00:00.000Z',
      },
      message: 'The campaign is scheduled.',
    },
  },
  async handle({ db, config, renderer, caller: { projectId }, params: { id }, body }) {
    const at = body.scheduledFor ?? body.scheduledAt ?? null;
    const before = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    requireState(before, 'send');
    if (at && at.getTime() <= Date.now()) throw new Problem('SCHEDULE_IN_PAST');
    await requireVerifiedSender(db, projectId, before.from_email);
    await refuseBrokenText(renderer, before, projectId);
    const audience = audienceOf(before);
    const total = await countAudience(db, projectId, audience, before.message_class);
    if (total === 0) throw new Problem('CAMPAIGN_NO_RECIPIENTS');
    const share = { projectId, category: 'campaigns', units: total } as const;
    await requireAllowance(db, config.billing, share);
    const data = await act(db, { projectId, id, action: 'send' }, async (tx) => {
      const counted = { total_recipients: total, scheduled_for: at };
      await updateCampaign(tx, id, at ? { ...counted, status: 'SCHEDULED' } : counted);
      if (!at) await startCampaign(tx, id);
    });
    const message = at ? 'The campaign is scheduled.' : 'The campaign is being sent.';
    return { success: true as const, data, message };
  },
});

export const cancelCampaign = endpoint({
  id: 'cancelCampaign',
  method: 'POST',
  path: '/campaigns/{id}/cancel',
  tag,
  summary: 'Cancel a campaign: no further mail of it is sent',
  description:
    'Mail that was handed to the provider cannot be called back. CAMPAIGN_NOT_CANCELLABLE: ' +
    '`details.status` cannot be cancelled.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: CampaignById,
  response: CampaignDone,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_CANCELLABLE'],
  example: {
    response: {
      success: true,
      data: { ...campaignExample, status: 'CANCELLED' },
      message: 'The campaign was cancelled.',
    },
  },
  async handle({ db, caller: { projectId }, params: { id } }) {
    const data = await act(db, { projectId, id, action: 'cancel' }, (tx) =>
      updateCampaign(tx, id, { status: 'CANCELLED', paused_reason: null }),
    );
    return { success: true as const, data, message: 'The campaign was cancelled.' };
  },
});

export const pauseCampaign = endpoint({
  id: 'pauseCampaign',
  method: 'POST',
  path: '/campaigns/{id}/pause',
  tag,
  summary: 'Pause a campaign that is sending; what was handed over is finished',
  description: 'CAMPAIGN_NOT_PAUSABLE: `details.status` is not SENDING.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  wrapped: true,
  params: CampaignById,
  response: Campaign,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_PAUSABLE'],
  example: {
    response: {
      success: true,
      data: { ...campaignExample, status: 'PAUSED', pausedReason: 'requested' },
    },
  },
  async handle({ db, caller: { projectId }, params: { id } }) {
    return act(db, { projectId, id, action: 'pause' }, (tx) =>
      updateCampaign(tx, id, { status: 'PAUSED', paused_reason: 'requested' }),
    );
  },
});

export const resumeCampaign = endpoint({
  id: 'resumeCampaign',
  method: 'POST',
  path: '/campaigns/{id}/resume',
  tag,
  summary: 'Let a paused campaign go on, with its content as it is now',
  description:
    'Nobody gets the mail twice. CAMPAIGN_NOT_RESUMABLE: `details.status` is not PAUSED.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  wrapped: true,
  params: CampaignById,
  response: Campaign,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_RESUMABLE'],
  example: { response: { success: true, data: { ...campaignExample, status: 'SENDING' } } },
  async handle({ db, caller: { projectId }, params: { id } }) {
    return act(db, { projectId, id, action: 'resume' }, async (tx) => {
      await updateCampaign(tx, id, { status: 'SENDING', paused_reason: null, refused_in_row: 0 });
      await insertCampaignContent(tx, id);
    });
  },
});

export const archiveCampaign = archiving('archive', true);
export const unarchiveCampaign = archiving('unarchive', false);

function archiving(verb: 'archive' | 'unarchive', archived: boolean) {
  return endpoint({
    id: `${verb}Campaign`,
    method: 'POST',
    path: `/campaigns/{id}/${verb}`,
    tag,
    summary: archived ? 'Put a campaign away, out of the list' : 'Bring a campaign back',
    description:
      'Answers the same when it is so already. CAMPAIGN_NOT_ARCHIVABLE: `details.status` ' +
      'cannot be archived.',
    access: 'secret',
    bodyBytesMax: limits.contentBodyBytes,
    wrapped: true,
    params: CampaignById,
    response: Campaign,
    problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_ARCHIVABLE'],
    example: { response: { success: true, data: { ...campaignExample, archived } } },
    async handle({ db, caller: { projectId }, params: { id } }) {
      return act(db, { projectId, id, action: 'archive' }, (tx) =>
        updateCampaign(tx, id, { archived }),
      );
    },
  });
}

export const testCampaign = endpoint({
  id: 'testCampaign',
  method: 'POST',
  path: '/campaigns/{id}/test',
  tag,
  summary: 'Send a campaign to one address as it is written, without any record',
  description:
    'Sent as it is written, variables included, with `[TEST]` before the subject. ' +
    'TEST_RECIPIENT_NOT_ALLOWED: on a server that sends real mail, tests go only to members ' +
    'of the project.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: CampaignById,
  body: z.object({ email: Email }),
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: ['CAMPAIGN_NOT_FOUND', 'TEST_RECIPIENT_NOT_ALLOWED'],
  example: {
    body: { email: 'ada@shop.example' },
    response: { success: true, message: 'The test is on its way.' },
  },
  async handle({ db, config, caller: { projectId }, params: { id }, body, keyUse }) {
    const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    if (config.mail.testsToMembersOnly && !(await isMemberAddress(db, projectId, body.email))) {
      throw new Problem('TEST_RECIPIENT_NOT_ALLOWED');
    }
    const project = found('PROJECT', projectId, await findProject(db, projectId));
    const answer = { success: true as const, message: `A test is on its way to ${body.email}.` };
    await transact(db, async (tx) => {
      await insertSystemMail(tx, {
        kind: 'campaign-test',
        project_id: projectId,
        to_email: body.email,
        from_email: campaign.from_email,
        from_name: campaign.from_name ?? project.name,
        reply_to: campaign.reply_to,
        subject: `[TEST] ${campaign.subject}`,
        html: campaign.body,
      });
      await keyUse?.completeIn(tx, answer);
    });
    return answer;
  },
});

export const actionEndpoints = [
  sendCampaign,
  cancelCampaign,
  pauseCampaign,
  resumeCampaign,
  archiveCampaign,
  unarchiveCampaign,
  testCampaign,
];
