import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { domainOf } from '../../domain/email-address.ts';
import type { ReceiverHandler } from '../../providers/receiver.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import { type IncomingServices, takeIncoming } from './incoming-mail.ts';

/** Mailboxes that every mail domain has (RFC 5321, 4.5.1; RFC 2142), and that of complaints. */
const commonMailboxes = new Set(['postmaster', 'abuse', 'fbl']);

/** Decides which mail the SMTP receiver takes, and hands it on. */
export function receiverHandler(
  services: IncomingServices & { config: Config; log: Logger; returnPaths: ReturnPaths },
): ReceiverHandler {
  const { config, log, returnPaths } = services;
  return {
    async takes(address) {
      if (returnPaths.emailIdOf(address) !== null) return true;
      const mailbox = address.slice(0, address.lastIndexOf('@'));
      return commonMailboxes.has(mailbox) && domainOf(address) === config.mail.returnPathDomain;
    },
    async take(message) {
      await takeIncoming(services, 'smtp', message);
    },
    onError: (error) => log.warn({ error }, 'a message could not be taken now; it comes again'),
  };
}
