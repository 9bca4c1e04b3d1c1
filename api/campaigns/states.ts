import { type CampaignRow, findCampaign, lockCampaign } from '../../db/campaigns/campaigns.ts';
import { type Database, transact } from '../../db/database.ts';
import { signalCampaign } from '../../db/outbox/outbox.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { campaignActions } from '../../domain/campaign/campaign.ts';
import { found, Problem, type ProblemCode, problems } from '../../domain/errors.ts';
import type { SecurityEventName } from '../../db/accounts/security-events.ts';
import type { Call } from '../http/endpoint.ts';
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

/**
 * Requires a state that allows the action.
 * @throws Problem with the reason
 */
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

/** Advice for an unsent campaign, by its status. */
const nextSteps: Readonly<Record<string, string>> = {
  DRAFT: 'Send it with POST /campaigns/{id}/send.',
  PAUSED: 'Resume it with POST /campaigns/{id}/resume.',
  CANCELLED: 'Duplicate it with POST /campaigns/{id}/duplicate, and send the copy.',
};

/**
 * Returns the error for a campaign that is not finished.
 * @param rule a sentence that says which campaigns are allowed
 */
export function notFinished({ status }: CampaignRow, rule: string): Problem {
  return new Problem('CAMPAIGN_NOT_FINISHED', {
    message: `${rule} This one has the status ${status}.`,
    suggestion: nextSteps[status],
    details: { status },
  });
}

/**
 * Changes a campaign if its status allows the action, and notes the event. Signals the run of the
 * campaign, except for `archive`. The campaign is locked, so a concurrent action sees the new
 * status.
 * @param given.isDone true: the campaign already has the wanted state, so nothing is changed or
 * noted
 * @throws Problem CAMPAIGN_NOT_FOUND, or the problem in `refusals`
 */
export async function act(
  {
    db,
    note,
    caller: { project },
  }: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note' | 'caller'>,
  given: {
    id: string;
    action: Action;
    event: SecurityEventName;
    isDone?: (row: CampaignRow) => boolean;
  },
  change: (tx: Database, row: CampaignRow) => Promise<void>,
) {
  const { id, action, event } = given;
  await transact(db, async (tx) => {
    await holdProject(tx, project.id);
    const row = found('CAMPAIGN', id, await lockCampaign(tx, project.id, id));
    requireState(row, action);
    if (given.isDone?.(row)) return;
    await change(tx, row);
    await note({ event, projectId: project.id, target: { type: 'campaign', id } }, tx);
    if (action !== 'archive') await signalCampaign(tx, row);
  });
  return presentCampaign(
    db,
    found('CAMPAIGN', id, await findCampaign(db, project.id, id)),
    project,
  );
}
