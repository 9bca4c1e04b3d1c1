import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';

/** The choices of contacts about topics. */

export interface ContactTopic {
  id: string;
  key: string;
  name: string;
  description: string | null;
  visibility: string;
  subscribed: boolean;
  /** True if the contact has made a choice. */
  explicit: boolean;
  changedAt: Date | null;
}

/** Lists the topics of a project with the choice of one contact, oldest first. */
export async function listContactTopics(
  db: Database,
  contact: { id: string; project_id: string },
): Promise<ContactTopic[]> {
  return topicsOf(db, contact, sql`true`);
}

export async function topicsOf(
  db: Database,
  { id, project_id: projectId }: { id: string; project_id: string },
  which: RawBuilder<unknown>,
): Promise<ContactTopic[]> {
  const { rows } = await sql<ContactTopic>`
    select topic.id, topic.key, topic.name, topic.description, topic.visibility,
        coalesce(chosen.subscribed, topic.by_default) as subscribed,
        chosen.subscribed is not null as explicit, chosen.changed_at as "changedAt"
      from topic
      left join contact_topic chosen on chosen.topic_id = topic.id and chosen.contact_id = ${id}
      where topic.project_id = ${projectId} and ${which}
      order by topic.created_at, topic.id`.execute(db);
  return rows;
}
