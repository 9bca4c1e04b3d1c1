import type { DnsServer } from './dns-server.ts';

/** A sender domain as the API returns it. */
export interface AnsweredDomain {
  id: string;
  domain: string;
  status: string;
  dkimTokens: string[];
  records: { type: string; name: string; value: string; purpose: string; status: string }[];
}

/** Returns the value of the ownership record that a domain needs. */
export const ownershipOf = ({ records }: AnsweredDomain) =>
  records.find(({ purpose }) => purpose === 'ownership')?.value ?? '';

/** Publishes the DKIM records of a domain. `wrong`: indexes of records that get a wrong value. */
export function publishDkim(dns: DnsServer, { records }: AnsweredDomain, ...wrong: number[]): void {
  for (const [index, { name, value }] of records
    .filter(({ purpose }) => purpose === 'dkim')
    .entries()) {
    dns.publish(name, 'CNAME', wrong.includes(index) ? 'elsewhere.test' : value);
  }
}

/** Publishes the ownership records of these domains with the same name, in place of all others. */
export function publishOwnership(dns: DnsServer, ...claims: AnsweredDomain[]): void {
  dns.publish(`_everpost.${claims[0]?.domain}`, 'TXT', ...claims.map(ownershipOf));
}
