import type { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import type { Database } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { listTopicUses } from '../../db/reads/uses/steps.ts';
import {
  deleteTopic,
  insertTopic,
  listTopics,
  lockTopic,
  lockTopics,
  type TopicRow,
} from '../../db/topics/topics.ts';
import { found, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { listed } from '../http/uses.ts';
import type { NewTopic } from './input.ts';

/** Changes of topics, in the transaction of the caller. */

/**
 * Creates a topic.
 * @param options.id its id, by default a new one
 * @param options.leaving number of topics that the same transaction deletes later
 * @throws Problem TOPIC_EXISTS, TOPIC_LIMIT
 */
export async function storeNewTopic(
  tx: Database,
  projectId: string,
  { default: byDefault, ...fields }: z.output<typeof NewTopic>,
  { leaving = 0, ...own }: { id?: string; leaving?: number } = {},
): Promise<TopicRow> {
  await holdProject(tx, projectId);
  await lockTopics(tx, projectId);
  const topics = await listTopics(tx, projectId);
  if (topics.some(({ key }) => key === fields.key)) {
    const message = `The project already has a topic with the key "${fields.key}".`;
    throw new Problem('TOPIC_EXISTS', { message });
  }
  if (topics.length - leaving >= limits.topics) {
    const message = `The project already has ${limits.topics} topics, which is the maximum.`;
    throw new Problem('TOPIC_LIMIT', { message, details: { limit: limits.topics } });
  }
  return insertTopic(tx, {
    project_id: projectId,
    ...columnsFrom(fields),
    by_default: byDefault === 'subscribed',
    ...own,
  });
}

/**
 * Deletes an unused topic. The choices of contacts are deleted later: see `completeRemoval`.
 * @throws Problem TOPIC_NOT_FOUND, TOPIC_IN_USE
 */
export async function deleteUnusedTopic(
  tx: Database,
  projectId: string,
  id: string,
): Promise<void> {
  found('TOPIC', id, await lockTopic(tx, projectId, id));
  const uses = await listTopicUses(tx, projectId, id);
  if (Object.values(uses).some((users) => users.length > 0)) {
    throw new Problem('TOPIC_IN_USE', { details: listed({ ...uses }) });
  }
  await deleteTopic(tx, id);
}
