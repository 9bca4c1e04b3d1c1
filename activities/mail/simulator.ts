import { simulatedFeedback } from '../../domain/mail/feedback.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';

/**
 * Where nobody reports what becomes of mail, addresses at `simulator.test` stand in for it.
 */
export function isSimulated(mailer: Mailer, address: string): boolean {
  return !mailer.reportsDelivery && simulatedFeedback(address, new Date()) !== null;
}
