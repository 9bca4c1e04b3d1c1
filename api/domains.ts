import { z } from 'zod';
import {
  deleteDomain,
  type DomainRow,
  insertDomain,
  listDomains,
  updateDomainTokens,
} from '../db/domains.ts';
import {
  isReservedName,
  normaliseDomainName,
  recordKey,
  senderRecords,
} from '../domain/domain-name.ts';
import { invalidField, notFound, Problem } from '../domain/errors.ts';
import { authorizeProject } from './auth.ts';
import { endpoint, type Services } from './endpoint.ts';
import { fault, Time, time, Uuid } from './schemas.ts';

const Status = z.enum(['pending', 'verified', 'failed']);

const Domain = z.object({
  id: z.uuid(),
  domain: z.string(),
  status: Status,
  verified: z.boolean(),
  dkimTokens: z.array(z.string()),
  records: z.array(
    z.object({
      type: z.enum(['CNAME', 'MX', 'TXT']),
      name: z.string(),
      value: z.string(),
      priority: z.int().optional(),
      purpose: z.enum(['dkim', 'mail_from', 'spf', 'dmarc']),
      status: Status,
    }),
  ),
  lastCheckedAt: Time.nullable(),
  verifiedAt: Time.nullable(),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

const DomainName = z
  .string()
  .min(3)
  .max(253)
  .transform((text, context) => {
    const name = normaliseDomainName(text);
    if (name !== null) return name;
    context.addIssue({
      code: 'custom',
      ...fault('invalid_string', 'Must be a host name with a dot, such as mail.example.com.'),
    });
    return z.NEVER;
  });

const listProjectDomains = endpoint({
  id: 'listProjectDomains',
  method: 'GET',
  path: '/domains/project/{projectId}',
  tag: 'Domains',
  summary: 'List the sender domains of a project',
  access: 'project',
  projectParam: 'projectId',
  params: z.object({ projectId: Uuid }),
  response: z.array(Domain),
  problems: ['PROJECT_NOT_FOUND'],
  async handle({ db, config, caller, params }) {
    await authorizeProject({ db, caller }, params.projectId);
    const rows = await listDomains(db, params.projectId);
    return rows.map((row) => presentDomain(row, config));
  },
});

const createDomain = endpoint({
  id: 'createDomain',
  method: 'POST',
  path: '/domains',
  tag: 'Domains',
  summary: 'Add a sender domain',
  access: 'project',
  status: 201,
  body: z.object({
    domain: DomainName,
    projectId: Uuid.optional().meta({ description: 'Required without a secret key' }),
  }),
  response: Domain,
  problems: [
    'PROJECT_NOT_FOUND',
    'INSUFFICIENT_ROLE',
    'PROJECT_DISABLED',
    'DOMAIN_EXISTS',
    'SERVICE_UNAVAILABLE',
  ],
  example: { body: { domain: 'shop.example.com' } },
  async handle(call) {
    const { db, config, caller, body } = call;
    const projectId = body.projectId ?? (caller.kind === 'project' ? caller.projectId : undefined);
    if (!projectId) throw invalidField('projectId', 'invalid_type', 'Is required.', 'undefined');
    await authorizeProject({ db, caller }, projectId, { admin: true, write: true });
    // The name is taken first: who loses the race for it never talks to the mail provider, whose
    // record of the domain is the winner's.
    const taken = await insertDomain(db, { projectId, name: body.domain });
    if (!taken) throw new Problem('DOMAIN_EXISTS', { details: { domain: body.domain } });
    const row = await registerDomain(call, taken.id, body.domain);
    if (!row) throw notFound('PROJECT', projectId);
    return presentDomain(row, config);
  },
});

export const domainEndpoints = [listProjectDomains, createDomain];

/**
 * Makes a taken name known to the mail provider and completes its row, or undoes both.
 * Answers undefined when the row went away meanwhile, with its project.
 */
async function registerDomain(
  { db, config, identities, log }: Services,
  id: string,
  name: string,
): Promise<DomainRow | undefined> {
  const forget = () =>
    identities
      .remove(name)
      .catch((error: unknown) => log.warn({ error, domain: name }, 'identity not removed'));
  try {
    const { dkimTokens } = await identities.create(name);
    const verified = identities.mode === 'local' && isReservedName(name);
    const records = senderRecords(name, dkimTokens, dnsSettings(config));
    const recordStatuses = Object.fromEntries(
      records.map((record) => [recordKey(record), verified ? 'verified' : 'pending'] as const),
    );
    const row = await updateDomainTokens(db, id, { dkimTokens, recordStatuses, verified });
    if (!row) await forget();
    return row;
  } catch (error) {
    log.error({ error, domain: name }, 'domain not registered');
    await forget();
    await deleteDomain(db, id);
    throw new Problem('SERVICE_UNAVAILABLE', { message: 'The mail provider did not answer.' });
  }
}

function presentDomain(row: DomainRow, config: Services['config']) {
  return {
    id: row.id,
    domain: row.name,
    status: row.status,
    verified: row.status === 'verified',
    dkimTokens: row.dkim_tokens,
    records: senderRecords(row.name, row.dkim_tokens, dnsSettings(config)).map((record) => ({
      ...record,
      status: row.record_statuses[recordKey(record)] ?? 'pending',
    })),
    lastCheckedAt: time(row.last_checked_at),
    verifiedAt: time(row.verified_at),
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

function dnsSettings({ mail }: Services['config']) {
  return {
    dkimTargetHost: mail.dkimTargetHost,
    mailFromSubdomain: mail.mailFromSubdomain,
    // Local mode has no region; its records are never looked up in earnest.
    region: mail.ses?.region ?? 'us-east-1',
  };
}
