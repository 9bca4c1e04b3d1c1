import { sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { deleteDomains } from '../../domains/domains.ts';
import { deleteMail } from '../../emails/removal.ts';
import { enqueue } from '../../outbox/outbox.ts';
import { deletePage } from '../../pages.ts';
import { publicId } from '../../projects/projects.ts';
import { deleteRamp, listRamps } from '../../ramps/ramps.ts';
import { deleteRemovalPage, listRemovalIds } from '../../removals/removals.ts';
import { deleteOldest } from '../../requests/store.ts';
import { stopRuns } from './stop-runs.ts';
import { deleteProviders } from './delete-providers.ts';
import { deleteSubscriptions, restartSubscriptions } from '../subscriptions/change-subscription.ts';
import type { RunKind } from '../../../domain/runs/runs.ts';

/**
 * Reset and deletion of a project. One short transaction makes its row unreachable; a run then
 * deletes its data, page by page. A reset project continues in a new row, which takes over the kept
 * data.
 */

/**
 * Deletes a project: its keys, members and domains are gone at once. Returns false when it did not
 * exist.
 */
export async function removeProject(tx: Database, id: string): Promise<boolean> {
  const publicId = await detach(tx, id, 'delete');
  if (!publicId) return false;
  await tx.deleteFrom('membership').where('project_id', '=', id).execute();
  await tx.deleteFrom('invitation').where('project_id', '=', id).execute();
  await stopRuns(tx, id);
  await deleteDomains(tx, { projectId: id });
  await deleteSubscriptions(tx, id);
  for (const ramp of await listRamps(tx, id)) await deleteRamp(tx, ramp);
  const input = { projectId: publicId };
  await enqueue(tx, { kind: 'projectDelete', input, summary: 'Delete a project' });
  return true;
}

export const keptOnReset = [
  'membership',
  'invitation',
  'sign_in_rule',
  'domain',
  'suspension',
  'security_event',
  'allowance',
  'allowance_warning',
  'secret',
  'api_key',
  'mail_provider',
  'mail_routing',
  'send_policy',
  'holdout',
  'ramp',
  'event_subscription',
] as const;

/**
 * Empties a project, but keeps settings, keys, members, domains, secrets, mail providers with their
 * routes and ramps, event subscriptions, billing, the send policy, the hold-out and the consent
 * policy. Returns false when it did not exist.
 */
export async function resetProject(tx: Database, id: string): Promise<boolean> {
  const before = await tx
    .selectFrom('project')
    .select(columnsOf('project'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  const publicId = await detach(tx, id, 'reset');
  if (!before || !publicId) return false;
  const { id: _, removal: __, ...kept } = before;
  const after = await tx
    .insertInto('project')
    // The project's templates are deleted, so the confirmation mail has the built-in text.
    .values({
      ...kept,
      opt_in_template_id: null,
      public_id: publicId,
      updated_at: sql<Date>`now()`,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const table of keptOnReset) {
    await sql`update ${sql.table(table)} set project_id = ${after.id}
      where project_id = ${id}`.execute(tx);
  }
  await restartSubscriptions(tx, after.id);
  await stopRuns(tx, id);
  const input = { projectId: publicId };
  await enqueue(tx, { kind: 'projectReset', input, summary: 'Reset a project' });
  return true;
}

/**
 * Makes a project's row unreachable. Returns the public id of the project; undefined: the project
 * did not exist, or was removed before.
 */
async function detach(
  tx: Database,
  id: string,
  removal: 'reset' | 'delete',
): Promise<string | undefined> {
  const row = await tx
    .updateTable('project')
    .set({
      removal,
      public_id: sql<string>`coalesce(public_id, id)`,
      // No real key looks like these, or has this hash.
      public_key: sql<string>`'removed ' || id`,
      secret_key_hash: sql<Buffer>`sha256(('removed ' || id)::bytea)`,
      // Code that still finds the row sends nothing.
      disabled_reason: sql<string>`coalesce(disabled_reason, 'MANUAL')`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('removal', 'is', null)
    .returning(sql<string>`public_id`.as('public_id'))
    .executeTakeFirst();
  return row?.public_id;
}

const removalKinds = { delete: 'projectDelete', reset: 'projectReset' } as const;

/**
 * Signals, every ten minutes, the runs of removals that are not over: such a run may be lost, or
 * was ended in Temporal. A run that is active ignores the signal.
 */
export async function signalRemovals(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<{ publicId: string; removal: keyof typeof removalKinds }>`
      update project set next_reconcile_at = now() + interval '10 minutes'
        where id in (select id from project
          where removal is not null
            and coalesce(next_reconcile_at, updated_at + interval '10 minutes') < now()
          limit ${max} for update skip locked)
        returning coalesce(public_id, id) as "publicId", removal`.execute(tx);
    for (const { publicId, removal } of rows) {
      const input = { projectId: publicId };
      const summary = removal === 'delete' ? 'Delete a project' : 'Reset a project';
      await enqueue(tx, { kind: removalKinds[removal], input, summary });
    }
  });
}

/** A table whose rows are deleted in pages, small enough that no lock is held for long. */
interface Page {
  table: string;
  rows: number;
  /**
   * If no index of the table has `project_id`: the beginning of the SQL condition that finds the rows
   * of the project, up to `from <parent>`. ` where project_id = …)` is appended.
   */
  of?: string;
  /**
   * SQL that is true for rows that cannot be deleted yet. While there are some, the later tables
   * wait.
   */
  later?: string;
}

/**
 * The data of a project, in an order in which few rows are deleted by a cascade: first rows that
 * cause work, then the largest tables. Other tables are deleted with these: see `goneWithParent`.
 */
export const removedTables: readonly Page[] = [
  { table: 'digest_event', rows: 5000, of: 'contact_id in (select id from contact' },
  { table: 'execution', rows: 500 },
  { table: 'not_started', rows: 5000, of: 'workflow_id in (select id from workflow' },
  // Claimed mail must stay until its lease ends, because accepted mail is billed by its row.
  { table: 'campaign_chunk', rows: 100, later: 'attempt_id is not null and lease_until > now()' },
  { table: 'conversion', rows: 5000 },
  { table: 'email', rows: 1000, later: `status = 'SENDING' and lease_until > now()` },
  { table: 'email_tally', rows: 5000 },
  { table: 'report_count', rows: 24 },
  { table: 'attachment', rows: 20 },
  { table: 'segment_member', rows: 5000, of: 'segment_id in (select id from segment' },
  // Before the contacts, so that no deliveries remain to be cleared for them.
  { table: 'event_delivery', rows: 5000 },
  { table: 'contact', rows: 1000 },
  { table: 'event', rows: 2000 },
  { table: 'event_tally', rows: 5000 },
  { table: 'derived_event_log', rows: 1000 },
  { table: 'event_delivery_loss', rows: 1000 },
  { table: 'job', rows: 10 },
  { table: 'system_mail', rows: 100 },
  // The sweep removes the remaining rows of a deleted campaign.
  { table: 'campaign_tally', rows: 5000, of: 'campaign_id in (select id from campaign' },
  // The sweep removes the rows of clicks that are counted later.
  { table: 'link_tally', rows: 5000, of: 'owner_id in (select owner_id from tracked_link' },
  { table: 'tracked_link', rows: 5000 },
  { table: 'goal_tally', rows: 5000 },
  { table: 'campaign', rows: 100 },
  { table: 'follow_up_list', rows: 100 },
  { table: 'body_template', rows: 20 },
  { table: 'segment', rows: 100 },
  // Rows whose schedule still exists in Temporal are deleted later, after a run has deleted the
  // schedule.
  { table: 'workflow_schedule', rows: 100, later: 'planned_until is not null' },
  { table: 'workflow', rows: 20 },
  { table: 'template', rows: 100 },
  { table: 'topic', rows: 100 },
  { table: 'plan', rows: 2 },
];

/**
 * Tables whose rows are deleted together with rows of the tables above, or while these are deleted
 * in pages.
 */
export const goneWithParent = [
  'removal',
  'email_moment',
  'email_queue',
  'email_link',
  'engagement',
  'consent',
  'contact_topic',
  'opt_in',
  'step_execution',
  'wait',
  'workflow_step',
  'workflow_transition',
  'workflow_version',
  'workflow_cancellation',
  'workflow_release',
  'exit_event',
  'goal',
  'firing',
  'import_file',
  'job_batch',
  'campaign_content',
  'experiment',
  'audience_page',
  'follow_up_recipient',
  'idempotency_email',
  'held_release',
] as const;

/** Lists removed projects with this public id whose rows are still to be deleted. */
export async function listRemovals(
  db: Database,
  publicId: string,
  removal: 'reset' | 'delete',
): Promise<string[]> {
  const rows = await db
    .selectFrom('project')
    .select('id')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', '=', removal)
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
}

/**
 * Deletes one page of a project's data. Returns the number of deleted rows, and true in `isOver`
 * when none is left. If the number is 0 and `isOver` is false, the rest must wait until mail that
 * is being sent has its outcome, or Temporal has deleted a schedule.
 */
export async function deleteProjectPage(
  db: Database,
  projectId: string,
): Promise<{ deleted: number; isOver: boolean }> {
  for (const { table, rows, of, later } of removedTables) {
    const mine = of
      ? sql<boolean>`${sql.raw(of)} where project_id = ${projectId})`
      : sql<boolean>`project_id = ${projectId}`;
    const isLater = sql<boolean>`(${sql.raw(later ?? 'false')})`;
    const where = sql<boolean>`${mine} and not ${isLater}`;
    const deleted = await (table === 'email'
      ? deleteMail(db, { where, rows })
      : deletePage(db, { table, where, rows }));
    if (deleted > 0) return { deleted, isOver: false };
    if (!later) continue;
    const left = await sql`
      select from ${sql.table(table)} where ${mine} and ${isLater} limit 1`.execute(db);
    if (left.rows.length > 0) return { deleted: 0, isOver: false };
  }
  // The remaining rows of its workflows, segments and topics: mostly versions of workflows.
  const [removal] = await listRemovalIds(db, { projectId, max: 1 });
  if (removal !== undefined) {
    await deleteRemovalPage(db, removal);
    return { deleted: 1, isOver: false };
  }
  const where = sql<boolean>`owner_id = ${projectId}`;
  const deleted =
    (await deletePage(db, { table: 'idempotency', where, rows: 1000 })) ||
    (await deletePage(db, {
      table: 'suppression',
      where: isOwnerDeleted(projectId),
      rows: 1000,
    })) ||
    (await deletePage(db, { table: 'upload', where: isOwnerDeleted(projectId), rows: 1000 })) ||
    (await deletePage(db, { table: 'contact', where: isBeingErased(projectId), rows: 10 })) ||
    (await deletePage(db, { table: 'erasure', where: isOwnerDeleted(projectId), rows: 1000 })) ||
    (await deleteRequests(db, projectId));
  return { deleted, isOver: deleted === 0 };
}

/** Deletes a page of the request log of a project that was deleted. A reset project keeps it. */
async function deleteRequests(db: Database, projectId: string): Promise<number> {
  const owner = await db
    .selectFrom('project')
    .select(publicId.as('id'))
    .where('project.id', '=', projectId)
    .where('removal', '=', 'delete')
    .executeTakeFirst();
  if (!owner) return 0;
  const where = sql<boolean>`owner_id = ${owner.id}`;
  return (
    (await deleteOldest(db, owner.id, 1000)) ||
    (await deletePage(db, { table: 'request_log_count', where, rows: 1000 }))
  );
}

/**
 * SQL that is true if a contact is being erased. Such a contact is in no project, and the run of
 * its erasure ends when the project's erasures are deleted, so the contact is deleted with them.
 */
function isBeingErased(projectId: string) {
  return sql<boolean>`project_id in (select id from erasure inner_erasure
    where ${isOwnerDeleted(projectId)} and state <> 'completed')`;
}

/**
 * SQL that is true if a row belongs to the public id of a project that was deleted, not only reset.
 */
function isOwnerDeleted(projectId: string) {
  return sql<boolean>`owner_id = (select coalesce(inner_owner.public_id, inner_owner.id)
    from project inner_owner where inner_owner.id = ${projectId} and inner_owner.removal = 'delete')`;
}

/**
 * Kinds of runs that outlive a project, so that signals to them are kept. A removal may have to run
 * once more; a domain poller continues after a reset, or makes the mail provider remove the domain;
 * the run of an event subscription continues, or deletes its deliveries; the run of a ramp
 * continues, or ends.
 */
const signalsThatStay: readonly RunKind[] = [
  'projectReset',
  'projectDelete',
  'domainPoller',
  'ramp',
  'eventSubscription',
];

/** Deletes the project's row, the last of its data. */
export async function deleteRemovedProject(db: Database, id: string): Promise<void> {
  await transact(db, async (tx) => {
    await deleteProviders(tx, id);
    for (const table of keptOnReset) {
      await sql`delete from ${sql.table(table)} where project_id = ${id}`.execute(tx);
    }
    await tx
      .deleteFrom('outbox')
      .where('project_id', '=', id)
      .where('kind', 'not in', signalsThatStay)
      .execute();
    await tx.deleteFrom('upload_usage').where(isOwnerDeleted(id)).execute();
    await tx.deleteFrom('suppression_key').where(isOwnerDeleted(id)).execute();
    await tx.deleteFrom('token_bucket').where('key', '=', `project ${id}`).execute();
    await tx.deleteFrom('rate_limit').where('key', '=', `project:${id}`).execute();
    await tx.deleteFrom('project').where('id', '=', id).where('removal', 'is not', null).execute();
  });
}
