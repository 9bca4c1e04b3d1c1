import { simulatedFeedback } from '../../domain/mail/feedback.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';

/** Where the provider reports no deliveries, addresses at `simulator.test` simulate the reports. */
export function isSimulated(mailer: Mailer, address: string): boolean {
  return !mailer.reportsDelivery && simulatedFeedback(address, new Date()) !== null;
}
