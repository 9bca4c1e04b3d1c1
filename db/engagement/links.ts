import { type RawBuilder, sql } from 'kysely';
import type { Verdict } from '../../domain/engagement/verdict.ts';
import { type ClickedLink, otherLinkId } from '../../domain/links/link-list.ts';
import { limits } from '../../domain/limits.ts';
import type { Database } from '../database.ts';

/**
 * Counts clicks by link. Each link belongs to an owner: a campaign, a template or a step. A message
 * may have several owners.
 */

/** A click whose verdict was set or changed. */
export interface JudgedClick {
  emailId: string;
  linkId: string;
  /** The target of the link. */
  link: string;
  at: Date;
  /** The previous verdict; null: there was none, so the click is not counted yet. */
  was: Verdict | null;
  verdict: Verdict;
}

/**
 * Counts the clicks of messages that the caller has locked. Call this function last in the
 * transaction, because it locks each owner whose link is clicked for the first time.
 */
export async function countLinkClicks(tx: Database, clicks: readonly JudgedClick[]): Promise<void> {
  if (clicks.length === 0) return;
  const changes = changesOfOwners(clicks);
  await keepLinks(tx, changes);
  await sql`
    with owned as (
      select change.owner_id, coalesce(kept.link_id, ${otherLinkId}) as link_id, change.created_at,
          change.email_id, sum(change.clicks)::int as clicks, sum(change.human)::int as human,
          sum(change.machine)::int as machine, min(change.at) as first_at, max(change.at) as last_at
        from (${changes}) change left join tracked_link kept
          on kept.owner_id = change.owner_id and kept.link_id = change.link_id
        group by 1, 2, 3, 4
    ), changed as (
      select owned.owner_id, owned.link_id, owned.created_at, owned.email_id, owned.clicks,
          owned.human, owned.machine, owned.first_at, owned.last_at, was.email_id is null as is_new,
          coalesce(was.human_clicks, 0) as human_before
        from owned left join email_link was on was.owner_id = owned.owner_id
          and was.link_id = owned.link_id and was.email_created_at = owned.created_at
          and was.email_id = owned.email_id
    ), stored as (
      insert into email_link as stored (owner_id, link_id, email_created_at, email_id, clicks,
          human_clicks, machine_clicks, first_at, last_at)
        select owner_id, link_id, created_at, email_id, clicks, human, machine, first_at, last_at
          from changed
        on conflict (owner_id, link_id, email_created_at, email_id) do update
          set clicks = stored.clicks + excluded.clicks,
            human_clicks = stored.human_clicks + excluded.human_clicks,
            machine_clicks = stored.machine_clicks + excluded.machine_clicks,
            first_at = least(stored.first_at, excluded.first_at),
            last_at = greatest(stored.last_at, excluded.last_at)
    )
    insert into link_tally (owner_id, link_id, clicks, emails, human_clicks, human_emails,
        machine_clicks, first_at, last_at)
      select owner_id, link_id, sum(clicks), count(*) filter (where is_new), sum(human),
          sum((human_before + human > 0)::int - (human_before > 0)::int), sum(machine),
          min(first_at), max(last_at)
        from changed group by 1, 2`.execute(tx);
}

function changeOf({ emailId, linkId, link, at, was, verdict }: JudgedClick) {
  const difference = (kind: Verdict) => Number(verdict === kind) - Number(was === kind);
  return {
    email_id: emailId,
    link_id: linkId,
    link,
    at,
    clicks: Number(was === null),
    human: difference('human'),
    machine: difference('machine'),
  };
}

/** SQL that selects the changes of counts, for each owner of each link. */
function changesOfOwners(clicks: readonly JudgedClick[]): RawBuilder<unknown> {
  return sql`
    select owner.id as owner_id, email.project_id, email.created_at, change.email_id, change.link_id,
        change.link, change.at, change.clicks, change.human, change.machine
      from jsonb_to_recordset(${JSON.stringify(clicks.map(changeOf))}::jsonb) as change(email_id uuid,
        link_id text, link text, at timestamptz, clicks int, human int, machine int)
      join email on email.id = change.email_id
      join lateral (values (email.campaign_id), (email.template_id), (email.workflow_step_id))
        as owner(id) on owner.id is not null`;
}

/** SQL of the number of stored links of an owner. */
function countKept(owner: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`(select count(*) from tracked_link inner_kept_link where inner_kept_link.owner_id = ${owner})`;
}

function isKept(owner: RawBuilder<unknown>, link: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from tracked_link inner_known_link
    where inner_known_link.owner_id = ${owner} and inner_known_link.link_id = ${link})`;
}

interface NewLink {
  owner_id: string;
  link_id: string;
  project_id: string;
  url: string;
}

/**
 * Stores the links that are clicked for the first time, up to `limits.linksMax` of each owner.
 * Links are never deleted, so a link beyond this number is never stored.
 */
async function keepLinks(tx: Database, changes: RawBuilder<unknown>): Promise<void> {
  const { rows: fresh } = await sql<NewLink>`
    select distinct on (owner_id, link_id) owner_id, link_id, project_id, link as url
      from (${changes}) change
      where not ${isKept(sql`change.owner_id`, sql`change.link_id`)}
        and ${countKept(sql`change.owner_id`)} < ${limits.linksMax}
      order by owner_id, link_id, at`.execute(tx);
  if (fresh.length === 0) return;
  const owners = [...new Set(fresh.map((link) => link.owner_id))];
  await sql`select pg_advisory_xact_lock(hashtextextended('links ' || id, 0))
    from (select unnest(${owners}::uuid[]) as id order by 1) ordered`.execute(tx);
  await sql`
    insert into tracked_link (owner_id, link_id, project_id, url)
      select owner_id, link_id, project_id, url from (
          select owner_id, link_id, project_id, url, row_number() over (partition by owner_id order by link_id) as number
            from jsonb_to_recordset(${JSON.stringify(fresh)}::jsonb) as fresh(owner_id uuid,
              link_id text, project_id uuid, url text)
            where not ${isKept(sql`fresh.owner_id`, sql`fresh.link_id`)}) numbered
        where number <= ${limits.linksMax} - ${countKept(sql`numbered.owner_id`)}`.execute(tx);
}

/** Returns the counts of the clicked links of an owner. */
export async function listClickedLinks(db: Database, ownerId: string): Promise<ClickedLink[]> {
  const { rows } = await sql<ClickedLink>`
    select tally.link_id as "linkId", kept.url, tally.clicks, tally.emails,
        tally."humanClicks", tally."humanEmails", tally."machineClicks", tally."firstAt",
        tally."lastAt"
      from (select link_id, sum(clicks)::float8 as clicks, sum(emails)::float8 as emails,
            sum(human_clicks)::float8 as "humanClicks", sum(human_emails)::float8 as "humanEmails",
            sum(machine_clicks)::float8 as "machineClicks", min(first_at) as "firstAt",
            max(last_at) as "lastAt"
          from link_tally where owner_id = ${ownerId} group by link_id) tally
      left join tracked_link kept on kept.owner_id = ${ownerId} and kept.link_id = tally.link_id`.execute(
    db,
  );
  return rows;
}

/** Counts the existing messages in which a link was clicked, without reading them. */
export async function countClickedMail(
  db: Database,
  { ownerId, linkId }: { ownerId: string; linkId: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(emails) - sum(gone), 0)::float8 as count from link_tally
      where owner_id = ${ownerId} and link_id = ${linkId}`.execute(db);
  return rows[0]?.count ?? 0;
}
