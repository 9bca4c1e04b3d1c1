import type { Database } from '../../db/database.ts';
import { holdTopics } from '../../db/topics/topics.ts';
import { foundAll } from '../../domain/errors.ts';

/** References to topics in templates, campaigns and steps. */

/**
 * Prevents the deletion of topics until the transaction ends.
 * @throws Problem TOPIC_NOT_FOUND
 */
export async function requireTopics(
  tx: Database,
  projectId: string,
  ids: readonly (string | null | undefined)[],
): Promise<void> {
  const named = [...new Set(ids.flatMap((id) => id ?? []))];
  if (named.length === 0) return;
  foundAll('TOPIC', named, await holdTopics(tx, projectId, named));
}

/** Returns the topic of a copy: the original's topic, unless it was deleted. */
export async function keptTopic(
  tx: Database,
  projectId: string,
  topicId: string | null,
): Promise<string | null> {
  if (topicId === null) return null;
  const [topic] = await holdTopics(tx, projectId, [topicId]);
  return topic?.id ?? null;
}
