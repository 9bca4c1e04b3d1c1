import { isDeepStrictEqual } from 'node:util';
import type { CampaignRow } from '../../db/campaigns/campaigns.ts';
import type { Database } from '../../db/database.ts';
import { audienceOf, countAudience, kindOf } from '../../db/reads/audience.ts';

/** An audience is counted before its campaign is locked, because counting may take 20 seconds. */

/**
 * Counts the recipients of a campaign.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export function countRecipients(
  db: Database,
  projectId: string,
  row: Parameters<typeof audienceOf>[0] & Parameters<typeof kindOf>[0],
): Promise<number> {
  return countAudience(db, projectId, audienceOf(row), kindOf(row));
}

/** Thrown when the audience has changed since it was counted. */
class AudienceChanged extends Error {}

/**
 * Requires that the audience of the locked campaign is the counted audience.
 * @throws AudienceChanged, after which `recounting` repeats its work
 */
export function requireCounted(counted: CampaignRow, locked: CampaignRow): void {
  const same = [counted, locked].map((row) => [audienceOf(row), kindOf(row)]);
  if (!isDeepStrictEqual(same[0], same[1])) throw new AudienceChanged();
}

/**
 * Does work that counts an audience and then changes its campaign. Repeats the work as often as
 * another request changes the audience in between.
 */
export async function recounting<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AudienceChanged)) throw error;
    }
  }
}
