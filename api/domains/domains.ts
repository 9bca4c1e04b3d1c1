import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { recordDomainCheck } from '../../db/domains/checks.ts';
import {
  findSenderDomain,
  type DomainRow,
  abandonDomain,
  claimOf,
  completeDomain,
  deleteDomains,
  findDomain,
  listDomainUsers,
  listDomains,
} from '../../db/domains/domains.ts';
import { type NewClaim, insertDomain } from '../../db/transactions/projects/register-domain.ts';
import { insertSesIdentity, isOwnIdentity } from '../../db/domains/ses-identities.ts';
import { countsAsFound, inspectDomain } from '../../domain/sender/domain-check.ts';
import { normaliseDomainName } from '../../domain/sender/domain-name.ts';
import { Problem, found, invalidField, notFound, together } from '../../domain/errors.ts';
import { DnsError } from '../../providers/dns.ts';
import { IdentityProviderError } from '../../providers/mail/identities.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { listed } from '../http/uses.ts';
import type { Services } from '../services/services.ts';
import { Uuid, named, addFault, ById } from '../http/schemas.ts';
import { requireDomain } from './access.ts';
import { makeKeys } from './keys.ts';
import { Domain, domainExample, type DomainFields, domainFields, presentDomain } from './record.ts';
import { requireAllowed, signingEndpoints } from './signing.ts';
import { type Database, transact } from '../../db/database.ts';

const DomainName = z
  .string()
  .min(3)
  .max(253)
  .transform((text, context) => {
    const message = 'Must be a host name with a dot, such as mail.example.com.';
    return normaliseDomainName(text) ?? addFault(context, 'invalid_string', message);
  });

const listProjectDomains = endpoint({
  id: 'listProjectDomains',
  method: 'GET',
  path: '/domains/project/{projectId}',
  summary: 'List the sender domains of a project',
  description: 'Each with the DNS records to publish and their state as of the last check.',
  access: 'project',
  projectParam: 'projectId',
  params: z.object({ projectId: Uuid }),
  response: z.array(Domain),
  example: { response: [domainExample] },
  async handle(call) {
    const { db, member } = call;
    const rows = await listDomains(db, member.projectId);
    return rows.map((row) => presentDomain(row, member.project, call));
  },
});

const listOwnDomains = endpoint({
  id: 'listDomains',
  method: 'GET',
  path: '/domains',
  summary: "List the sender domains of the caller's project",
  description: "Like GET /domains/project/{projectId}, for the caller's project.",
  access: 'secret',
  response: z.array(Domain),
  example: { response: [domainExample] },
  async handle(call) {
    const { db, caller } = call;
    const rows = await listDomains(db, caller.projectId);
    return rows.map((row) => presentDomain(row, caller.project, call));
  },
});

const createDomain = endpoint({
  id: 'createDomain',
  method: 'POST',
  path: '/domains',
  summary: 'Add a sender domain',
  description:
    'Returns the DNS records to publish; they are checked every 5 minutes. With a session, ' +
    "`projectId` is the project; with a key, it is the key's. DOMAIN_EXISTS: this project " +
    'has it, or another one has verified it. FORBIDDEN: the server itself sends from it, or ' +
    'its account at Amazon SES has it without DKIM records. SERVICE_UNAVAILABLE: the ' +
    'mail provider did not answer.',
  access: 'project',
  projectField: 'projectId',
  role: 'ADMIN',
  status: 201,
  body: z.object({
    domain: DomainName,
    projectId: Uuid.optional().meta({ description: 'Required without a secret key' }),
    ...domainFields,
  }),
  response: Domain,
  problems: ['PROJECT_NOT_FOUND', 'FORBIDDEN', 'DOMAIN_EXISTS', 'SERVICE_UNAVAILABLE'],
  example: { body: { domain: 'shop.example.com' }, response: domainExample },
  async check({ caller, config, identities, body }) {
    await together(
      () => requireAllowed(config, body.signing ?? identities.signingOfNew, body),
      () => {
        if (body.projectId || caller.kind === 'project') return;
        throw invalidField('projectId', 'invalid_type', 'Is required.', 'undefined');
      },
    );
  },
  async handle(call) {
    const { config, caller, body } = call;
    const named = body.projectId ?? (caller.kind === 'project' ? caller.projectId : undefined);
    if (!named) throw invalidField('projectId', 'invalid_type', 'Is required.', 'undefined');
    const { projectId, project } = await call.authorize(named);
    if (body.domain === config.platformDomain) {
      throw new Problem('FORBIDDEN', {
        message: 'This server sends its own mail from this domain, so projects cannot use it.',
        suggestion: 'Choose another domain, for example a subdomain of it.',
      });
    }
    return presentDomain(await claimDomain(call, projectId, body), project, call);
  },
});

const getDomain = endpoint({
  id: 'getDomain',
  method: 'GET',
  path: '/domains/{id}',
  summary: 'Get a sender domain',
  description: 'With the DNS records to publish and their state as of the last check.',
  access: 'project',
  params: ById,
  response: Domain,
  problems: ['DOMAIN_NOT_FOUND'],
  example: { response: domainExample },
  async handle(call) {
    const { domain, project } = await requireDomain(call, call.params.id);
    return presentDomain(domain, project, call);
  },
});

const verifyDomain = endpoint({
  id: 'verifyDomain',
  method: 'GET',
  path: '/domains/{id}/verify',
  summary: 'Check the DNS records of a sender domain now',
  description:
    'Returns the result of this check. SERVICE_UNAVAILABLE: DNS or the mail provider did not ' +
    'answer.',
  access: 'project',
  params: ById,
  response: named('CheckedDomain', {
    ...Domain.shape,
    tokens: z.array(z.string()).meta({ description: 'The same as dkimTokens' }),
  }),
  problems: ['DOMAIN_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  example: { response: { ...domainExample, tokens: domainExample.dkimTokens } },
  async handle(call) {
    const { params } = call;
    const { domain, project } = await requireDomain(call, params.id);
    const checked = await checkNow(call, domain);
    const row = found('DOMAIN', params.id, checked);
    const presented = presentDomain(row, project, call);
    return { ...presented, tokens: presented.dkimTokens };
  },
});

const removeDomain = endpoint({
  id: 'deleteDomain',
  method: 'DELETE',
  path: '/domains/{id}',
  summary: 'Remove a sender domain',
  description:
    'DOMAIN_IN_USE: `details` lists the templates, and the campaigns not yet sent, that send ' +
    'from it; `consentPolicy: true`: confirmation mail does, too.',
  access: 'project',
  role: 'ADMIN',
  params: ById,
  response: z.object({ success: z.literal(true) }),
  problems: ['DOMAIN_NOT_FOUND', 'DOMAIN_IN_USE'],
  example: { response: { success: true } },
  async handle(call) {
    const { db, params } = call;
    const { domain } = await requireDomain(call, params.id);
    await transact(db, async (tx) => {
      const { consentPolicy, ...users } = await listDomainUsers(tx, domain);
      if (consentPolicy || users.templates.length + users.campaigns.length > 0) {
        const details = { ...listed(users), ...(consentPolicy && { consentPolicy }) };
        throw new Problem('DOMAIN_IN_USE', { details });
      }
      await deleteDomains(tx, { id: domain.id });
      const { id: domainId, name, project_id: projectId } = domain;
      const details = { domainId, domain: name };
      const target = { type: 'domain', id: domainId };
      await call.note({ event: 'domain.removed', projectId, target, details }, tx);
    });
    return { success: true as const };
  },
});

export const domainEndpoints = [
  listOwnDomains,
  listProjectDomains,
  createDomain,
  getDomain,
  ...signingEndpoints,
  verifyDomain,
  removeDomain,
];

const tryLater =
  'Repeat the request in a minute. If it fails again, ask the operator of this server for the reason in its log.';

/**
 * Checks a domain now. Returns undefined when the domain is deleted.
 * @throws Problem SERVICE_UNAVAILABLE when DNS or the mail provider does not respond.
 */
async function checkNow(services: Services, domain: DomainRow): Promise<DomainRow | undefined> {
  const { db, log } = services;
  try {
    // The check is repeated if another request has changed the domain in the meantime, or if a new
    // DKIM key has become the current key.
    for (let now: DomainRow | undefined = domain; now; now = await findDomain(db, domain.id)) {
      const finding = await inspectDomain(claimOf(now), services);
      const checked = await recordDomainCheck(db, now, finding, { isScheduled: false });
      if (checked !== 'changed') return checked;
    }
    return undefined;
  } catch (error) {
    const isDns = error instanceof DnsError;
    if (!isDns && !(error instanceof IdentityProviderError)) throw error;
    log.warn({ error, domain: domain.name }, 'domain not checked');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: isDns
        ? `DNS did not answer the query for ${domain.name}.`
        : `The mail provider could not check ${domain.name}.`,
      suggestion: tryLater,
    });
  }
}

type Claiming = Services & Pick<Call<'project', unknown, unknown, unknown>, 'note'>;

/** Milliseconds to wait while the mail provider removes a name. */
const releaseMs = 10_000;

/**
 * Claims a name and registers it with the mail provider. If the registration fails, the claim is
 * removed. The name is claimed first, because a claim prevents other requests from removing the
 * name at the provider.
 * @throws Problem DOMAIN_EXISTS, FORBIDDEN, SERVICE_UNAVAILABLE, PROJECT_NOT_FOUND.
 */
async function claimDomain(
  call: Claiming,
  projectId: string,
  { domain: name, ...given }: { domain: string } & DomainFields,
): Promise<DomainRow> {
  const { db, log } = call;
  const claim = await insertClaim(call, projectId, name);
  const made = await registerDomain(call, projectId, claim, given).catch(async (error: unknown) => {
    await abandonDomain(db, claim);
    if (!(error instanceof IdentityProviderError)) throw error;
    log.error({ error, domain: name }, 'domain not registered');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: `The mail provider could not register ${name}.`,
      suggestion: tryLater,
    });
  });
  if (made && made !== 'taken') return made;
  await abandonDomain(db, claim);
  // No domain was returned: the claim was deleted with its project. `taken`: another project has
  // verified the name.
  if (!made) throw notFound('PROJECT', projectId);
  throw await domainExists(db, projectId, name);
}

async function domainExists(db: Database, projectId: string, name: string): Promise<Problem> {
  const isOwn = await findSenderDomain(db, projectId, name);
  return new Problem('DOMAIN_EXISTS', {
    ...(isOwn && {
      message: `This project already has the domain ${name}.`,
      suggestion: 'Use this domain; GET /domains lists it.',
    }),
    details: { domain: name },
  });
}

async function insertClaim({ db }: Services, projectId: string, name: string): Promise<NewClaim> {
  for (const until = Date.now() + releaseMs; Date.now() < until; await sleep(200)) {
    const claim = await insertDomain(db, { projectId, name });
    if (claim === 'taken') throw await domainExists(db, projectId, name);
    if (claim !== 'releasing') return claim;
  }
  throw new Problem('SERVICE_UNAVAILABLE', {
    message: `${name} was deleted a moment ago, and the mail provider is still removing it.`,
    suggestion: tryLater,
  });
}

async function registerDomain(
  call: Claiming,
  projectId: string,
  claim: NewClaim,
  given: DomainFields,
) {
  const { db, identities, note } = call;
  const { name } = claim;
  const signing = given.signing ?? identities.signingOfNew;
  const ed25519 = given.ed25519 ?? false;
  const needsIdentity = identities.keepsDomains || signing === null;
  const dkimTokens = needsIdentity ? await provideIdentity(call, name) : [];
  const owner = { name, projectId };
  const keys = signing === 'own' ? await makeKeys(call, owner, 'current', { ed25519 }) : [];
  const verified = countsAsFound(name, identities);
  const inbound = given.inbound ?? false;
  const domain = { dkimTokens, signing, ed25519, inbound, keys, verified };
  return transact(db, async (tx) => {
    const made = await completeDomain(tx, claim, domain);
    if (!made || made === 'taken') return made;
    const details = { domainId: made.id, domain: made.name };
    const target = { type: 'domain', id: made.id };
    await note({ event: 'domain.added', projectId, target, details }, tx);
    return made;
  });
}

/**
 * Registers a name with the mail provider. Returns the tokens of its DKIM records. If the provider
 * has an identity for the name that this server has not created, the identity is used unchanged,
 * and the ownership record still proves who owns the domain.
 * @throws Problem FORBIDDEN when such an identity has no DKIM records that could be checked.
 */
async function provideIdentity({ db, identities, log }: Services, name: string): Promise<string[]> {
  if (!identities.keepsDomains) return (await identities.create(name)).dkimTokens;
  const known = await identities.find(name);
  if (!known) await insertSesIdentity(db, name);
  // `isOwnIdentity` is called after the request to the provider. Each process records an identity
  // before creating it, so an identity without a record was not created by Everpost.
  if (!known || (await isOwnIdentity(db, name))) return (await identities.create(name)).dkimTokens;
  log.warn({ domain: name, ...known }, 'the account has an identity that Everpost has not made');
  if (known.dkimTokens.length > 0) return known.dkimTokens;
  throw new Problem('FORBIDDEN', {
    message: `${name} is already in the Amazon SES account of this server, but without DKIM records, so Everpost cannot check it.`,
    suggestion:
      'Ask the operator of this server to remove the domain from Amazon SES, or use a subdomain.',
  });
}
