import { type RawBuilder, sql } from 'kysely';
import { insertSecurityEvent } from '../../accounts/security-events.ts';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import { following, ledgerColumns, type LedgerTable, whenFailing } from '../../sql/ledger.ts';
import { traceEntry } from '../../sql/mail-trace.ts';
import { systemActor } from '../../../domain/access/actor.ts';
import { deliveryRunId } from '../../../domain/runs/execution.ts';
import { holdAllChunks } from './hold-mail.ts';

/** The operator decides about mail that is held after a restore: it leaves, or it fails. */

/** Which held mail a decision is about. All given conditions must hold. */
export interface MailFilter {
  /** The public id of a project. */
  projectId?: string | undefined;
  campaignId?: string | undefined;
  createdBefore?: Date | undefined;
  createdAfter?: Date | undefined;
}

export type Decision = 'release' | 'discard';

/** Maximum number of messages that one transaction reads. */
const pageSize = 1_000;

/** Releases or discards held mail, page by page. Returns the number of messages. */
export async function decideMail(
  db: Database,
  decision: Decision,
  filter: MailFilter,
): Promise<number> {
  const counts = new Map<string, number>();
  const count = (projectId: string, messages: number) =>
    counts.set(projectId, (counts.get(projectId) ?? 0) + messages);
  const campaigns = await listHeldCampaigns(db, filter);
  if (decision === 'discard') for (const { id } of campaigns) await holdAllChunks(db, id);
  for (let after: Position = start; ;) {
    const page = await decidePage(db, { decision, filter, after });
    for (const { project_id: projectId } of page.decided) count(projectId, 1);
    if (!page.last) break;
    after = page.last;
  }
  for (const campaign of campaigns) {
    const unmade = await decideCampaign(db, decision, campaign.id);
    count(campaign.project_id, unmade);
  }
  await noteReleased(db, decision, filter);
  for (const [projectId, messages] of counts) {
    await recordDecision(db, { decision, projectId, messages });
  }
  return [...counts.values()].reduce((sum, messages) => sum + messages, 0);
}

interface Position {
  project_id: string;
  email_id: string;
}

const none = '00000000-0000-0000-0000-000000000000';
const start: Position = { project_id: none, email_id: none };

/** SQL that is true if a record of a project, made at a time, matches the filter. */
function matches(
  filter: MailFilter,
  row: { projectId: RawBuilder<unknown>; campaignId: RawBuilder<unknown>; at: RawBuilder<unknown> },
): RawBuilder<boolean> {
  const { projectId, campaignId, createdBefore, createdAfter } = filter;
  const isProject = sql`${row.projectId} in (select inner_of.id from project inner_of
    where coalesce(inner_of.public_id, inner_of.id) = ${projectId ?? null})`;
  const conditions = [
    ...(projectId ? [isProject] : []),
    ...(campaignId ? [sql`${row.campaignId} = ${campaignId}`] : []),
    ...(createdBefore ? [sql`${row.at} < ${createdBefore}`] : []),
    ...(createdAfter ? [sql`${row.at} > ${createdAfter}`] : []),
  ];
  return conditions.length === 0 ? sql`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

interface HeldCampaign {
  id: string;
  project_id: string;
}

async function listHeldCampaigns(db: Database, filter: MailFilter): Promise<HeldCampaign[]> {
  const which = matches(filter, {
    projectId: sql`project_id`,
    campaignId: sql`id`,
    at: sql`created_at`,
  });
  const { rows } = await sql<HeldCampaign>`
    select id, project_id from campaign where held_at is not null and ${which}
      order by project_id, id`.execute(db);
  return rows;
}

const released = sql`due_at = greatest(now(), email.scheduled_for, email.retry_at),
  hold_reason = null, held_until = now(), updated_at = now()`;
const discarded = sql`status = 'FAILED', error = 'restored', hold_reason = null, held_until = now(),
  updated_at = now(),
  trace = email.trace || ${traceEntry('withheld', sql`jsonb_build_object('reason', 'restored')`)}`;

/** Decides about a page of held messages. `last` null: it was the last page. */
async function decidePage(
  db: Database,
  { decision, filter, after }: { decision: Decision; filter: MailFilter; after: Position },
): Promise<{ decided: { project_id: string }[]; last: Position | null }> {
  const isReleased = decision === 'release';
  const tables: readonly LedgerTable[] = isReleased ? ['queue'] : whenFailing;
  // Mail of a campaign is as old as its campaign.
  const which = matches(filter, {
    projectId: sql`email.project_id`,
    campaignId: sql`email.campaign_id`,
    at: sql`coalesce((select inner_sent.created_at from campaign inner_sent
      where inner_sent.id = email.campaign_id), email.created_at)`,
  });
  return transact(db, async (tx) => {
    const { rows } = await sql<{ last: Position | null; decided: { project_id: string }[] | null }>`
      with page as materialized (
        select project_id, email_id from email_queue where hold_reason = 'operator'
            and (project_id, email_id) > (${after.project_id}::uuid, ${after.email_id}::uuid)
          order by project_id, email_id limit ${pageSize}
      ), held as (
        select email.id from page join email on email.id = page.email_id
          where email.status = 'PENDING' and email.hold_reason = 'operator' and ${which}
          order by email.id for update of email
      ), changed as (
        update email set ${isReleased ? released : discarded} from held where email.id = held.id
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'changed' }, tables)}
      select (select to_jsonb(page) from page order by project_id desc, email_id desc limit 1) as last,
          (select jsonb_agg(jsonb_build_object('project_id', project_id)) from changed) as decided`.execute(
      tx,
    );
    const [page] = rows;
    const decided = page?.decided ?? [];
    const projects = new Set(decided.map((row) => row.project_id));
    notifyAfterCommit(
      tx,
      [...projects].map((projectId) => ({ runId: deliveryRunId(projectId), projectId })),
    );
    return { decided, last: page?.last ?? null };
  });
}

/**
 * Has a campaign continue, or end without its remaining mail. Returns the number of messages that were
 * not made yet.
 */
async function decideCampaign(db: Database, decision: Decision, id: string): Promise<number> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ project_id: string; name: string; unmade: number }>`
      update campaign set held_at = null, updated_at = now()
          ${decision === 'release' ? sql`` : withoutRest}
        from (select id, case when status = 'SCHEDULED' then total_recipients else 0 end as unmade
          from campaign where id = ${id} and held_at is not null for update) before
        where campaign.id = before.id
        returning project_id, name, unmade`.execute(tx);
    const [campaign] = rows;
    if (!campaign) return 0;
    await signalCampaign(tx, { ...campaign, id });
    return campaign.unmade;
  });
}

/** SQL of the columns of a campaign that ends without further mail. */
const withoutRest = sql`,
  status = case when status = 'SCHEDULED' then 'SENT' else status end,
  sent_at = case when status = 'SCHEDULED' then now() else sent_at end,
  total_recipients = case when audience_fixed then total_recipients else frozen_count end,
  audience_fixed = true`;

/** Records that further mail of a released project is not held: see `isHeldExecution`. */
async function noteReleased(db: Database, decision: Decision, filter: MailFilter): Promise<void> {
  const { projectId, campaignId, createdBefore, createdAfter } = filter;
  if (!projectId || decision === 'discard' || campaignId || createdBefore || createdAfter) return;
  await sql`
    update installation set released = released || array(select id from project
      where coalesce(public_id, id) = ${projectId} and id <> all(released))`.execute(db);
}

async function recordDecision(
  db: Database,
  { decision, projectId, messages }: { decision: Decision; projectId: string; messages: number },
): Promise<void> {
  await insertSecurityEvent(db, {
    event: decision === 'release' ? 'mail.released' : 'mail.discarded',
    userId: null,
    actor: systemActor('server'),
    projectId,
    ip: null,
    requestId: null,
    target: { type: 'project', id: projectId },
    changes: null,
    details: { messages },
  });
}
