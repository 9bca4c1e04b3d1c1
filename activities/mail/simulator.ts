import { simulatedFeedback } from '../../domain/mail/feedback.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';

/**
 * Without a provider there is nobody to report what becomes of mail; addresses at `simulator.test`
 * stand in for it.
 */
export function isSimulated(mailer: Mailer, address: string): boolean {
  return mailer.mode !== 'ses' && simulatedFeedback(address, new Date()) !== null;
}
