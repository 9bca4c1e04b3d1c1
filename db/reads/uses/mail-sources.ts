import { sql } from 'kysely';
import type { MailMention } from '../../../domain/filter/references.ts';
import { isUuid } from '../../../domain/ids.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';

/** Returns the ids of the mentioned campaigns and templates that exist in the project. */
export async function listKnownSources(
  db: Database,
  projectId: string,
  mentions: readonly Pick<MailMention, 'source' | 'id'>[],
): Promise<ReadonlySet<string>> {
  if (mentions.length === 0) return new Set();
  const idsOf = (source: MailMention['source']) =>
    anyOf(mentions.flatMap((one) => (one.source === source && isUuid(one.id) ? [one.id] : [])));
  const { rows } = await sql<{ id: string }>`
    select id from campaign where project_id = ${projectId} and id = ${idsOf('campaign')}
    union all
    select id from template where project_id = ${projectId} and id = ${idsOf('template')}`.execute(
    db,
  );
  return new Set(rows.map(({ id }) => id));
}
