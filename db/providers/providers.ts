import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { ProviderFields, StoredProvider } from '../../domain/provider/provider.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { MailProvider } from '../tables.ts';

/** The mail providers that projects have added. */

export type ProviderRow = Selectable<MailProvider>;

/** Returns the provider's settings as the fields of its kind. */
export function fieldsOf({ kind, settings }: ProviderRow): ProviderFields {
  return { ...(settings as object), kind } as ProviderFields;
}

/** Lists the providers of a project, oldest first; at most `limits.providers`. */
export async function listProviders(db: Database, projectId: string): Promise<ProviderRow[]> {
  return db
    .selectFrom('mail_provider')
    .select(columnsOf('mail_provider'))
    .where('project_id', '=', projectId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Lists the providers of a project, with the fields from which their mailers are made. */
export async function listStoredProviders(
  db: Database,
  projectId: string,
): Promise<StoredProvider[]> {
  return (await listProviders(db, projectId)).map(storedProvider);
}

export function storedProvider(row: ProviderRow): StoredProvider {
  return {
    id: row.id,
    name: row.name,
    fields: fieldsOf(row),
    feedback: row.feedback,
    enabled: row.enabled,
    domains: row.domains,
    ratePerSecond: row.rate_per_second,
    maxMessageMb: row.max_message_mb,
    ownSigning: row.own_signing,
    revision: row.revision,
    secret: row.secret,
  };
}

export async function findProvider(
  db: Database,
  projectId: string,
  id: string,
): Promise<ProviderRow | undefined> {
  return db
    .selectFrom('mail_provider')
    .select(columnsOf('mail_provider'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Locks a provider until the transaction ends, so that no other transaction changes it. */
export async function lockProvider(
  tx: Database,
  projectId: string,
  id: string,
): Promise<ProviderRow | undefined> {
  return tx
    .selectFrom('mail_provider')
    .select(columnsOf('mail_provider'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * Locks the providers of a project, so that transactions that add or rename one run one after the
 * other. So the limit is kept and names are unique.
 */
export async function lockProviders(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`providers ${projectId}`}, 0))`.execute(
    tx,
  );
}

export async function insertProvider(
  tx: Database,
  values: Insertable<MailProvider>,
): Promise<ProviderRow> {
  return tx
    .insertInto('mail_provider')
    .values(values)
    .returning(columnsOf('mail_provider'))
    .executeTakeFirstOrThrow();
}

/**
 * Changes a locked provider. `isNewServer`: the address or the credentials of its server may have
 * changed, so its `revision` increases.
 */
export async function updateProvider(
  tx: Database,
  id: string,
  values: Updateable<MailProvider>,
  { isNewServer }: { isNewServer: boolean },
): Promise<ProviderRow> {
  return tx
    .updateTable('mail_provider')
    .set({
      ...values,
      ...(isNewServer && { revision: sql<number>`revision + 1` }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('mail_provider'))
    .executeTakeFirstOrThrow();
}

/**
 * Replaces the token in the address of a locked provider's webhooks. The former address works for
 * another day.
 */
export async function rotateToken(tx: Database, id: string, tokenHash: Buffer): Promise<void> {
  await sql`
    update mail_provider set feedback_token_hash = ${tokenHash}, updated_at = now(),
        former_token_hash = feedback_token_hash,
        former_token_until =
          case when feedback_token_hash is not null then now() + interval '24 hours' end
      where id = ${id}`.execute(tx);
}

/** Deletes the providers of a project, or one of them. Returns their ids. */
export async function deleteProviderRows(
  tx: Database,
  projectId: string,
  id?: string,
): Promise<string[]> {
  const rows = await tx
    .deleteFrom('mail_provider')
    .where('project_id', '=', projectId)
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}

/** Returns true if another provider of the project has this name, in any case. */
export async function isNameTaken(
  tx: Database,
  projectId: string,
  name: string,
  ownId: string | null = null,
): Promise<boolean> {
  const { rows } = await sql`
    select from mail_provider where project_id = ${projectId} and lower(name) = lower(${name})
      and id is distinct from ${ownId}::uuid`.execute(tx);
  return rows.length > 0;
}
