import type pg from 'pg';

/** A database with mail of some months in the table `mail`. */
export interface Lab {
  client: pg.Client;
  months: number;
  contacts: number;
  /** Messages of one month. */
  monthly: number;
}

/** Of every month, from its first to its last. */
export const monthDays = 30;

/** The time of a month's beginning: month 0 is the oldest. */
export const monthAt = (month: number) =>
  `timestamptz '2025-01-01 00:00:00Z' + ${month * monthDays} * interval '1 day'`;

/** The first UUIDv7 of a moment. */
const firstId = (at: string) =>
  `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`;

/** SQL of the first id of a month. */
export async function idOf(client: pg.Client, month: number): Promise<string> {
  const { rows } = await client.query<{ id: string }>(`select ${firstId(monthAt(month))} as id`);
  return `'${rows[0]?.id}'`;
}
