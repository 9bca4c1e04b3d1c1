import { sql } from 'kysely';
import type { ContentLink } from '../../domain/links/content-links.ts';
import { references } from '../columns.ts';
import type { Database } from '../database.ts';
import { columns } from '../tables.ts';

/** Maximum number of new rows that one statement folds. */
const foldedAtOnce = 20_000;

const tally = (table: string) => references(columns.link_tally, table);

/**
 * Replaces the new rows of each link by one row with their sums. Rows of a deleted project are only
 * deleted. Returns true if there may be more. If there are no new rows, it reads nothing.
 */
export async function foldLinkTally(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    with page as (
      select ctid as row, owner_id, link_id from link_tally where fresh limit ${foldedAtOnce}
    ), gone as (
      delete from link_tally where ctid = any(array(select row from page)) returning ${tally('link_tally')}
    ), folded as (
      delete from link_tally tally using (select distinct owner_id, link_id from page) touched
        where (tally.owner_id, tally.link_id) = (touched.owner_id, touched.link_id) and not fresh
        returning ${tally('tally')}
    ), sums as (
      insert into link_tally (owner_id, link_id, clicks, emails, human_clicks, human_emails,
          machine_clicks, first_at, last_at, gone, fresh)
        select owner_id, link_id, sum(clicks), sum(emails), sum(human_clicks), sum(human_emails),
            sum(machine_clicks), min(first_at), max(last_at), sum(gone), false
          from (select ${tally('gone')} from gone union all select ${tally('folded')} from folded) row
          where exists (select from tracked_link kept where kept.owner_id = row.owner_id)
          group by 1, 2
    )
    select count(*)::int as count from page`.execute(db);
  return rows[0]?.count === foldedAtOnce;
}

/** Maximum number of versions of a campaign's content that are searched for a link. */
const versionsMax = 5;

/**
 * A new row of `tracked_link` has the target of the first click, which may be made from the data of
 * one recipient. For one owner with such rows, this function replaces the targets by the addresses
 * as the author wrote them. A link that is no longer in the content keeps its target. Returns true
 * if there may be more. If there are no new links, it reads nothing.
 */
export async function readAddresses(
  db: Database,
  renderer: { links(source: string, owner: string): Promise<readonly ContentLink[]> },
): Promise<boolean> {
  const { rows: found } = await sql<{ owner_id: string; project_id: string }>`
    select owner_id, project_id from tracked_link where not is_checked limit 1`.execute(db);
  const [first] = found;
  if (!first) return false;
  const { owner_id: ownerId, project_id: projectId } = first;
  const unread = await db
    .selectFrom('tracked_link')
    .select('link_id')
    .where('owner_id', '=', ownerId)
    .where(sql<boolean>`not is_checked`)
    .execute();
  const ids = unread.map((link) => link.link_id);
  const written = new Map<string, string>();
  for (const source of await listContents(db, ownerId)) {
    for (const { linkId, url } of await renderer.links(source, projectId)) {
      if (ids.includes(linkId)) written.set(linkId, url);
    }
  }
  await sql`
    update tracked_link link set is_checked = true, is_written = written.url is not null,
        url = coalesce(written.url, link.url)
      from unnest(${ids}::text[], ${ids.map((id) => written.get(id) ?? null)}::text[])
        as written(link_id, url)
      where link.owner_id = ${ownerId} and link.link_id = written.link_id`.execute(db);
  return true;
}

async function listContents(db: Database, ownerId: string): Promise<string[]> {
  const { rows } = await sql<{ body: string }>`
    (select body from campaign_content where campaign_id = ${ownerId}
        order by version desc limit ${versionsMax})
      union all select body from template where id = ${ownerId}
      union all select template.body from workflow_step step
        join template on template.id = step.template_id where step.id = ${ownerId}`.execute(db);
  return rows.map(({ body }) => body);
}
