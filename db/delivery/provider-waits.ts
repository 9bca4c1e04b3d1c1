import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { notifyAfterCommit } from '../commits.ts';
import { anyOf } from '../expressions.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';
import { deliveryRunId } from '../../domain/runs/execution.ts';

/**
 * Mail that waits because the provider of its route cannot take mail. Its due time is the time of
 * the next try. As soon as the provider takes mail, all its waiting mail becomes due.
 */

/** Maximum number of messages, and of chunks, made due in one transaction. */
const pageSize = 2_000;

/**
 * Makes the mail due that waits for a provider, page by page until `isOver`, and signals the runs
 * that send it. The sweep releases the rest.
 */
export async function releaseProviderWaits(
  db: Database,
  providerId: string,
  isOver: () => boolean,
): Promise<void> {
  while (!(await transact(db, (tx) => releasePage(tx, { providerId }))) && !isOver());
}

/** Milliseconds after which all workers have read changed routes and providers. */
const knownMs = 5_000;

/**
 * Makes mail of a project due that waits for these providers, because a change of the routes or of
 * a provider may let it be sent. At most one page for each provider, because the mail may have to
 * wait again.
 */
export async function releaseChangedWaits(
  tx: Database,
  projectId: string,
  providerIds: Iterable<string>,
): Promise<void> {
  for (const providerId of providerIds) {
    await releasePage(tx, { providerId, projectId, afterMs: knownMs });
  }
}

/**
 * Releases one page. Returns true if it was the last one.
 * @param given.projectId absent: mail of all projects.
 * @param given.afterMs milliseconds until the mail is due.
 */
async function releasePage(
  tx: Database,
  given: { providerId: string; projectId?: string; afterMs?: number },
): Promise<boolean> {
  const { providerId, projectId, afterMs = 0 } = given;
  const ofProject = (table: string) =>
    projectId ? sql`and ${sql.ref(`${table}.project_id`)} = ${projectId}` : sql``;
  const dueAt = sql`now() + make_interval(secs => ${afterMs / 1000})`;
  const { rows } = await sql<{ project_id: string }>`
      with waiting as (
        select email.id from email_queue queued join email on email.id = queued.email_id
          where queued.waits_for = ${providerId} ${ofProject('queued')}
            and email.waits_for = ${providerId} and email.status = 'PENDING'
          order by queued.project_id, queued.email_id limit ${pageSize}
          for update of email skip locked
      ), released as (
        update email set due_at = ${dueAt}, waits_for = null, updated_at = now()
          from waiting where email.id = waiting.id
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'released' }, ['queue'])}
      select project_id from released`.execute(tx);
  const { rows: chunks } = await sql<{ campaign_id: string }>`
      with waiting as (
        select campaign_id, number from campaign_chunk
          where waits_for = ${providerId} and attempt_id is null ${ofProject('campaign_chunk')}
          order by project_id, campaign_id, number limit ${pageSize} for update skip locked
      )
      update campaign_chunk chunk set due_at = ${dueAt}, waits_for = null
        from waiting where chunk.campaign_id = waiting.campaign_id
          and chunk.number = waiting.number
        returning chunk.campaign_id`.execute(tx);
  const projectIds = [...new Set(rows.map((row) => row.project_id))];
  notifyAfterCommit(
    tx,
    projectIds.map((projectId) => ({ runId: deliveryRunId(projectId), projectId })),
  );
  const campaigns = await tx
    .selectFrom('campaign')
    .select(['id', 'project_id', 'name'])
    .where('id', '=', anyOf([...new Set(chunks.map((chunk) => chunk.campaign_id))]))
    .execute();
  for (const campaign of campaigns) await signalCampaign(tx, campaign);
  return rows.length < pageSize && chunks.length < pageSize;
}

/** Lists the providers for which mail waits. Reads one index entry for each provider. */
export async function listAwaitedProviders(db: Database): Promise<string[]> {
  const next = (after: ReturnType<typeof sql>) => sql`(select least(
    (select waits_for from email_queue where waits_for > ${after} order by waits_for limit 1),
    (select waits_for from campaign_chunk
      where waits_for > ${after} and attempt_id is null order by waits_for limit 1)))`;
  const { rows } = await sql<{ id: string }>`
    with recursive awaited(id) as (
      select ${next(sql`''`)}
      union all
      select ${next(sql`awaited.id`)} from awaited where awaited.id is not null
    )
    select id from awaited where id is not null`.execute(db);
  return rows.map((row) => row.id);
}
