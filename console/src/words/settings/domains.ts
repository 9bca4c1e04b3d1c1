import type { Domain } from '../../api/api.ts';
import type { Tone } from '../tone.ts';

type DnsRecord = Domain['records'][number];

/** States of sender domains in words. */
export const domainStates: Record<Domain['status'], { text: string; tone: Tone }> = {
  pending: { text: 'Waits for DNS', tone: 'warning' },
  verified: { text: 'Verified', tone: 'good' },
  failed: { text: 'Not verified', tone: 'bad' },
};

/** The consequence of the state of a domain for its mail. */
export const domainSentences: Record<Domain['status'], string> = {
  pending: 'No mail can be sent from it yet. The records are looked for every 5 minutes.',
  verified: 'Mail can be sent from all addresses of it.',
  failed: 'No mail can be sent from it. Correct the records, then check again.',
};

/** States of DNS records in words. */
export const recordStates: Record<DnsRecord['status'], { text: string; tone: Tone }> = {
  pending: { text: 'Not found', tone: 'neutral' },
  verified: { text: 'Found', tone: 'good' },
  failed: { text: 'Has another value', tone: 'bad' },
};

/** Purposes of DNS records in words. */
export const purposes: Record<DnsRecord['purpose'], string> = {
  dkim: 'Signature (DKIM)',
  dkim_ed25519: 'Second signature (Ed25519)',
  dkim_next: 'Next key of the signature',
  dkim_old: 'Last key of the signature',
  ownership: 'Proof that the domain is yours',
  mail_from: 'Return path',
  return_path: 'Return path for bounces',
  spf: 'Allowed senders (SPF)',
  dmarc: 'Policy for receivers (DMARC)',
  inbound: 'Mail to this domain',
  tracking: 'Links and opens',
};

/** The signers of a domain's mail. */
export const signers: Record<NonNullable<Domain['signing']>, string> = {
  own: 'Everpost',
  provider: 'The mail provider',
};
