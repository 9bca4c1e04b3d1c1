import { type RawBuilder, sql } from 'kysely';
import { defaultProviderId } from '../../domain/provider/provider.ts';
import type { Database } from '../database.ts';
import { providerOf } from '../sql/mail-claims.ts';
import { type Moment, momentsOf } from '../sql/mail-moments.ts';

/** Counts of a project's mail by mail provider. */

/** Maximum number of messages that are counted of each kind, the newest first. */
export const providerMailMax = 10_000;

const kinds = [
  'sending',
  'unknown',
  'accepted',
  'refused',
  'delivered',
  'bounced',
  'complained',
] as const;
type Kind = (typeof kinds)[number];

export type ProviderMail = Record<Kind, number>;

export const noProviderMail: Readonly<ProviderMail> = {
  sending: 0,
  unknown: 0,
  accepted: 0,
  refused: 0,
  delivered: 0,
  bounced: 0,
  complained: 0,
};

const since = sql`now() - interval '24 hours'`;

/**
 * Counts the mail that each provider has now, and the outcomes of mail in the last 24 hours, by
 * provider id. Reads at most `providerMailMax` messages of each kind.
 */
export async function countProviderMail(
  db: Database,
  projectId: string,
): Promise<Map<string, ProviderMail>> {
  const limited = (kind: Kind, newest: RawBuilder<unknown>) =>
    sql`(select email_id, ${sql.lit(kind)} as kind from (${newest} limit ${providerMailMax}) newest)`;
  const moments = (kind: Kind, moment: Moment) =>
    limited(
      kind,
      sql`select email_id from ${momentsOf(projectId, moment, sql`at > ${since}`)}
        order by at desc, email_id desc`,
    );
  const claimed = (kind: Kind, lease: RawBuilder<unknown>) =>
    limited(
      kind,
      sql`select email_id from email_queue where project_id = ${projectId} and lease_until ${lease}
        union all select unnest(email_ids) from campaign_chunk
          where project_id = ${projectId} and attempt_id is not null and lease_until ${lease}`,
    );
  const refused = limited(
    'refused',
    sql`select id as email_id from email where project_id = ${projectId} and error is not null
        and created_at > ${since} and refusal is not null
      order by created_at desc, id desc`,
  );
  const counted = [
    claimed('sending', sql`>= now()`),
    claimed('unknown', sql`< now()`),
    moments('accepted', 'sent'),
    refused,
    moments('delivered', 'delivered'),
    moments('bounced', 'bounced'),
    moments('complained', 'complained'),
  ];
  const { rows } = await sql<{ id: string; kind: Kind; count: number }>`
    select coalesce(${providerOf('email')}, ${defaultProviderId}) as id, mail.kind, count(*)::int as count
      from (${sql.join(counted, sql` union all `)}) mail join email on email.id = mail.email_id
      group by 1, 2`.execute(db);
  const byProvider = new Map<string, ProviderMail>();
  for (const { id, kind, count } of rows) {
    byProvider.set(id, { ...(byProvider.get(id) ?? noProviderMail), [kind]: count });
  }
  return byProvider;
}
