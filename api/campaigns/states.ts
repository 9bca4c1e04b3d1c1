import { type CampaignRow, findCampaign, lockCampaign } from '../../db/campaigns/campaigns.ts';
import { type Database, transact } from '../../db/database.ts';
import { signalCampaign } from '../../db/outbox/outbox.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { campaignActions } from '../../domain/campaign/campaign.ts';
import { found, Problem, type ProblemCode, problems } from '../../domain/errors.ts';
import type { Project } from '../access/caller.ts';
import { presentCampaign } from './record.ts';

/** Actions that depend on the status of a campaign. */

export type Action = Exclude<keyof typeof campaignActions, 'edit' | 'delete'>;

const refusals: Record<Action, ProblemCode> = {
  send: 'CAMPAIGN_NOT_SENDABLE',
  cancel: 'CAMPAIGN_NOT_CANCELLABLE',
  pause: 'CAMPAIGN_NOT_PAUSABLE',
  resume: 'CAMPAIGN_NOT_RESUMABLE',
  archive: 'CAMPAIGN_NOT_ARCHIVABLE',
};

/** @throws Problem when the action does not fit the campaign's state. */
export function requireState({ status }: CampaignRow, action: Action): void {
  if ((campaignActions[action] as readonly string[]).includes(status)) return;
  const code = refusals[action];
  throw new Problem(code, {
    message: `${problems[code][1]} This one has the status ${status}.`,
    suggestion:
      action === 'send' && status === 'PAUSED'
        ? 'Resume it with POST /campaigns/{id}/resume.'
        : undefined,
    details: { status },
  });
}

/**
 * Changes a campaign if its status allows the action. Signals its run, except for `archive`. The
 * campaign is locked, so a concurrent action sees the status that this one has set.
 * @throws Problem CAMPAIGN_NOT_FOUND, or the problem in `refusals`
 */
export async function act(
  db: Database,
  given: { project: Project; id: string; action: Action },
  change: (tx: Database, row: CampaignRow) => Promise<void>,
) {
  const { project, id, action } = given;
  await transact(db, async (tx) => {
    await holdProject(tx, project.id);
    const row = found('CAMPAIGN', id, await lockCampaign(tx, project.id, id));
    requireState(row, action);
    await change(tx, row);
    if (action !== 'archive') await signalCampaign(tx, row);
  });
  return presentCampaign(
    db,
    found('CAMPAIGN', id, await findCampaign(db, project.id, id)),
    project,
  );
}
