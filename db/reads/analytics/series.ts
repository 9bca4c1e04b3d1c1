import { type RawBuilder, sql } from 'kysely';
import { limits } from '../../../domain/limits.ts';
import { withinTime } from '../../bounded.ts';
import type { Database } from '../../database.ts';
import { anyOf, finite } from '../../expressions.ts';
import { countMoments, type Moment } from '../../sql/mail-moments.ts';

/** Counts sends, opens and other moments of mail by day, hour or minute. */

export const seriesKinds = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'unsubscribed',
  'humanOpened',
  'humanClicked',
] as const satisfies Moment[];

export type SeriesKind = (typeof seriesKinds)[number];

/** Returns the column of `email` with the first time of a kind of moment. */
function columnOf(kind: SeriesKind): RawBuilder<unknown> {
  if (kind === 'humanOpened') return sql.ref('email.human_opened_at');
  if (kind === 'humanClicked') return sql.ref('email.human_clicked_at');
  return sql.ref(`email.${kind}_at`);
}

/**
 * Counts of one part of a series. A message counts once for each kind of moment, at the first
 * moment of this kind. `value`: the sum of the values of the conversions.
 */
export interface SeriesCounts extends Record<SeriesKind, number> {
  conversions: number;
  value: number;
}

/** Mail of one campaign, one template or some steps. `column` has an index. */
export interface MailOwner {
  column: 'campaign_id' | 'template_id' | 'workflow_step_id';
  ids: readonly string[];
}

/** A part of a series; both ends are included. */
export interface SeriesPart {
  from: Date;
  to: Date;
}

const bounded = { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' } as const;

/**
 * Counts sends, deliveries, opens and so on, and conversions, in each part of a period. The parts
 * follow each other. The mail of an owner is read by an index. For a whole project, the index of
 * moments and the tally of whole days are used.
 * @param owner null: all mail of the project
 * @throws Problem STATS_TOO_HEAVY
 */
export async function countSeries(
  db: Database,
  { projectId, owner }: { projectId: string; owner: MailOwner | null },
  parts: readonly SeriesPart[],
): Promise<SeriesCounts[]> {
  if (parts.length === 0) return [];
  return withinTime(db, bounded, async (tx) => {
    const counts = await (owner
      ? countOfOwner(tx, projectId, owner, parts)
      : countOfProject(tx, projectId, seriesKinds, parts));
    const converted = await countConversions(tx, projectId, owner, parts);
    return counts.map((count, index) => ({ ...count, ...converted[index]! }));
  });
}

type MailCounts = Record<SeriesKind, number>;
type ConversionCounts = Pick<SeriesCounts, 'conversions' | 'value'>;

/** SQL of the number of the consecutive part, from 1, that contains a time. */
function partOf(at: RawBuilder<unknown>, parts: readonly SeriesPart[]): RawBuilder<number> {
  const starts = parts.map(({ from }) => from);
  return sql<number>`width_bucket(${at}, ${starts}::timestamptz[])`;
}

async function countConversions(
  tx: Database,
  projectId: string,
  owner: MailOwner | null,
  parts: readonly SeriesPart[],
): Promise<ConversionCounts[]> {
  const ofOwner = owner
    ? sql`and exists (select from email
        where email.id = conversion.email_id and ${isOf(projectId, owner)})`
    : sql``;
  const { rows } = await sql<{ part: number; conversions: number; value: string }>`
    select ${partOf(sql`conversion.at`, parts)} as part, count(*)::float8 as conversions,
        round(sum(value), 6)::text as value
      from conversion where project_id = ${projectId}
        and conversion.at between ${parts[0]!.from} and ${parts.at(-1)!.to} ${ofOwner}
      group by 1`.execute(tx);
  const counts = parts.map((): ConversionCounts => ({ conversions: 0, value: 0 }));
  for (const { part, conversions, value } of rows) {
    counts[part - 1] = { conversions, value: finite(Number(value)) };
  }
  return counts;
}

/**
 * Like `countSeries`, for some kinds of moments and all mail of a project.
 * @throws Problem STATS_TOO_HEAVY
 */
export async function countKinds<Kind extends SeriesKind>(
  db: Database,
  projectId: string,
  kinds: readonly Kind[],
  parts: readonly SeriesPart[],
): Promise<Record<Kind, number>[]> {
  return withinTime(db, bounded, (tx) => countOfProject(tx, projectId, kinds, parts));
}

async function countOfProject<Kind extends SeriesKind>(
  tx: Database,
  projectId: string,
  kinds: readonly Kind[],
  parts: readonly SeriesPart[],
): Promise<Record<Kind, number>[]> {
  const period = { from: sql<Date>`part.since`, to: sql<Date>`part.until` };
  const counts = kinds.map(
    (kind) => sql`${countMoments(projectId, kind, period)} as ${sql.ref(kind)}`,
  );
  const { rows } = await sql<Record<Kind, number>>`
    select ${sql.join(counts)}
      from unnest(${parts.map(({ from }) => from)}::timestamptz[],
        ${parts.map(({ to }) => to)}::timestamptz[]) with ordinality as part(since, until, number)
      order by part.number`.execute(tx);
  return rows;
}

/**
 * Counts the moments of an owner's mail. Groups the messages by the parts in which their moments
 * are, and then counts each kind. This is faster than splitting the messages by kind first.
 */
async function countOfOwner(
  tx: Database,
  projectId: string,
  owner: MailOwner,
  parts: readonly SeriesPart[],
): Promise<MailCounts[]> {
  const afterLast = new Date(parts.at(-1)!.to.getTime() + 1);
  const starts = [...parts.map(({ from }) => from), afterLast];
  const { rows } = await sql<{ part: number; kind: SeriesKind; count: number }>`
    with bounds as materialized (
      select ${starts}::timestamptz[] as starts
    ), grouped as materialized (
      select ${partsOfMail}, count(*) as count from email where ${isOf(projectId, owner)}
        group by ${sql.join(seriesKinds.map((_, index) => sql.lit(index + 1)))}
    )
    select moment.part, moment.kind, sum(count)::float8 as count
      from grouped cross join lateral (values ${unfolded}) as moment(kind, part)
      where moment.part between 1 and ${parts.length} group by 1, 2`.execute(tx);
  const counts = parts.map(
    () => Object.fromEntries(seriesKinds.map((kind) => [kind, 0])) as MailCounts,
  );
  for (const { part, kind, count } of rows) counts[part - 1]![kind] = count;
  return counts;
}

const partsOfMail = sql.join(
  seriesKinds.map(
    (kind) => sql`width_bucket(${columnOf(kind)}, (select starts from bounds)) as ${sql.ref(kind)}`,
  ),
);

const unfolded = sql.join(
  seriesKinds.map((kind) => sql`(${sql.lit(kind)}, ${sql.ref(`grouped.${kind}`)})`),
);

function isOf(projectId: string, { column, ids }: MailOwner): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(`email.${column}`)} = ${anyOf(ids)} and email.project_id = ${projectId}`;
}

/**
 * Returns the latest moment of the mail of an owner; null: there is none yet.
 * @throws Problem STATS_TOO_HEAVY
 */
export async function findLastMoment(
  db: Database,
  { projectId, owner }: { projectId: string; owner: MailOwner },
): Promise<Date | null> {
  const columns = seriesKinds.map(columnOf);
  return withinTime(db, bounded, async (tx) => {
    const { rows } = await sql<{ at: Date | null }>`
      select greatest(max(greatest(${sql.join(columns)})),
          (select max(at) from conversion where owner_id = ${anyOf(owner.ids)})) as at from email
        where ${isOf(projectId, owner)}`.execute(tx);
    return rows[0]?.at ?? null;
  });
}
