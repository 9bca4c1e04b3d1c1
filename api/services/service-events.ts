import type { Reporter } from '../../db/transactions/mail/reports.ts';
import { Problem } from '../../domain/errors.ts';
import { receiptOf } from '../../providers/mail/services/read.ts';
import type { ServiceReport } from '../../providers/mail/services/read.ts';
import type { FeedbackQueue } from './feedback-queue.ts';

/**
 * Maximum number of events of one request that are recorded at the same time, so that a large body
 * needs little memory.
 */
const sliceMax = 200;
/**
 * Maximum number of large bodies of one project, or of one provider of the installation, that are
 * recorded at the same time.
 */
const largeMax = 4;
/**
 * Milliseconds for which an event may wait, so that events of several requests are recorded
 * together.
 */
const maxDelayMs = 100;

/** Number of large bodies that are being recorded, by project or provider. */
const largeBodies = new Map<string, number>();

/**
 * Records the events in one request of a mail service. Resolves after the commit of all events.
 * After an error, some events may be recorded. The service then repeats the request, and recording
 * an event again has no effect.
 * @param read returns the report in an event; null: the event contains no report
 * @returns the number of recorded events
 * @throws Problem SERVICE_UNAVAILABLE when too many events are waiting
 */
export async function recordServiceEvents(
  feedback: FeedbackQueue,
  reporter: Reporter,
  events: readonly unknown[],
  read: (event: unknown) => ServiceReport | null,
): Promise<number> {
  return inTurn(reporter.projectId ?? reporter.providerId, events.length, async () => {
    let recorded = 0;
    for (let at = 0; at < events.length; at += sliceMax) {
      const reports = events.slice(at, at + sliceMax).flatMap((event) => read(event) ?? []);
      const answers = await Promise.all(
        reports.map(({ emailId, feedback: what, key }) => {
          const receipt = receiptOf(reporter.providerId, emailId, key);
          const report = { emailId, messageId: null, feedback: [what], acceptedAt: null };
          return feedback.record({ ...report, receipt, takenBy: [reporter] }, maxDelayMs);
        }),
      );
      recorded += answers.filter((answer) => answer === 'recorded').length;
    }
    return recorded;
  });
}

/**
 * Records a body. Refuses a large body of an owner that has `largeMax` other large bodies, because
 * each of them needs memory until it is recorded.
 */
async function inTurn(owner: string, size: number, work: () => Promise<number>): Promise<number> {
  if (size <= sliceMax) return work();
  const others = largeBodies.get(owner) ?? 0;
  if (others >= largeMax) {
    const message = 'Too many events of this mail provider are being recorded.';
    throw new Problem('SERVICE_UNAVAILABLE', { message });
  }
  largeBodies.set(owner, others + 1);
  try {
    return await work();
  } finally {
    const left = largeBodies.get(owner)! - 1;
    if (left > 0) largeBodies.set(owner, left);
    else largeBodies.delete(owner);
  }
}
