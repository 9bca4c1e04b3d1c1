import type { Database } from '../../db/database.ts';
import { type IncomingResult, recordIncoming } from '../../db/transactions/mail/incoming.ts';
import type { ReportSource } from '../../domain/mail/feedback.ts';
import { readIncoming } from '../../providers/mail/incoming.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import type { FeedbackQueue } from './feedback-queue.ts';

export interface IncomingServices {
  db: Database;
  feedback: FeedbackQueue;
  returnPaths: ReturnPaths;
}

/** Milliseconds that a report may wait for others, which are then recorded together. */
const maxDelayMs = 100;

/**
 * Takes a message that arrived. Resolves after the commit of its effects.
 * @param recipients of the envelope, in their stored form; null: those in the headers count
 * @throws Problem SERVICE_UNAVAILABLE, or an error of the database: the message should come again
 */
export async function takeIncoming(
  { db, feedback, returnPaths }: IncomingServices,
  source: ReportSource,
  { raw, recipients }: { raw: Buffer; recipients: readonly string[] | null },
): Promise<IncomingResult> {
  const arrivedAt = new Date();
  const message = await readIncoming(raw, recipients);
  const { emailIdOf } = returnPaths;
  return recordIncoming(
    db,
    { emailIdOf, record: (report) => feedback.record(report, maxDelayMs) },
    { ...message, source, arrivedAt },
  );
}
