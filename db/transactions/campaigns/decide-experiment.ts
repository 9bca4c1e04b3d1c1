import { type CampaignRef, lockCampaign } from '../../campaigns/campaigns.ts';
import { awaitDecision, findExperiment, recordDecision } from '../../campaigns/experiments.ts';
import { type Database, transact } from '../../database.ts';
import { countArms } from '../../reads/experiments/arms.ts';
import { type Experiment, numbersOf, winnerOf } from '../../../domain/experiment/experiment.ts';

/**
 * Decides an experiment whose time has come, or lets it wait for a manual decision. May be
 * repeated: only one decision is recorded. While the campaign is paused, nothing is decided.
 */
export async function decideExperiment(
  db: Database,
  { projectId, campaignId }: CampaignRef,
  experiment: Experiment,
): Promise<void> {
  // Counted before the campaign is locked, because feedback waits for this lock.
  const numbers = numbersOf(await countArms(db, { projectId, campaignId }, experiment));
  const { arm, by } = winnerOf(experiment, numbers);
  await transact(db, async (tx) => {
    const campaign = await lockCampaign(tx, projectId, campaignId);
    if (campaign?.status !== 'SENDING') return;
    const run = await findExperiment(tx, campaignId);
    if (!run || run.decided_at) return;
    if (run.draw) {
      const first = { arm: experiment.arms[0]!.id, by: run.draw, actor: null, numbers };
      await recordDecision(tx, campaignId, first);
    } else if (by === 'metric' || experiment.onTie === 'first') {
      await recordDecision(tx, campaignId, { arm, by, actor: null, numbers });
    } else {
      await awaitDecision(tx, campaignId, by);
    }
  });
}
