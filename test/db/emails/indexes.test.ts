import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useDatabase } from '../../support/servers.ts';

/** The table of mail. */

const { db } = await useDatabase();

it('has no index on what changes when a message is sent, so that it changes in place', async () => {
  const changed = [
    'status',
    'message_id',
    'attempts',
    'sent_at',
    'delivered_at',
    'subject',
    'trace',
  ];
  const { rows } = await sql<{ name: string; columns: string[] }>`
    select class.relname as name, array_agg(attribute.attname::text) as columns
      from pg_index join pg_class class on class.oid = indexrelid
      join pg_depend on pg_depend.objid = indexrelid and refobjid = indrelid and refobjsubid > 0
      join pg_attribute attribute on attrelid = indrelid and attnum = refobjsubid
      where indrelid = 'email'::regclass group by 1`.execute(db);
  expect(rows.length).toBeGreaterThan(5);
  const named = rows.filter(({ columns }) => columns.some((column) => changed.includes(column)));
  expect(named).toEqual([]);
});
