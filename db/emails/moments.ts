import { type RawBuilder, sql } from 'kysely';

/**
 * When messages were sent, delivered, opened and so on: rows of `email_moment`, which triggers keep. They are
 * read where the newest of a project are asked for, or all of a period; what a contact has had is found by its mail.
 */

/** A moment of a message. Sent: not FAILED, and not received. */
export type Moment = 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained';

/** The numbers of the moments. */
export const momentKinds: Readonly<Record<Moment, number>> = {
  sent: 1,
  delivered: 2,
  opened: 3,
  clicked: 4,
  bounced: 5,
  complained: 6,
};

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
  return sql`(select at, email_id from email_moment
    where project_id = ${projectId} and kind = ${sql.lit(momentKinds[moment])} and ${where}) moment`;
}
