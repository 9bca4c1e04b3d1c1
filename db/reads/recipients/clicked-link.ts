import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../../domain/cursor.ts';

/** Finds the messages in which a link was clicked. */

/** A link of a campaign, a template or a step. */
export interface LinkOf {
  ownerId: string;
  linkId: string;
}

/** The clicks on a link in one message. */
export interface MailClicks {
  clicks: number;
  humanClicks: number;
  firstAt: string;
}

function isClicked({ ownerId, linkId }: LinkOf): RawBuilder<boolean> {
  return sql<boolean>`inner_clicked.owner_id = ${ownerId} and inner_clicked.link_id = ${linkId}`;
}

/**
 * SQL that selects `id` and `created_at` of at most `max` messages in which a link was clicked,
 * newest first.
 */
export function newestClicked(
  link: LinkOf,
  { after, max }: { after: Position | undefined; max: number },
): RawBuilder<unknown> {
  const isAfter = after
    ? sql`(inner_clicked.email_created_at, inner_clicked.email_id) < (${after.value}, ${after.id})`
    : sql`true`;
  return sql`select inner_clicked.email_id as id, inner_clicked.email_created_at as created_at
    from email_link inner_clicked where ${isClicked(link)} and ${isAfter}
    order by inner_clicked.email_created_at desc, inner_clicked.email_id desc limit ${max}`;
}

/**
 * SQL that selects the clicks on a link in one message, given as a row with `id` and `created_at`.
 */
export function clicksIn(row: string, link: LinkOf): RawBuilder<MailClicks> {
  return sql<MailClicks>`select jsonb_build_object('clicks', inner_clicked.clicks,
      'humanClicks', inner_clicked.human_clicks, 'firstAt', inner_clicked.first_at)
    from email_link inner_clicked where ${isClicked(link)}
      and inner_clicked.email_created_at = ${sql.ref(`${row}.created_at`)}
      and inner_clicked.email_id = ${sql.ref(`${row}.id`)}`;
}

/** SQL that selects the `id` of all messages in which a link was clicked. */
export function allClicked(link: LinkOf): RawBuilder<unknown> {
  return sql`select inner_clicked.email_id as id from email_link inner_clicked
    where ${isClicked(link)}`;
}
