import { z } from 'zod';
import {
  type CampaignRow,
  findCampaign,
  insertCampaignContent,
  updateCampaign,
} from '../../db/campaigns/campaigns.ts';
import { found } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { sendTest } from '../emails/test-mail.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, ById } from '../http/schemas.ts';
import { Campaign, CampaignDone, campaignExample } from './record.ts';
import { requireArm } from './experiment/experiment.ts';
import { sendCampaign } from './send.ts';
import { act } from './states.ts';

/** Actions on a whole campaign. All except the test depend on the status of the campaign. */

const cancelCampaign = endpoint({
  id: 'cancelCampaign',
  method: 'POST',
  path: '/campaigns/{id}/cancel',
  summary: 'Cancel a campaign; no more of its mail is sent',
  description:
    'A second after the response, no more mail is given to the mail provider. Mail that the ' +
    'provider has cannot be recalled. CAMPAIGN_NOT_CANCELLABLE: a campaign with the status in ' +
    '`details.status` cannot be cancelled.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  response: CampaignDone,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_CANCELLABLE'],
  example: {
    response: {
      success: true,
      data: { ...campaignExample, status: 'CANCELLED' },
      message: 'The campaign was cancelled.',
    },
  },
  async handle(call) {
    const { id } = call.params;
    const data = await act(call, { id, action: 'cancel', event: 'campaign.cancelled' }, (tx) =>
      updateCampaign(tx, id, { status: 'CANCELLED', paused_reason: null }),
    );
    return { success: true as const, data, message: 'The campaign was cancelled.' };
  },
});

const pauseCampaign = endpoint({
  id: 'pauseCampaign',
  method: 'POST',
  path: '/campaigns/{id}/pause',
  summary: 'Pause a campaign that is sending',
  description:
    'A second after the response, no more mail is given to the mail provider. Mail that the ' +
    'provider has is still delivered. CAMPAIGN_NOT_PAUSABLE: `details.status` is not SENDING.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  wrapped: true,
  params: ById,
  response: Campaign,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_PAUSABLE'],
  example: { response: { ...campaignExample, status: 'PAUSED', pausedReason: 'requested' } },
  async handle(call) {
    const { id } = call.params;
    return act(call, { id, action: 'pause', event: 'campaign.paused' }, (tx) =>
      updateCampaign(tx, id, { status: 'PAUSED', paused_reason: 'requested' }),
    );
  },
});

const resumeCampaign = endpoint({
  id: 'resumeCampaign',
  method: 'POST',
  path: '/campaigns/{id}/resume',
  summary: 'Resume a paused campaign with its current content',
  description:
    'No contact gets the mail twice. CAMPAIGN_NOT_RESUMABLE: `details.status` is not PAUSED.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  wrapped: true,
  params: ById,
  response: Campaign,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_RESUMABLE'],
  example: { response: { ...campaignExample, status: 'SENDING' } },
  async handle(call) {
    const { id } = call.params;
    return act(call, { id, action: 'resume', event: 'campaign.resumed' }, async (tx) => {
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
    summary: archived
      ? 'Archive a campaign, so that it leaves the list'
      : 'Take a campaign out of the archive',
    description:
      'Returns the same if nothing changes. CAMPAIGN_NOT_ARCHIVABLE: a campaign with the ' +
      'status in `details.status` cannot be archived.',
    access: 'secret',
    bodyBytesMax: limits.contentBodyBytes,
    wrapped: true,
    params: ById,
    response: Campaign,
    problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_ARCHIVABLE'],
    example: { response: { ...campaignExample, archived } },
    async handle(call) {
      const { id } = call.params;
      const event = archived ? ('campaign.archived' as const) : ('campaign.unarchived' as const);
      const isDone = (row: CampaignRow) => row.archived === archived;
      return act(call, { id, action: 'archive', event, isDone }, (tx) =>
        updateCampaign(tx, id, { archived }),
      );
    },
  });
}

export const testCampaign = endpoint({
  id: 'testCampaign',
  method: 'POST',
  path: '/campaigns/{id}/test',
  summary: 'Send a test of a campaign to one address; it is not recorded',
  description:
    'Sent as written, including variables, with `[TEST]` before the subject. ' +
    'TEST_RECIPIENT_NOT_ALLOWED: on a server that sends real mail, tests go only to members ' +
    'of the project. DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED: as for the campaign itself.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  body: z.object({
    email: Email,
    arm: z
      .string()
      .nullish()
      .describe('Id of an arm of the experiment; absent: the campaign itself'),
  }),
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'TEST_RECIPIENT_NOT_ALLOWED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
  ],
  example: {
    body: { email: 'ada@shop.example' },
    response: { success: true, message: 'The test is on its way.' },
  },
  async check({ db, caller: { projectId }, params: { id }, body: { arm } }) {
    if (typeof arm !== 'string') return;
    const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
    requireArm(campaign.experiment, arm);
  },
  async handle(call) {
    const { db, caller, params, body } = call;
    const { id } = params;
    const campaign = found('CAMPAIGN', id, await findCampaign(db, caller.projectId, id));
    const arm = typeof body.arm === 'string' ? requireArm(campaign.experiment, body.arm) : null;
    return sendTest(call, body.email, {
      message_class: campaign.message_class,
      topic_id: campaign.topic_id,
      from_email: arm?.from ?? campaign.from_email,
      from_name: arm?.fromName ?? campaign.from_name,
      reply_to: arm?.replyTo ?? campaign.reply_to,
      subject: arm?.subject ?? campaign.subject,
      html: arm?.body ?? campaign.body,
    });
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
