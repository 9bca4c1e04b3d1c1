import { findSenderDomain } from '../../db/domains/domains.ts';
import type { Database } from '../../db/database.ts';
import { domainOf } from '../../domain/mail/email-address.ts';
import { Problem } from '../../domain/errors.ts';

/**
 * Allows a project to send only from its own verified domains. `email` is an address in its stored
 * form.
 * @throws Problem DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED.
 */
export async function requireVerifiedSender(
  db: Database,
  projectId: string,
  email: string,
): Promise<void> {
  const name = domainOf(email);
  const domain = await findSenderDomain(db, projectId, name);
  if (!domain) throw new Problem('DOMAIN_NOT_REGISTERED', { details: { domain: name } });
  if (domain.status !== 'verified') {
    throw new Problem('DOMAIN_NOT_VERIFIED', { details: { domain: name } });
  }
}
