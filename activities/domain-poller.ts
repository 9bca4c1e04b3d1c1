import type { Database } from '../db/database.ts';
import { findDomainDue, postponeDomainCheck, recordDomainCheck } from '../db/domains/checks.ts';
import { claimOf, deleteOverdueDomain, findDomain } from '../db/domains/domains.ts';
import { forgetUnclaimedIdentity } from '../db/domains/ses-identities.ts';
import { type DomainStatus, inspectDomain } from '../domain/sender/domain-check.ts';
import type { Dns } from '../providers/dns.ts';
import type { Identities } from '../providers/mail/identities.ts';

export type DomainActivities = ReturnType<typeof createDomainActivities>;

export interface DomainServices {
  db: Database;
  dns: Dns;
  identities: Identities;
  /** Domain of the platform's own sender address; null: the platform sends no mail. */
  platformDomain: string | null;
  log: { warn(details: object, message: string): void };
}

export function createDomainActivities(services: DomainServices) {
  const { db, identities, platformDomain, log } = services;
  return {
    /**
     * Checks a domain if its regular check is due. Returns the state of the domain and the
     * milliseconds until the next check (null: never); null when the domain was deleted.
     */
    async CHECK_DOMAIN(
      domainId: string,
    ): Promise<{ status: DomainStatus; dueMs: number | null } | null> {
      const due = await findDomainDue(db, domainId);
      if (!due) return null;
      if (due.dueMs !== 0) return due;
      const domain = await findDomain(db, domainId);
      if (!domain) {
        await deleteOverdueDomain(db, domainId);
        return (await findDomainDue(db, domainId)) ?? null;
      }
      try {
        const finding = await inspectDomain(claimOf(domain), services);
        // If the domain has changed during the check, the result is not recorded, and the check is
        // still due.
        await recordDomainCheck(db, domain, finding, { isScheduled: true });
      } catch (error) {
        // A DNS error proves nothing about the domain.
        log.warn(
          { error, domainId },
          'The DNS records of a domain could not be checked; they are checked again in some minutes',
        );
        await postponeDomainCheck(db, domainId);
      }
      return (await findDomainDue(db, domainId)) ?? null;
    },
    /**
     * Removes a domain at the mail provider, if no project claims it and this server created it
     * there.
     */
    async FORGET_DOMAIN(name: string): Promise<void> {
      // The platform itself sends from this domain, which a project had claimed before, so the
      // domain stays.
      if (name === platformDomain) return;
      await forgetUnclaimedIdentity(db, name, () => identities.remove(name));
    },
  };
}
