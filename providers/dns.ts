import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import type { DnsAnswers } from '../domain/sender/compare-records.ts';
import type { MailHost } from '../domain/mail/verify-email.ts';

export interface Dns {
  /**
   * Returns the currently published records of a type; empty when the name has no such record or
   * does not exist.
   * @throws DnsError when no resolver answers
   */
  findRecords<T extends keyof DnsAnswers>(type: T, name: string): Promise<DnsAnswers[T]>;
  /**
   * Returns whether a domain can receive mail, from a result that is at most 5 minutes old.
   * @throws DnsError when no resolver answers
   */
  findMailHost(name: string): Promise<MailHost>;
  /**
   * Returns the addresses of a host; empty when the host has no address. Asks DNS directly, because
   * a lookup by the operating system would occupy one of the few threads of this process while a
   * name server is slow.
   * @throws DnsError when no resolver answers
   */
  findAddresses(name: string): Promise<LookupAddress[]>;
}

/**
 * Thrown when no resolver can be reached, or none can answer (SERVFAIL). A later attempt may
 * succeed.
 */
export class DnsError extends Error {
  override readonly name = 'DnsError';
}

export interface DnsSettings {
  /** Resolvers as `ip[:port]`; null: the resolvers of the system. */
  servers: readonly string[] | null;
  /** Timeout of one attempt of one query, in milliseconds. */
  timeoutMs?: number;
}

const triesMax = 2;
const cacheMs = 5 * 60_000;
const cacheMax = 10_000;
/** Error codes that mean a negative answer: no such name, no such record, or an impossible name. */
const absent = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME']);

/** Addresses of `localhost` (RFC 6761, 6.3). */
const loopback = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

export function createDns({ servers, timeoutMs = 3_000 }: DnsSettings): Dns {
  const hosts = new LRUCache<string, Promise<MailHost>>({ max: cacheMax, ttl: cacheMs });

  async function ask<T>(about: string, query: (resolver: Resolver) => Promise<T[]>): Promise<T[]> {
    for (let tried = 1; ; tried += 1) {
      // Each attempt has a new resolver, so nothing is cached and changed system settings take
      // effect. The resolver's own retries are off, because each of them would wait longer than the
      // attempt before it.
      const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
      if (servers) resolver.setServers(servers);
      try {
        return await query(resolver);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        if (absent.has(code)) return [];
        if (tried === triesMax) {
          throw new DnsError(`DNS did not answer the query for ${about}: ${code || String(error)}`);
        }
      }
    }
  }

  const lookups: { [T in keyof DnsAnswers]: (name: string) => Promise<DnsAnswers[T]> } = {
    CNAME: (name) => ask(`CNAME of ${name}`, (resolver) => resolver.resolveCname(name)),
    MX: (name) => ask(`MX of ${name}`, (resolver) => resolver.resolveMx(name)),
    TXT: async (name) =>
      (await ask(`TXT of ${name}`, (resolver) => resolver.resolveTxt(name))).map((t) => t.join('')),
  };

  async function lookUpHost(name: string): Promise<MailHost> {
    const [mx, ipv4, ipv6, ns] = await Promise.all([
      lookups.MX(name),
      ask(`A of ${name}`, (resolver) => resolver.resolve4(name)),
      ask(`AAAA of ${name}`, (resolver) => resolver.resolve6(name)),
      ask(`NS of ${name}`, (resolver) => resolver.resolveNs(name)),
    ]);
    const hasWebsite = ipv4.length + ipv6.length > 0;
    return {
      exists: mx.length + ns.length > 0 || hasWebsite,
      hasWebsite,
      // A single MX record with the name "." means that the domain accepts no mail (RFC 7505).
      hasMx: mx.some(({ exchange }) => exchange !== '' && exchange !== '.'),
    };
  }

  return {
    findRecords: (type, name) => lookups[type](name),
    async findAddresses(name) {
      if (name === 'localhost') return loopback;
      const [ipv4, ipv6] = await Promise.all([
        ask(`A of ${name}`, (resolver) => resolver.resolve4(name)),
        ask(`AAAA of ${name}`, (resolver) => resolver.resolve6(name)),
      ]);
      return [
        ...ipv4.map((address) => ({ address, family: 4 })),
        ...ipv6.map((address) => ({ address, family: 6 })),
      ];
    },
    findMailHost(name) {
      const known = hosts.get(name);
      if (known) return known;
      const host = lookUpHost(name);
      hosts.set(name, host);
      // Failures are not cached.
      host.catch(() => {
        if (hosts.get(name) === host) hosts.delete(name);
      });
      return host;
    },
  };
}
