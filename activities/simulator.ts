import type { Database } from '../db/database.ts';
import { recordFeedback } from '../db/feedback.ts';
import type { Settlement } from '../db/settlements.ts';
import { simulatedFeedback } from '../domain/feedback.ts';
import type { Mailer } from '../providers/mailer.ts';
import type { Dispatcher } from '../workflows/dispatcher.ts';

/**
 * Without a provider there is nobody to report what becomes of mail; addresses at `simulator.test`
 * stand in for it.
 */
export function isSimulated(mailer: Mailer, address: string): boolean {
  return mailer.mode !== 'ses' && simulatedFeedback(address, new Date()) !== null;
}

/** Reports on the accepted messages of an attempt, once that is recorded. */
export async function simulateFeedback(
  { db, mailer, dispatcher }: { db: Database; mailer: Mailer; dispatcher: Dispatcher },
  emails: readonly { id: string; to_email: string }[],
  settlements: readonly Settlement[],
): Promise<void> {
  if (mailer.mode === 'ses') return;
  const accepted = new Set(
    settlements.filter(({ kind }) => kind === 'accepted').map(({ emailId }) => emailId),
  );
  for (const { id, to_email: address } of emails) {
    if (!accepted.has(id)) continue;
    for (const feedback of simulatedFeedback(address, new Date()) ?? []) {
      const message = { emailId: id, messageId: null };
      const given = { message, feedback, acceptedAt: null, autoDisable: false };
      const due = await db.transaction().execute((tx) => recordFeedback(tx, given));
      if (due) dispatcher.dispatch(due);
    }
  }
}
