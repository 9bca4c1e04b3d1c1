import type { Database } from '../db/database.ts';
import {
  findDomain,
  findDomainDue,
  postponeDomainCheck,
  recordDomainCheck,
  withFreeName,
} from '../db/domains.ts';
import { type DomainStatus, inspectDomain } from '../domain/domain-check.ts';
import type { DnsSettings } from '../domain/domain-name.ts';
import type { Dns } from '../providers/dns.ts';
import type { Identities } from '../providers/identities.ts';

export interface DomainActivities {
  /**
   * Makes the regular check of a domain if it is due. Answers its state and when the next one is,
   * in milliseconds from now (null: never); null when the domain is gone.
   */
  CHECK_DOMAIN(domainId: string): Promise<{ status: DomainStatus; dueMs: number | null } | null>;
  /** Has the mail provider forget a domain that nobody has any more. */
  FORGET_DOMAIN(name: string): Promise<void>;
}

export interface DomainServices {
  db: Database;
  dns: Dns;
  identities: Identities;
  /** What the DNS records of a sender domain point to. */
  domainRecords: DnsSettings;
  log: { warn(details: object, message: string): void };
}

export function createDomainActivities(services: DomainServices): DomainActivities {
  const { db, identities, domainRecords, log } = services;
  return {
    async CHECK_DOMAIN(domainId) {
      const due = await findDomainDue(db, domainId);
      if (!due) return null;
      if (due.dueMs !== 0) return due;
      const domain = await findDomain(db, domainId);
      if (!domain) return null;
      const { name, dkim_tokens: dkimTokens } = domain;
      try {
        const finding = await inspectDomain({ name, dkimTokens }, domainRecords, services);
        await recordDomainCheck(db, domainId, finding, { isScheduled: true });
      } catch (error) {
        // Who does not answer says nothing about the domain.
        log.warn({ error, domainId }, 'A domain could not be checked; the next try is in minutes');
        await postponeDomainCheck(db, domainId);
      }
      return (await findDomainDue(db, domainId)) ?? null;
    },
    FORGET_DOMAIN: (name) => withFreeName(db, name, () => identities.remove(name)),
  };
}
