import { type RawBuilder, type Selectable, sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { deleteKeys, insertKeys, isKept, isReturnPathFound, type NewKey } from './keys.ts';
import { lockDomainName } from './ses-identities.ts';
import { addressDomain } from '../expressions.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { Domain } from '../tables.ts';
import { openCampaignStatuses } from '../../domain/campaign/campaign.ts';
import { domainOf } from '../../domain/email-address.ts';
import { Problem } from '../../domain/errors.ts';
import type { DomainStatus, RecordStates } from '../../domain/sender/domain-check.ts';
import type {
  DnsRecord,
  DomainClaim,
  DomainKey,
  Signing,
} from '../../domain/sender/sender-records.ts';

const ownColumns = [
  'id',
  'project_id',
  'name',
  'status',
  'dkim_tokens',
  'ownership_token',
  'signing',
  'ed25519',
  'inbound',
  'tracking_subdomain',
  'revision',
  'last_checked_at',
  'verified_at',
  'created_at',
  'updated_at',
] as const;

/** SQL of the keys of a domain that are not dropped yet (`isKept`). */
const keys = sql<StoredKey[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('selector', inner_domain_key.selector,
      'algorithm', inner_domain_key.algorithm, 'publicKey', inner_domain_key.public_key, 'state', inner_domain_key.state,
      'createdAt', inner_domain_key.created_at, 'seenAt', inner_domain_key.seen_at, 'removeAfter', inner_domain_key.remove_after)
      order by inner_domain_key.state, inner_domain_key.algorithm desc, inner_domain_key.created_at desc), '[]')
    from domain_key inner_domain_key where inner_domain_key.domain_id = domain.id and ${isKept('inner_domain_key')})`.as(
  'keys',
);

/** The columns of a `DomainRow`, for `select` and `returning`. */
export const domainColumns = [
  ...ownColumns,
  sql<RecordStates>`domain.record_states`.as('record_states'),
  sql<DnsRecord[]>`domain.former_records`.as('former_records'),
  keys,
] as const;

/** A key without its private part. Times are texts, because the row comes as JSON. */
type StoredKey = Omit<DomainKey, 'createdAt' | 'seenAt' | 'removeAfter'> & {
  createdAt: string;
  seenAt: string | null;
  removeAfter: string | null;
};

export type DomainRow = Omit<
  Pick<Selectable<Domain>, (typeof ownColumns)[number]>,
  'status' | 'signing'
> & {
  status: DomainStatus;
  signing: Signing | null;
  record_states: RecordStates;
  former_records: DnsRecord[];
  keys: StoredKey[];
};

/**
 * Returns the host for the tracked links of a domain's mail; null: the domain has no tracking host.
 */
export function trackingHostOf({
  name,
  tracking_subdomain: label,
}: Pick<DomainRow, 'name' | 'tracking_subdomain'>): string | null {
  return label === null ? null : `${label}.${name}`;
}

/** A domain in the form that its checks need. */
export function claimOf(row: DomainRow): DomainClaim {
  return {
    name: row.name,
    isVerified: row.status === 'verified',
    dkimTokens: row.dkim_tokens,
    ownershipToken: row.ownership_token,
    signing: row.signing,
    inbound: row.inbound,
    trackingHost: trackingHostOf(row),
    keys: row.keys.map((key) => ({
      ...key,
      createdAt: new Date(key.createdAt),
      seenAt: key.seenAt === null ? null : new Date(key.seenAt),
      removeAfter: key.removeAfter === null ? null : new Date(key.removeAfter),
    })),
    formerRecords: row.former_records,
  };
}

/** SQL that is true for a domain that is registered at the mail provider. */
export const isComplete = sql<boolean>`is_registered`;

/**
 * Returns the verification status of a project's domain; undefined: the project has no such domain.
 */
export async function findSenderDomain(
  db: Database,
  projectId: string,
  name: string,
): Promise<{ status: DomainStatus } | undefined> {
  const row = await db
    .selectFrom('domain')
    .select('status')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst();
  return row as { status: DomainStatus } | undefined;
}

/** Returns true if Everpost receives mail that is sent to addresses of a domain. */
export async function takesMail(db: Database, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('domain')
    .select('id')
    .where('name', '=', name)
    .where('status', '=', 'verified')
    .where('inbound', '=', true)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns true if a verified domain uses this host for the tracked links of its mail. */
export async function isTrackingHost(db: Database, host: string): Promise<boolean> {
  const dot = host.indexOf('.');
  const row = await db
    .selectFrom('domain')
    .select('id')
    .where('name', '=', host.slice(dot + 1))
    .where('status', '=', 'verified')
    .where('tracking_subdomain', '=', host.slice(0, Math.max(dot, 0)))
    .where('tracking_active', '=', true)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Returns true if the last check found the return path of a domain.
 * @param returnPath `recordKey` of the MX record of the return path
 */
export async function hasReturnPath(
  db: Database,
  name: string,
  returnPath: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('domain')
    .select('id')
    .where('name', '=', name)
    .where(isReturnPathFound(returnPath))
    .executeTakeFirst();
  return row !== undefined;
}

/** Lists the domains of a project, newest first. */
export async function listDomains(db: Database, projectId: string): Promise<DomainRow[]> {
  const rows = await db
    .selectFrom('domain')
    .select(domainColumns)
    .where('project_id', '=', projectId)
    .where(isComplete)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return rows as DomainRow[];
}

/** Finds a domain of any project; undefined also while it is being registered. */
export async function findDomain(db: Database, id: string): Promise<DomainRow | undefined> {
  const row = await db
    .selectFrom('domain')
    .select(domainColumns)
    .where('id', '=', id)
    .where(isComplete)
    .executeTakeFirst();
  return row as DomainRow | undefined;
}

/** Fields that a domain's run needs. */
export type DomainOfRun = Pick<DomainRow, 'id' | 'project_id' | 'name'>;

/**
 * Deletes a domain whose registration was not completed. The domain's run then removes the name at
 * the mail provider.
 */
export async function abandonDomain(db: Database, domain: DomainOfRun): Promise<void> {
  await transact(db, async (tx) => {
    const isUnfinished = sql<boolean>`not ${isComplete}`;
    await tx.deleteFrom('domain').where('id', '=', domain.id).where(isUnfinished).execute();
    await signalPoller(tx, domain);
  });
}

/** Deletes a domain whose registration was not completed in time. */
export async function deleteOverdueDomain(db: Database, id: string): Promise<void> {
  await db
    .deleteFrom('domain')
    .where('id', '=', id)
    .where(sql<boolean>`not ${isComplete} and next_check_at <= now()`)
    .execute();
}

/**
 * Returns true if another project holds the name. The result cannot change while the name is
 * locked.
 */
export async function isHeldElsewhere(tx: Database, { id, name }: Pick<DomainRow, 'id' | 'name'>) {
  const holder = await tx
    .selectFrom('domain')
    .select('id')
    .where('name', '=', name)
    .where('status', '=', 'verified')
    .where('id', '<>', id)
    .executeTakeFirst();
  return holder !== undefined;
}

/**
 * Completes the registration of a domain and signals the domain's run, in the caller's transaction.
 * @param domain.verified true: no check is needed.
 * @returns `taken` when another project holds the name in the meantime; undefined when the domain
 * is deleted
 */
export async function completeDomain(
  tx: Database,
  { id, name }: Pick<DomainRow, 'id' | 'name'>,
  domain: {
    dkimTokens: string[];
    signing: Signing | null;
    ed25519: boolean;
    inbound: boolean;
    keys: readonly NewKey[];
    verified: boolean;
  },
): Promise<DomainRow | 'taken' | undefined> {
  await lockDomainName(tx, name);
  if (domain.verified && (await isHeldElsewhere(tx, { id, name }))) return 'taken';
  const { numUpdatedRows } = await tx
    .updateTable('domain')
    .set({
      is_registered: true,
      dkim_tokens: domain.dkimTokens,
      signing: domain.signing,
      ed25519: domain.ed25519,
      inbound: domain.inbound,
      status: domain.verified ? 'verified' : 'pending',
      verified_at: domain.verified ? sql<Date>`now()` : null,
      next_check_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return undefined;
  await insertKeys(tx, id, domain.keys);
  const row = await findDomain(tx, id);
  if (row) await signalPoller(tx, row);
  return row;
}

/** A change of a domain. Absent fields keep their values. */
export interface DomainChange {
  signing?: Signing;
  ed25519?: boolean;
  inbound?: boolean;
  /** null: tracked links use the host of the API. */
  trackingSubdomain?: string | null;
  formerRecords?: readonly DnsRecord[];
  /** Keys to delete before the new ones are inserted. */
  deletedKeys?: Parameters<typeof deleteKeys>[2];
  newKeys?: readonly NewKey[];
}

/** A new host is not used before a check has found its DNS record. */
function newTrackingHost(label: string | null) {
  return {
    tracking_subdomain: label,
    tracking_since: label === null ? null : sql<Date>`now()`,
    tracking_active: false,
    tracking_missed: 0,
  };
}

/** Time until the first check after a change. DNS records are rarely published earlier. */
const firstCheckAfter = sql`interval '5 minutes'`;

/**
 * Changes a domain in the caller's transaction, and signals its run. Returns undefined when the
 * domain is deleted, or has changed since it was read.
 */
export async function changeDomain(
  tx: Database,
  { id, revision }: Pick<DomainRow, 'id' | 'revision'>,
  { trackingSubdomain, formerRecords, deletedKeys, newKeys = [], ...columns }: DomainChange,
): Promise<DomainRow | undefined> {
  const { numUpdatedRows } = await tx
    .updateTable('domain')
    .set({
      ...columns,
      ...(trackingSubdomain === undefined ? {} : newTrackingHost(trackingSubdomain)),
      ...(formerRecords === undefined ? {} : { former_records: JSON.stringify(formerRecords) }),
      revision: revision + 1,
      // A failed domain has no regular checks.
      next_check_at: sql<Date | null>`case when next_check_at is not null
        then least(next_check_at, now() + ${firstCheckAfter}) end`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('revision', '=', revision)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return undefined;
  if (deletedKeys) await deleteKeys(tx, id, deletedKeys);
  await insertKeys(tx, id, newKeys);
  const row = await findDomain(tx, id);
  if (row) await signalPoller(tx, row);
  return row;
}

export function signalPoller(tx: Database, { id, project_id, name }: DomainOfRun): Promise<void> {
  return enqueue(tx, {
    kind: 'domainPoller',
    input: { projectId: project_id, domainId: id, name },
    summary: 'Checks of a sender domain',
  });
}

/**
 * Lists the uses of a domain as a sender: templates, campaigns that may still send, and
 * confirmation mail.
 */
export async function listDomainUsers(
  db: Database,
  { project_id, name }: Pick<DomainRow, 'project_id' | 'name'>,
): Promise<{
  templates: { id: string; name: string }[];
  campaigns: { id: string; name: string }[];
  consentPolicy: boolean;
}> {
  const usersIn = (table: 'template' | 'campaign', uses: RawBuilder<boolean>) =>
    db
      .selectFrom(table)
      .select(['id', 'name'])
      .where('project_id', '=', project_id)
      .where(uses)
      .orderBy('created_at')
      .orderBy('id');
  const isSender = sql<boolean>`${addressDomain(sql`from_email`)} = ${name}`;
  const isSenderOfArm = sql<boolean>`exists (
    select from jsonb_array_elements(experiment -> 'arms') arm
      where ${addressDomain(sql`arm ->> 'from'`)} = ${name})`;
  const [templates, campaigns, policies] = await Promise.all([
    usersIn('template', isSender).execute(),
    usersIn('campaign', sql<boolean>`(${isSender} or ${isSenderOfArm})`)
      .where('status', 'in', openCampaignStatuses)
      .execute(),
    db
      .selectFrom('project')
      .select('id')
      .where('id', '=', project_id)
      .where(addressDomain(sql`opt_in_from_email`), '=', name)
      .execute(),
  ]);
  return { templates, campaigns, consentPolicy: policies.length > 0 };
}

/**
 * Deletes domains: one, or all of a project. Their runs make the mail provider remove the names,
 * and then end.
 */
export async function deleteDomains(
  tx: Database,
  which: { id: string } | { projectId: string },
): Promise<void> {
  const rows = await tx
    .deleteFrom('domain')
    .where('id' in which ? 'id' : 'project_id', '=', 'id' in which ? which.id : which.projectId)
    .returning(['id', 'project_id', 'name'])
    .execute();
  for (const row of rows) await signalPoller(tx, row);
}

/**
 * Requires that a project sends from one of its verified domains. `email` is an address in its
 * stored form.
 * @throws Problem DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED.
 */
export async function requireVerifiedSender(
  db: Database,
  projectId: string,
  email: string,
): Promise<void> {
  const name = domainOf(email);
  const domain = await findSenderDomain(db, projectId, name);
  const details = { domain: name };
  if (!domain) {
    const message = `The sender domain ${name} does not belong to this project.`;
    throw new Problem('DOMAIN_NOT_REGISTERED', { message, details });
  }
  if (domain.status !== 'verified') {
    const message = `The sender domain ${name} is not verified.`;
    throw new Problem('DOMAIN_NOT_VERIFIED', { message, details });
  }
}
