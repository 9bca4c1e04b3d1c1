import { z } from 'zod';
import { claimOf, type DomainRow, trackingHostOf } from '../../db/domains/domains.ts';
import type { RecordState } from '../../domain/sender/compare-records.ts';
import { allRight, countsAsFound } from '../../domain/sender/domain-check.ts';
import {
  type DnsRecord,
  type DomainClaim,
  recordKey,
  recordPurposes,
  stringsOf,
  zoneLine,
} from '../../domain/sender/sender-records.ts';
import type { Config } from '../../config.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, Time } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import type { Services } from '../services/services.ts';

const Status = z.enum(['pending', 'verified', 'failed']);
const SigningKind = z.enum(['own', 'provider']);

/** Fields of a domain that a request may set. */
export const domainFields = {
  signing: SigningKind.optional().meta({
    description: 'own: Everpost signs (DKIM). provider: the server that takes the mail does',
  }),
  ed25519: z
    .boolean()
    .optional()
    .describe('Also sign by Ed25519 (RFC 8463), as soon as DNS shows that key; only with `own`'),
  inbound: z
    .boolean()
    .optional()
    .describe('Take ordinary mail to addresses of this domain, once it is verified'),
};

export type DomainFields = z.output<z.ZodObject<typeof domainFields>>;

const DomainRecord = z.object({
  type: z.enum(['CNAME', 'MX', 'TXT']),
  name: z.string(),
  value: z.string(),
  priority: z.int().optional(),
  strings: z
    .array(z.string())
    .optional()
    .describe('The strings of `value`, if the record is of type TXT'),
  zoneLine: z.string().describe('The record as a line of a zone file'),
  purpose: z.enum(recordPurposes),
  needed: z.boolean().describe('True if the domain is verified only with this record'),
  status: Status.describe('As of the last check: not found, right, or something else found'),
  found: z.array(z.string()).describe('The values that DNS has instead of the right one'),
  removeAfter: Time.optional().describe('The time until which a `dkim_old` record must be kept'),
});

const Dkim = z.object({
  selector: z.string().describe('The selector of the key that signs'),
  activeSince: Time.nullable().describe('When DNS first showed it; null: mail is not signed yet'),
  next: z.object({ selector: z.string(), createdAt: Time }).nullable(),
  previous: z.object({ selector: z.string(), removeAfter: Time }).nullable(),
});

const Tracking = z.object({
  host: z.string(),
  status: Status.describe('State of its record, as of the last check'),
});

export const Domain = named('Domain', {
  id: z.uuid().meta({ examples: ['e2000000-0000-4000-8000-000000000001'] }),
  domain: z.string().meta({ examples: ['shop.example.com'] }),
  status: Status,
  verified: z.boolean(),
  dkimTokens: z.array(z.string()).meta({ examples: [['q2w3e4r5t6']] }),
  signing: domainFields.signing,
  ed25519: z.boolean().optional(),
  inbound: z.boolean().optional().describe('Ordinary mail to its addresses is taken'),
  dkim: Dkim.nullable().optional().describe('The keys; null if the provider signs'),
  returnPath: z
    .string()
    .nullable()
    .optional()
    .describe('Host to which other servers report about mail of this domain; null: none'),
  tracking: Tracking.optional().describe('The host of the links in its mail, if it has its own'),
  records: z.array(DomainRecord),
  lastCheckedAt: Time.nullable(),
  verifiedAt: Time.nullable(),
  ...ofProject,
});

export function presentDomain(
  row: DomainRow,
  { publicId: projectId }: OwnerProject,
  { identities, config }: Pick<Services, 'identities' | 'config'>,
) {
  const claim = claimOf(row);
  const signing = identities.signingOf(row);
  const isFound = countsAsFound(row.name, identities);
  const records = identities
    .dnsRecords(claim)
    .map((record) =>
      presentRecord(
        record,
        isFound && record.purpose !== 'tracking'
          ? allRight
          : (row.record_states[recordKey(record)] ?? notFoundYet),
      ),
    );
  return present(Domain, row, {
    projectId,
    domain: row.name,
    verified: row.status === 'verified',
    dkimTokens: identities.keepsDomains || signing === null ? row.dkim_tokens : [],
    signing: signing ?? undefined,
    ed25519: signing === null ? undefined : row.ed25519,
    inbound: signing === null && !row.inbound ? undefined : row.inbound,
    dkim: signing === null ? undefined : signing === 'own' ? presentKeys(claim) : null,
    returnPath: signing === null ? undefined : returnPathOf(row.name, records, config.mail),
    tracking: trackingOf(row, records),
    records,
  });
}

function trackingOf(
  row: DomainRow,
  records: readonly z.input<typeof DomainRecord>[],
): z.input<typeof Tracking> | undefined {
  const host = trackingHostOf(row);
  const record = records.find(({ purpose }) => purpose === 'tracking');
  return host === null ? undefined : { host, status: record?.status ?? 'pending' };
}

const notFoundYet: RecordState = { status: 'pending', found: [] };

function presentRecord(
  record: DnsRecord,
  { status, found }: RecordState,
): z.input<typeof DomainRecord> {
  const { type, name, value, priority, purpose, isNeeded, wasNeeded, removeAfter } = record;
  return {
    type,
    name,
    value,
    ...(priority !== undefined && { priority }),
    ...(type === 'TXT' && { strings: stringsOf(value) }),
    zoneLine: zoneLine(record),
    purpose,
    needed: isNeeded === true || wasNeeded === true,
    status,
    found,
    ...(removeAfter && { removeAfter: removeAfter.toISOString() }),
  };
}

function presentKeys({ keys }: DomainClaim): z.input<typeof Dkim> | null {
  const inState = (wanted: string) => keys.find(({ state }) => state === wanted);
  const [current, next, previous] = [inState('current'), inState('next'), inState('previous')];
  if (!current) return null;
  return {
    selector: current.selector,
    activeSince: current.seenAt?.toISOString() ?? null,
    next: next ? { selector: next.selector, createdAt: next.createdAt.toISOString() } : null,
    previous: previous?.removeAfter
      ? { selector: previous.selector, removeAfter: previous.removeAfter.toISOString() }
      : null,
  };
}

/**
 * Returns the host of the return path: a host of the domain if its MX record is verified, otherwise
 * the host of the server.
 */
function returnPathOf(
  domain: string,
  records: readonly { purpose: string; status: string }[],
  { returnPath, returnPathDomain }: Config['mail'],
): string | null {
  const isFound = records.some(
    ({ purpose, status }) => purpose === 'return_path' && status === 'verified',
  );
  return isFound ? `${returnPath.subdomain}.${domain}` : returnPathDomain;
}

/**
 * Example for the documentation, shortened: a domain has several DKIM records, and one record for
 * each other purpose.
 */
export const domainExample: z.input<typeof Domain> = {
  ...exampleOf(Domain),
  records: [
    {
      type: 'CNAME',
      name: 'q2w3e4r5t6._domainkey.shop.example.com',
      value: 'q2w3e4r5t6.dkim.amazonses.com',
      zoneLine:
        'q2w3e4r5t6._domainkey.shop.example.com. 3600 IN CNAME q2w3e4r5t6.dkim.amazonses.com.',
      purpose: 'dkim',
      needed: true,
      status: 'pending',
      found: [],
    },
    {
      type: 'TXT',
      name: '_everpost.shop.example.com',
      value: 'everpost-verification=5f0c1d1f6c0e4b0f9d5a3a7b1c2d3e4f',
      strings: ['everpost-verification=5f0c1d1f6c0e4b0f9d5a3a7b1c2d3e4f'],
      zoneLine:
        '_everpost.shop.example.com. 3600 IN TXT "everpost-verification=5f0c1d1f6c0e4b0f9d5a3a7b1c2d3e4f"',
      purpose: 'ownership',
      needed: true,
      status: 'pending',
      found: [],
    },
  ],
};
