import type { Services } from '../../api/services/services.ts';
import type { Database } from '../../db/database.ts';
import { createSigner } from '../../providers/encryption.ts';
import { trackingLinks } from '../../domain/links/tracking.ts';

/** Returns the path of a mail's pixel, as in the mail. */
export function pixelOf({ services }: { services: Services }, emailId: string): string {
  const sign = createSigner(services.config.jwtSecret, 'tracking links');
  return trackingLinks('', emailId, sign).pixelUrl;
}

/** Moves the events of a mail into the past. */
export async function ageEvents(db: Database, emailId: string, seconds: number): Promise<void> {
  const events = await db
    .selectFrom('event')
    .select(['id', 'recorded_at'])
    .where('email_id', '=', emailId)
    .execute();
  for (const { id, recorded_at: at } of events) {
    const recordedAt = new Date(at.getTime() - seconds * 1000);
    await db.updateTable('event').set({ recorded_at: recordedAt }).where('id', '=', id).execute();
  }
}
