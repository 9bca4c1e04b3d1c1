import { type Selectable, sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { lockDomainName } from './ses-identities.ts';
import { addressDomain, millisecondsUntil } from '../expressions.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { Domain } from '../tables.ts';
import { openCampaignStatuses } from '../../domain/campaign/campaign.ts';
import { domainOf } from '../../domain/email-address.ts';
import { Problem } from '../../domain/errors.ts';
import {
  type DomainFinding,
  type DomainStatus,
  checkEveryMs,
  stateAfterCheck,
} from '../../domain/sender/domain-check.ts';

const domainColumns = [
  'id',
  'project_id',
  'name',
  'status',
  'dkim_tokens',
  'ownership_token',
  'record_statuses',
  'last_checked_at',
  'verified_at',
  'created_at',
  'updated_at',
] as const;

export type DomainRow = Omit<
  Pick<Selectable<Domain>, (typeof domainColumns)[number]>,
  'status' | 'record_statuses'
> & {
  status: DomainStatus;
  /** State of each DNS record found by the last check, by the record's type and name. */
  record_statuses: Record<string, DomainStatus>;
};

/** A domain in the form that its checks need. */
export function claimOf(row: DomainRow) {
  return {
    name: row.name,
    dkimTokens: row.dkim_tokens,
    ownershipToken: row.ownership_token,
  };
}

/** SQL that is true for a domain that is registered: while that is in progress, it has no tokens. */
export const isComplete = sql<boolean>`dkim_tokens <> '{}'`;

/** Returns the status of a project's domain; undefined: the project has no such domain. */
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

/** The domains of a project, newest first. */
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

/** Finds a domain of any project; undefined while it is still being registered. */
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

/** Removes an incomplete claim. Its run cleans up at the provider. */
export async function abandonDomain(db: Database, domain: DomainOfRun): Promise<void> {
  await transact(db, async (tx) => {
    const isUnfinished = sql<boolean>`not ${isComplete}`;
    await tx.deleteFrom('domain').where('id', '=', domain.id).where(isUnfinished).execute();
    await signalPoller(tx, domain);
  });
}

/** Removes a claim that was not completed in time. */
export async function deleteOverdueDomain(db: Database, id: string): Promise<void> {
  await db
    .deleteFrom('domain')
    .where('id', '=', id)
    .where(sql<boolean>`not ${isComplete} and next_check_at <= now()`)
    .execute();
}

/**
 * Returns true if another project holds the name. The result is stable while the name is locked.
 */
async function isHeldElsewhere(tx: Database, { id, name }: Pick<DomainRow, 'id' | 'name'>) {
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
 * Completes a claim and signals its run, in the caller's transaction. `verified`: no check is
 * needed. Returns `taken` when another project has the name by now, and undefined when the claim is
 * gone.
 */
export async function updateDomainTokens(
  tx: Database,
  { id, name }: Pick<DomainRow, 'id' | 'name'>,
  domain: {
    dkimTokens: string[];
    recordStatuses: Record<string, DomainStatus>;
    verified: boolean;
  },
): Promise<DomainRow | 'taken' | undefined> {
  await lockDomainName(tx, name);
  if (domain.verified && (await isHeldElsewhere(tx, { id, name }))) return 'taken';
  const row = (await tx
    .updateTable('domain')
    .set({
      dkim_tokens: domain.dkimTokens,
      record_statuses: JSON.stringify(domain.recordStatuses),
      status: domain.verified ? 'verified' : 'pending',
      verified_at: domain.verified ? sql<Date>`now()` : null,
      next_check_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(domainColumns)
    .executeTakeFirst()) as DomainRow | undefined;
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
 * Stores the result of a check. A claim of a name that another project holds is not verified.
 * `isScheduled`: stored only when the regular check is due, so that a repeated one counts once.
 * Returns undefined when the domain is gone.
 */
export async function recordDomainCheck(
  db: Database,
  { id, name }: Pick<DomainRow, 'id' | 'name'>,
  { recordStatuses, isProven }: DomainFinding,
  { isScheduled }: { isScheduled: boolean },
): Promise<DomainRow | undefined> {
  return transact(db, async (tx) => {
    // Locked before the row: if two projects are verified at the same time, one waits here for the
    // other.
    await lockDomainName(tx, name);
    const before = await tx
      .selectFrom('domain')
      .select([...domainColumns, 'failed_checks', 'next_check_at'])
      .select(sql<Date>`now()`.as('now'))
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!before) return undefined;
    const { now, failed_checks, next_check_at, ...unchanged } = before;
    const isDue = next_check_at !== null && next_check_at <= now;
    if (isScheduled && !isDue) return unchanged as DomainRow;
    const domain = {
      status: before.status as DomainStatus,
      failedChecks: failed_checks,
      createdAt: before.created_at,
    };
    const isHeld = domain.status !== 'verified' && (await isHeldElsewhere(tx, { id, name }));
    const check = { isProven: isProven && !isHeld, isScheduled, now };
    const { status, failedChecks } = stateAfterCheck(domain, check);
    const isNew = status === 'verified' && before.status !== 'verified';
    const next = status === 'failed' ? null : new Date(now.getTime() + checkEveryMs[status]);
    const row = (await tx
      .updateTable('domain')
      .set({
        status,
        failed_checks: failedChecks,
        record_statuses: sql`record_statuses || ${JSON.stringify(recordStatuses)}::jsonb`,
        last_checked_at: now,
        ...(isScheduled || status !== before.status ? { next_check_at: next } : {}),
        ...(isNew ? { verified_at: now } : {}),
        updated_at: now,
      })
      .where('id', '=', id)
      .returning(domainColumns)
      .executeTakeFirstOrThrow()) as DomainRow;
    // A failed domain has no regular checks. Once it is verified, they start again.
    const isBack = before.status === 'failed' && status === 'verified';
    if (isBack) await signalPoller(tx, row);
    return row;
  });
}

/** Postpones a regular check that failed because a server did not respond. */
export async function postponeDomainCheck(db: Database, id: string): Promise<void> {
  await db
    .updateTable('domain')
    .set({ next_check_at: sql<Date>`now() + interval '5 minutes'` })
    .where('id', '=', id)
    .where('next_check_at', '<=', sql<Date>`now()`)
    .execute();
}

/**
 * Signals the runs of domains whose check is ten minutes overdue: such a run is lost, or was ended.
 */
export async function signalStalledPollers(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<DomainOfRun>`
      update domain set next_reconcile_at = now() + interval '10 minutes'
        where id in (select id from domain
          where next_check_at < now() - interval '10 minutes' and next_reconcile_at < now()
          limit ${max} for update skip locked)
        returning id, project_id, name`.execute(tx);
    for (const row of rows) await signalPoller(tx, row);
  });
}

/**
 * Returns when a domain's regular check is due, with its status; undefined: the domain is gone.
 * `dueMs` null: a failed domain has no regular checks.
 */
export async function findDomainDue(
  db: Database,
  id: string,
): Promise<{ status: DomainStatus; dueMs: number | null } | undefined> {
  const row = await db
    .selectFrom('domain')
    .select('status')
    .select(millisecondsUntil(sql`next_check_at`).as('dueMs'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row && { status: row.status as DomainStatus, dueMs: row.dueMs };
}

/**
 * Returns the senders that use a domain: templates, campaigns that may still send, and confirmation
 * mail.
 */
export async function listDomainUsers(
  db: Database,
  { project_id, name }: Pick<DomainRow, 'project_id' | 'name'>,
): Promise<{
  templates: { id: string; name: string }[];
  campaigns: { id: string; name: string }[];
  consentPolicy: boolean;
}> {
  const usersIn = (table: 'template' | 'campaign') =>
    db
      .selectFrom(table)
      .select(['id', 'name'])
      .where('project_id', '=', project_id)
      .where(addressDomain(sql`from_email`), '=', name)
      .orderBy('created_at')
      .orderBy('id');
  const [templates, campaigns, policies] = await Promise.all([
    usersIn('template').execute(),
    usersIn('campaign').where('status', 'in', openCampaignStatuses).execute(),
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
 * and end.
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
 * Allows a project to send only from its own verified domains. `email` is an address in its stored
 * form.
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
