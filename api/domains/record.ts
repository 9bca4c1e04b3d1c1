import { z } from 'zod';
import { claimOf, type DomainRow } from '../../db/domains/domains.ts';
import { recordKey } from '../../domain/sender/domain-name.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, Time } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import type { Services } from '../services/services.ts';

const Status = z.enum(['pending', 'verified', 'failed']);

export const Domain = named('Domain', {
  id: z.uuid().meta({ examples: ['e2000000-0000-4000-8000-000000000001'] }),
  domain: z.string().meta({ examples: ['shop.example.com'] }),
  status: Status,
  verified: z.boolean(),
  dkimTokens: z.array(z.string()).meta({ examples: [['q2w3e4r5t6']] }),
  records: z.array(
    z.object({
      type: z.enum(['CNAME', 'MX', 'TXT']),
      name: z.string(),
      value: z.string(),
      priority: z.int().optional(),
      purpose: z.enum(['dkim', 'ownership', 'mail_from', 'spf', 'dmarc']).meta({
        description:
          'Only dkim and ownership decide the status of the domain; ownership exists only with Amazon SES',
      }),
      status: Status,
    }),
  ),
  lastCheckedAt: Time.nullable(),
  verifiedAt: Time.nullable(),
  ...ofProject,
});

export function presentDomain(
  row: DomainRow,
  { publicId: projectId }: OwnerProject,
  identities: Services['identities'],
) {
  return present(Domain, row, {
    projectId,
    domain: row.name,
    verified: row.status === 'verified',
    records: identities.dnsRecords(claimOf(row)).map((record) => ({
      ...record,
      status: row.record_statuses[recordKey(record)] ?? 'pending',
    })),
  });
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
      purpose: 'dkim',
      status: 'pending',
    },
    {
      type: 'TXT',
      name: '_everpost.shop.example.com',
      value: 'everpost-verification=5f0c1d1f6c0e4b0f9d5a3a7b1c2d3e4f',
      purpose: 'ownership',
      status: 'pending',
    },
  ],
};
