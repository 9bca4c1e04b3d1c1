import { type RawBuilder, sql } from 'kysely';
import { references } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import type {
  ClientSign,
  EngagementKind,
  Verdict,
  VerdictRule,
} from '../../domain/engagement/verdict.ts';

/**
 * Requests for the open pixels and tracked links of messages, as rows of `engagement`. The column
 * `settle_at` is the time at which a request is due to be judged; null: it is judged.
 */

/** Seconds after which a request is judged: by then, most of the evidence is known. */
const settleSeconds = 6;
/** Seconds for which a verdict may still change. */
const revisionSeconds = 3600;
/** Within this many seconds, equal opens or HEAD requests of one client are stored as one row. */
const mergeSeconds = 10;

/** A request for a pixel or link of a message. */
export interface NewEngagement {
  projectId: string;
  emailId: string;
  at: Date;
  kind: EngagementKind;
  link: string | null;
  linkId: string | null;
  linkCount: number;
  client: string | null;
  signs: readonly ClientSign[];
}

/** SQL that is true while a verdict on a request may change. */
const mayBeRevised = sql<boolean>`at > now() - make_interval(secs => ${sql.lit(revisionSeconds)})`;

/**
 * Returns SQL that inserts requests. The transaction has locked their messages. Each click has a
 * row of its own, because all clicks count.
 */
export function insertingEngagement(rows: readonly NewEngagement[]): RawBuilder<unknown> {
  const given = withoutRepeats(rows).map((row) => ({
    project_id: row.projectId,
    email_id: row.emailId,
    at: row.at,
    kind: row.kind,
    link: row.link,
    link_id: row.linkId,
    link_count: row.linkCount,
    client: row.client,
    signs: row.signs,
  }));
  return sql`
    insert into engagement
        (project_id, email_id, at, kind, link, link_id, link_count, client, signs, settle_at)
      select project_id, email_id, at, kind, link, link_id, link_count, client, signs,
          clock_timestamp() + make_interval(secs => ${sql.lit(settleSeconds)})
        from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given(project_id uuid,
          email_id uuid, at timestamptz, kind text, link text, link_id text, link_count int,
          client text, signs text[])
        where kind = 'click' or not exists (
          select from engagement inner_same
            where inner_same.email_id = given.email_id
              and inner_same.at > given.at - make_interval(secs => ${sql.lit(mergeSeconds)})
              and inner_same.at <= given.at
              and inner_same.kind = given.kind and inner_same.client = given.client
              and inner_same.link_id is not distinct from given.link_id)`;
}

/** Drops repeated opens and HEAD requests of one client. */
function withoutRepeats(rows: readonly NewEngagement[]): NewEngagement[] {
  const last = new Map<string, number>();
  return rows.filter(({ kind, emailId, linkId, client, at }) => {
    if (kind === 'click' || client === null) return true;
    const key = `${kind} ${emailId} ${linkId} ${client}`;
    const before = last.get(key);
    const isRepeat = before !== undefined && Math.abs(at.getTime() - before) < mergeSeconds * 1000;
    if (!isRepeat) last.set(key, at.getTime());
    return !isRepeat;
  });
}

/**
 * Makes recent requests due for another judgement, because the delivery of their messages was
 * reported. Requests by machines keep their verdict. The caller has locked the messages.
 */
export async function judgeAgain(tx: Database, emailIds: readonly string[]): Promise<void> {
  await sql`
    update engagement set settle_at = now()
      where email_id = ${anyOf(emailIds)} and settle_at is null and verdict <> 'machine'
        and ${mayBeRevised}`.execute(tx);
}

/** A message with requests that are due to be judged. */
export interface DueMail {
  id: string;
  contactId: string;
  projectId: string;
}

/** Messages of some projects. */
export interface DuePage {
  mails: DueMail[];
  /** The last project that was checked; null: no project comes after it. */
  last: string | null;
}

/** Maximum number of projects, and of requests, in one page. */
const projectsMax = 50;
const pageMax = 500;

/**
 * Finds messages with requests that are due: an equal number from each of the next projects with
 * unjudged requests. Locks nothing. If nothing is due, it reads no row.
 * @param after only projects with a greater id; null: all
 */
export async function findDue(db: Database, after: string | null): Promise<DuePage> {
  const next = (above: RawBuilder<unknown>) => sql`
    select inner_next.project_id from engagement inner_next
      where inner_next.settle_at is not null and inner_next.project_id > ${above}
      order by inner_next.project_id limit 1`;
  const { rows } = await sql<{ projectId: string; ids: string[]; contactIds: string[] }>`
    with recursive active as (
      (${next(sql`${after ?? noProject}::uuid`)})
      union all
      select found.project_id from active
        cross join lateral (${next(sql`active.project_id`)}) found
    ), page as materialized (
      select project_id, count(*) over () as projects
        from (select project_id from active limit ${projectsMax}) listed
    )
    select page.project_id as "projectId", coalesce(due.ids, '{}') as ids,
        coalesce(due.contact_ids, '{}') as "contactIds"
      from page left join lateral (
        select array_agg(email.id) as ids, array_agg(email.contact_id) as contact_ids
          from (select distinct email_id from (
              select email_id from engagement
                where settle_at is not null and settle_at <= now()
                  and engagement.project_id = page.project_id
                order by settle_at limit greatest(${pageMax} / page.projects, 1)) earliest) known
          join email on email.id = known.email_id) due on true
      order by page.project_id`.execute(db);
  return {
    mails: rows.flatMap(({ projectId, ids, contactIds }) =>
      ids.map((id, index) => ({ id, contactId: contactIds[index]!, projectId })),
    ),
    last: rows.length === projectsMax ? rows.at(-1)!.projectId : null,
  };
}

const noProject = '00000000-0000-0000-0000-000000000000';

/** The columns of a request that its judgement needs. */
export interface EngagementRow {
  id: string;
  emailId: string;
  kind: EngagementKind;
  at: Date;
  link: string | null;
  linkId: string | null;
  linkCount: number;
  client: string | null;
  signs: ClientSign[];
  verdict: Verdict | null;
  rule: VerdictRule | null;
  isDue: boolean;
  mayBeRevised: boolean;
}

const judged = [
  'id',
  'email_id',
  'kind',
  'at',
  'link',
  'link_id',
  'link_count',
  'client',
  'signs',
  'verdict',
  'rule',
  'settle_at',
];

/**
 * Maximum number of requests for one message that are judged together. `dueMax`: maximum number of
 * due requests among them.
 */
const judgedMax = 500;
const dueMax = 100;

/**
 * Returns the due requests of messages, and all requests within `aroundSeconds` seconds before or
 * after a due one.
 */
export async function listAroundDue(
  tx: Database,
  emailIds: readonly string[],
  aroundSeconds: number,
): Promise<EngagementRow[]> {
  const around = sql`make_interval(secs => ${aroundSeconds})`;
  const { rows } = await sql<EngagementRow>`
    select id::text, email_id as "emailId", kind, at, link, link_id as "linkId",
        link_count as "linkCount", client, signs, verdict, rule,
        coalesce(settle_at <= now(), false) as "isDue", ${mayBeRevised} as "mayBeRevised"
      from (
        select email_id as due_email_id, min(at) as first_at, max(at) as last_at
          from (
            select email_id, at,
                row_number() over (partition by email_id order by settle_at, id) as position
              from engagement where email_id = ${anyOf(emailIds)} and settle_at <= now()) due
          where position <= ${dueMax} group by email_id) due
      cross join lateral (
        select ${references(judged, 'engagement')} from engagement
          where email_id = due_email_id and at >= first_at - ${around} and at <= last_at + ${around}
          -- The due requests come first, so that each is judged in the end, however many there are.
          order by settle_at <= now() desc nulls last, at desc limit ${judgedMax}) near`.execute(
    tx,
  );
  return rows;
}

/** Stores verdicts, and marks the requests as judged. */
export async function updateVerdicts(
  tx: Database,
  rows: readonly {
    id: string;
    emailId: string;
    at: Date;
    verdict: Verdict | null;
    rule: string | null;
  }[],
): Promise<void> {
  if (rows.length === 0) return;
  const given = rows.map(({ id, emailId, at, verdict, rule }) => ({
    id,
    email_id: emailId,
    at,
    verdict,
    rule,
  }));
  await sql`
    update engagement set verdict = given.verdict, rule = given.rule, settle_at = null
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb)
        as given(id bigint, email_id uuid, at timestamptz, verdict text, rule text)
      where (engagement.email_id, engagement.at, engagement.id)
        = (given.email_id, given.at, given.id)`.execute(tx);
}

/** The verdicts on all opens, or all clicks, of a message. */
export interface VerdictSummary {
  emailId: string;
  kind: 'open' | 'click';
  /** The first request by a person, among those that are still stored. */
  humanAt: Date | null;
  isByMachines: boolean;
}

export async function summariseVerdicts(
  tx: Database,
  emailIds: readonly string[],
): Promise<VerdictSummary[]> {
  const { rows } = await sql<VerdictSummary>`
    select email_id as "emailId", kind, min(at) filter (where verdict = 'human') as "humanAt",
        bool_and(verdict = 'machine') as "isByMachines"
      from engagement where email_id = ${anyOf(emailIds)} and verdict is not null
      group by email_id, kind`.execute(tx);
  return rows;
}

/** Maximum number of judged requests that are kept for one message. */
const keptMax = 500;

/**
 * Deletes judged requests of messages that have too many: first those by machines, then old ones.
 */
export async function deleteSurplus(tx: Database, emailIds: readonly string[]): Promise<void> {
  await sql`
    delete from engagement using (
      select email_id, at, id, row_number() over (
            partition by email_id order by verdict is not distinct from 'machine', at desc, id desc) as position
        from engagement where email_id = ${anyOf(emailIds)} and settle_at is null) ranked
      where ranked.position > ${keptMax}
        and (engagement.email_id, engagement.at, engagement.id)
          = (ranked.email_id, ranked.at, ranked.id)`.execute(tx);
}

/** Maximum number of requests whose client one statement deletes. */
const clearedAtOnce = 2_000;

/**
 * Deletes the client of requests whose verdict is final, and deletes HEAD requests. Returns true if
 * there may be more.
 */
export async function removeOldClients(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    with page as materialized (
      select email_id, at, id, kind from engagement
        where client is not null and not ${mayBeRevised} and settle_at is null
        order by at limit ${clearedAtOnce} for update skip locked
    ), heads as (
      delete from engagement using page
        where page.kind = 'head'
          and (engagement.email_id, engagement.at, engagement.id) = (page.email_id, page.at, page.id)
    ), cleared as (
      update engagement set client = null from page
        where page.kind <> 'head'
          and (engagement.email_id, engagement.at, engagement.id) = (page.email_id, page.at, page.id)
    )
    select count(*)::int as count from page`.execute(db);
  return rows[0]?.count === clearedAtOnce;
}

/** An open or click as the API shows it. */
export type ShownEngagement = Pick<EngagementRow, 'at' | 'link' | 'linkId' | 'verdict' | 'rule'> & {
  kind: 'open' | 'click';
};

/** Maximum number of opens and clicks that are shown for one message. */
const shownMax = 200;

/** Returns the newest opens and clicks of a message, oldest first. */
export async function listEngagement(db: Database, emailId: string): Promise<ShownEngagement[]> {
  const { rows } = await sql<ShownEngagement>`
    select at, kind, link, link_id as "linkId", verdict, rule from engagement
      where email_id = ${emailId} and kind <> 'head'
      order by at desc, id desc limit ${shownMax}`.execute(db);
  return rows.toReversed();
}
