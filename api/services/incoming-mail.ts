import { type Database, transact } from '../../db/database.ts';
import type { Shares } from '../../db/shares.ts';
import { type IncomingResult, recordIncoming } from '../../db/transactions/mail/incoming.ts';
import type { ReportedMail } from '../../db/transactions/mail/reports.ts';
import type { ReportSource } from '../../domain/mail/feedback.ts';
import { type RawMessage, readIncoming } from '../../providers/mail/incoming.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import type { FeedbackQueue } from './feedback-queue.ts';
import type { SharedLookup } from './shared-lookup.ts';

export interface IncomingServices {
  db: Database;
  shares: Shares;
  feedback: FeedbackQueue;
  returnPaths: ReturnPaths;
  reportedMails: SharedLookup<string, ReportedMail>;
}

/** Milliseconds for which a report may wait, so that several reports are recorded together. */
const maxDelayMs = 100;

/**
 * Processes a message that arrived by SMTP or by the MIME webhook (`source`). Returns after the
 * commit of its effects.
 * @throws Problem SERVICE_UNAVAILABLE, or an error of the database: the sender must send the
 * message again
 */
export async function takeIncoming(
  { db, shares, feedback, returnPaths, reportedMails }: IncomingServices,
  source: ReportSource,
  given: RawMessage,
): Promise<IncomingResult> {
  const message = await readIncoming(given);
  const { emailIdOf } = returnPaths;
  return recordIncoming(
    db,
    {
      emailIdOf,
      mailOf: (emailId) => reportedMails.find(emailId),
      record: (report) => feedback.record(report, maxDelayMs),
      transactFor: (projectId, work) => shares.within(projectId, (own) => transact(own, work)),
    },
    { ...message, source },
  );
}
