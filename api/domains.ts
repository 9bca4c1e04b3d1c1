import { z } from 'zod';
import {
  deleteDomain,
  deleteDomains,
  type DomainRow,
  findDomain,
  insertDomain,
  listDomains,
  listDomainUsers,
  recordDomainCheck,
  updateDomainTokens,
} from '../db/domains.ts';
import { inspectDomain } from '../domain/domain-check.ts';
import {
  isReservedName,
  normaliseDomainName,
  recordKey,
  senderRecords,
} from '../domain/domain-name.ts';
import { found, invalidField, notFound, Problem } from '../domain/errors.ts';
import { DnsError } from '../providers/dns.ts';
import { IdentityProviderError } from '../providers/identities.ts';
import { authorizeProject, type CallerOf } from './auth.ts';
import { endpoint, type Services } from './endpoint.ts';
import { fault, Time, time, Uuid } from './schemas.ts';
import { transact } from '../db/transaction.ts';

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

/** For the documentation; a domain has three DKIM records and one each of MX, SPF and DMARC. */
const example: z.input<typeof Domain> = {
  id: 'e2000000-0000-4000-8000-000000000001',
  domain: 'shop.example.com',
  status: 'pending',
  verified: false,
  dkimTokens: ['q2w3e4r5t6'],
  records: [
    {
      type: 'CNAME',
      name: 'q2w3e4r5t6._domainkey.shop.example.com',
      value: 'q2w3e4r5t6.dkim.amazonses.com',
      purpose: 'dkim',
      status: 'pending',
    },
  ],
  lastCheckedAt: null,
  verifiedAt: null,
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

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
  example: { response: [example] },
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
  example: { body: { domain: 'shop.example.com' }, response: example },
  async handle(call) {
    const { db, config, caller, body } = call;
    const named = body.projectId ?? (caller.kind === 'project' ? caller.projectId : undefined);
    if (!named) throw invalidField('projectId', 'invalid_type', 'Is required.', 'undefined');
    const needs = { admin: true, write: true };
    const { projectId } = await authorizeProject({ db, caller }, named, needs);
    // The name is taken first: who loses the race for it never talks to the mail provider, whose
    // record of the domain is the winner's.
    const taken = await insertDomain(db, { projectId, name: body.domain });
    if (!taken) throw new Problem('DOMAIN_EXISTS', { details: { domain: body.domain } });
    const row = await registerDomain(call, taken.id, body.domain);
    if (!row) throw notFound('PROJECT', projectId);
    return presentDomain(row, config);
  },
});

const verifyDomain = endpoint({
  id: 'verifyDomain',
  method: 'GET',
  path: '/domains/{id}/verify',
  tag: 'Domains',
  summary: 'Check the DNS records of a sender domain now',
  access: 'project',
  params: z.object({ id: Uuid }),
  response: Domain.extend({
    tokens: z.array(z.string()).meta({ description: 'The same as dkimTokens' }),
  }),
  problems: ['DOMAIN_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  example: { response: { ...example, tokens: example.dkimTokens } },
  async handle(call) {
    const { config, dispatcher, params } = call;
    const domain = await requireDomain(call, params.id);
    const checked = await checkNow(call, domain);
    const { row, runId } = found('DOMAIN', params.id, checked);
    if (runId) dispatcher.dispatch({ runs: [runId] });
    return { ...presentDomain(row, config), tokens: row.dkim_tokens };
  },
});

const removeDomain = endpoint({
  id: 'deleteDomain',
  method: 'DELETE',
  path: '/domains/{id}',
  tag: 'Domains',
  summary: 'Remove a sender domain',
  access: 'project',
  params: z.object({ id: Uuid }),
  response: z.object({ success: z.literal(true) }),
  problems: ['DOMAIN_NOT_FOUND', 'INSUFFICIENT_ROLE', 'PROJECT_DISABLED', 'DOMAIN_IN_USE'],
  example: { response: { success: true } },
  async handle(call) {
    const { db, dispatcher, params } = call;
    const domain = await requireDomain(call, params.id, { admin: true, write: true });
    const runs = await transact(db, async (tx) => {
      const users = await listDomainUsers(tx, domain);
      if (users.templates.length + users.campaigns.length > 0) {
        throw new Problem('DOMAIN_IN_USE', { details: users });
      }
      return deleteDomains(tx, { id: domain.id });
    });
    dispatcher.dispatch({ runs });
    return { success: true as const };
  },
});

export const domainEndpoints = [listProjectDomains, createDomain, verifyDomain, removeDomain];

/**
 * The domain, if the caller may see it: a domain of others answers like one that does not exist.
 * @throws Problem DOMAIN_NOT_FOUND, INSUFFICIENT_ROLE, PROJECT_DISABLED,
 *   EMAIL_VERIFICATION_REQUIRED.
 */
async function requireDomain(
  call: Services & { caller: CallerOf<'project'> },
  id: string,
  needs: { admin?: boolean; write?: boolean } = {},
): Promise<DomainRow> {
  const domain = found('DOMAIN', id, await findDomain(call.db, id));
  await authorizeProject(call, domain.project_id, needs).catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'PROJECT_NOT_FOUND'
      ? notFound('DOMAIN', id)
      : error;
  });
  return domain;
}

/** @throws Problem SERVICE_UNAVAILABLE when DNS or the mail provider does not answer. */
async function checkNow(services: Services, { id, name, dkim_tokens: dkimTokens }: DomainRow) {
  const { db, config, log } = services;
  try {
    const finding = await inspectDomain({ name, dkimTokens }, config.mail.records, services);
    return await recordDomainCheck(db, id, finding, { isScheduled: false });
  } catch (error) {
    const isDns = error instanceof DnsError;
    if (!isDns && !(error instanceof IdentityProviderError)) throw error;
    log.warn({ error, domain: name }, 'domain not checked');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: isDns ? 'DNS did not answer.' : 'The mail provider did not answer.',
    });
  }
}

/**
 * Makes a taken name known to the mail provider and completes its row, or undoes both.
 * Answers undefined when the row went away meanwhile, with its project.
 */
async function registerDomain(
  { db, config, identities, dispatcher, log }: Services,
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
    const records = senderRecords(name, dkimTokens, config.mail.records);
    const recordStatuses = Object.fromEntries(
      records.map((record) => [recordKey(record), verified ? 'verified' : 'pending'] as const),
    );
    const made = await transact(db, (tx) =>
      updateDomainTokens(tx, id, { dkimTokens, recordStatuses, verified }),
    );
    if (made) dispatcher.dispatch({ runs: [made.runId] });
    else await forget();
    return made?.row;
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
    records: senderRecords(row.name, row.dkim_tokens, config.mail.records).map((record) => ({
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
