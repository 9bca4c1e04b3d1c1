import { sql } from 'kysely';
import type { Database } from './database.ts';
import { deletePage } from './pages.ts';
import { limits } from '../domain/limits.ts';

/** A row expires `hours` hours after the time in the column `since`. */
interface Expiry {
  since: string;
  hours: number;
  /** Number of rows deleted at once. */
  rows: number;
}

/** The tables whose rows expire after a fixed time. */
const expiring = {
  // The links in mail about accounts work for an hour: see `tokenLife`.
  account_token: { since: 'created_at', hours: 1, rows: 1_000 },
  break_glass: { since: 'expires_at', hours: 0, rows: 1_000 },
  // A request fills a list within minutes; a list that expires belongs to a process that died.
  follow_up_list: { since: 'expires_at', hours: 0, rows: 100 },
  job: { since: 'finished_at', hours: limits.jobDays * 24, rows: 500 },
  not_started: { since: 'at', hours: 30 * 24, rows: 5_000 },
  // Amazon SNS repeats a notification for hours, mail servers and Stripe for days, but none of them
  // for 30 days.
  payment_receipt: { since: 'created_at', hours: 30 * 24, rows: 5_000 },
  plan: { since: 'expires_at', hours: 0, rows: 10 },
  pending_sign_in: { since: 'expires_at', hours: 0, rows: 1_000 },
  report_receipt: { since: 'created_at', hours: 30 * 24, rows: 5_000 },
  session: { since: 'expires_at', hours: 0, rows: 1_000 },
  suppression: { since: 'until', hours: 0, rows: 1_000 },
  used_challenge: { since: 'expires_at', hours: 0, rows: 1_000 },
} satisfies Record<string, Expiry>;

const never = () => false;

/** Deletes the expired rows of a table, page by page, until `isOver`. */
export async function deleteExpired(
  db: Database,
  table: keyof typeof expiring,
  isOver = never,
): Promise<void> {
  await deleteInPages(db, table, expiring[table], isOver);
}

/** Deletes the rows of a table that are older than `hours`, page by page. `hours` is a setting. */
export async function deleteOlder(
  db: Database,
  table: 'idempotency' | 'security_event',
  hours: number,
): Promise<void> {
  await deleteInPages(db, table, { since: 'created_at', hours, rows: 1_000 }, never);
}

async function deleteInPages(
  db: Database,
  table: string,
  { since, hours, rows }: Expiry,
  isOver: () => boolean,
): Promise<void> {
  const where = sql<boolean>`${sql.ref(since)} < now() - make_interval(hours => ${hours}::int)`;
  while (!isOver() && (await deletePage(db, { table, where, rows })) === rows);
}
