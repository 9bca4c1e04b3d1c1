import { type RawBuilder, sql } from 'kysely';

/**
 * When messages were sent, delivered, opened and so on: rows of `email_moment`, which triggers keep. They are
 * read where the newest of a project are asked for, or all of a period; what a contact has had is found by its mail.
 */

/** A moment of a message. Sent: not FAILED, and not received. */
export type Moment = 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained';

/**
 * Sent and delivered in one: where the provider reports no deliveries, acceptance is one, and a row for both is
 * half as much.
 */
export const sentAndDelivered = 7;

/** The numbers of the rows that tell of a moment. */
const kinds: Readonly<Record<Moment, readonly number[]>> = {
  sent: [1, sentAndDelivered],
  delivered: [2, sentAndDelivered],
  opened: [3],
  clicked: [4],
  bounced: [5],
  complained: [6],
};

/** The number of a message that was sent and is not delivered yet. */
export const sentAlone = 1;

/**
 * SQL of a moment of the messages of a project, as a table `moment` with `at` and `email_id`; in the order of
 * both, it is read from the index.
 * @param where a condition on `at`
 */
export function momentsOf(
  projectId: string,
  moment: Moment,
  where: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> {
  const parts = kinds[moment].map(
    (kind) => sql`select at, email_id from email_moment
      where project_id = ${projectId} and kind = ${sql.lit(kind)} and ${where}`,
  );
  return sql`(${sql.join(parts, sql` union all `)}) moment`;
}
