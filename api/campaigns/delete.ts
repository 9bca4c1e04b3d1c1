import { z } from 'zod';
import { deleteCampaigns, lockCampaigns } from '../../db/campaigns/campaigns.ts';
import { transact } from '../../db/database.ts';
import { campaignActions } from '../../domain/campaign/campaign.ts';
import { foundAll, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { targetOf } from '../access/changes.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { BulkUpdate, BulkUpdated, bulkUpdate, bulkUpdateExample, ById } from '../http/schemas.ts';

/** Deletes campaigns, one or many. */

export const deleteCampaign = endpoint({
  id: 'deleteCampaign',
  method: 'DELETE',
  path: '/campaigns/{id}',
  summary: 'Delete a campaign; its sent mail stays in the activity feed',
  description: 'CAMPAIGN_ACTIVE: it is SCHEDULED, SENDING or PAUSED; cancel it first.',
  access: 'secret',
  params: ById,
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_ACTIVE'],
  example: { response: { success: true, message: 'The campaign was deleted.' } },
  async handle(call) {
    await removeCampaigns(call, [call.params.id]);
    return { success: true as const, message: 'The campaign was deleted.' };
  },
});

/**
 * Deletes all these campaigns, or none of them.
 * @param options.delete false: only checks that all campaigns exist.
 * @throws Problem CAMPAIGN_NOT_FOUND, CAMPAIGN_ACTIVE for the first campaign that cannot be
 * deleted.
 */
async function removeCampaigns(
  {
    db,
    note,
    caller: { projectId },
  }: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note' | 'caller'>,
  ids: readonly string[],
  options = { delete: true },
): Promise<void> {
  await transact(db, async (tx) => {
    const campaigns = foundAll('CAMPAIGN', ids, await lockCampaigns(tx, projectId, ids));
    if (!options.delete) return;
    const deletable: readonly string[] = campaignActions.delete;
    const active = campaigns.find(({ status }) => !deletable.includes(status));
    if (active) {
      const { id, status } = active;
      const message = `The campaign ${id} is ${status}. A scheduled, sending or paused campaign cannot be deleted.`;
      throw new Problem('CAMPAIGN_ACTIVE', { message, details: { ...active } });
    }
    await deleteCampaigns(tx, ids);
    await note({ event: 'campaign.deleted', projectId, ...targetOf('campaign', ids) }, tx);
  });
}

export const bulkUpdateCampaigns = endpoint({
  id: 'bulkUpdateCampaigns',
  method: 'POST',
  path: '/campaigns/bulk-update',
  summary: 'Delete many campaigns: all of them or none',
  description:
    '1 to 1,000 ids. Without `delete: true` nothing is changed, and `updated` is 0. ' +
    'CAMPAIGN_NOT_FOUND and CAMPAIGN_ACTIVE name the first campaign that prevents it.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  body: BulkUpdate,
  response: BulkUpdated,
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_ACTIVE'],
  example: bulkUpdateExample,
  async handle(call) {
    return bulkUpdate(call.body, (ids, options) => removeCampaigns(call, ids, options));
  },
});
