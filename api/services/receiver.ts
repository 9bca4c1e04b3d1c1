import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { hasReturnPath, takesMail } from '../../db/domains/domains.ts';
import { domainOf } from '../../domain/email-address.ts';
import { recordKey } from '../../domain/sender/sender-records.ts';
import type { ReceiverHandler } from '../../providers/receiver.ts';
import { type IncomingServices, takeIncoming } from './incoming-mail.ts';

/** Mailboxes that every mail domain has (RFC 5321, 4.5.1; RFC 2142), and `fbl` for complaints. */
const commonMailboxes = new Set(['postmaster', 'abuse', 'fbl']);

/** Decides which mail the SMTP receiver accepts, and processes accepted mail. */
export function receiverHandler(
  services: IncomingServices & { config: Config; log: Logger },
): ReceiverHandler {
  const { config, db, log, returnPaths } = services;
  return {
    async takes(address) {
      if (returnPaths.emailIdOf(address) !== null) return true;
      const mailbox = address.slice(0, address.lastIndexOf('@'));
      const domain = domainOf(address);
      const isCommon =
        commonMailboxes.has(mailbox) && (await takesReports(db, config.mail, domain));
      return isCommon || takesMail(db, domain);
    },
    async take(message) {
      await takeIncoming(services, 'smtp', message);
    },
    onError: (error) => log.warn({ error }, 'a message could not be taken now; it comes again'),
  };
}

/**
 * Returns true if a domain is a return path: the return path of the server, or of a project's
 * domain.
 */
async function takesReports(
  db: IncomingServices['db'],
  { returnPathDomain, returnPath: { host, subdomain } }: Config['mail'],
  domain: string,
): Promise<boolean> {
  if (domain === returnPathDomain || domain === host) return true;
  const isOwn = host !== null && domain.startsWith(`${subdomain}.`);
  const sender = domain.slice(subdomain.length + 1);
  return isOwn && hasReturnPath(db, sender, recordKey({ type: 'MX', name: domain }));
}
