import { type RawBuilder, sql } from 'kysely';
import type { FileKind } from '../../domain/files/kinds.ts';

/** The tables of objects that files describe: the column of the key, and SQL of the name. */
export const fileTables: Readonly<
  Record<
    Exclude<FileKind, 'send-policy' | 'consent-policy'>,
    { table: string; key: string; name: RawBuilder<string> }
  >
> = {
  workflow: { table: 'workflow', key: 'file_key', name: sql`name` },
  template: { table: 'template', key: 'file_key', name: sql`name` },
  segment: { table: 'segment', key: 'file_key', name: sql`name` },
  topic: { table: 'topic', key: 'key', name: sql`name` },
  'event-subscription': {
    table: 'event_subscription',
    key: 'file_key',
    // Without a description, the host of the URL.
    name: sql`coalesce(nullif(description, ''),
      substring(url from '^[a-z]+://(?:[^/@]*@)?([^/:?#]+)'))`,
  },
};
