import type { Database } from '../../db/database.ts';
import { holdTopics } from '../../db/topics/topics.ts';
import { foundAll, invalidField } from '../../domain/errors.ts';

/** References to topics in templates, campaigns and steps. */

/**
 * Refuses a topic for mail of another class than MARKETING.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseTopic(topicId: string | null | undefined, messageClass: string): void {
  if (!topicId || messageClass === 'MARKETING') return;
  const message = `Only mail of the type MARKETING can have a topic; this mail is ${messageClass}. Leave \`topicId\` out.`;
  throw invalidField('topicId', 'not_allowed', message);
}

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
