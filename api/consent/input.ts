import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { listTopicsByKey } from '../../db/topics/topics.ts';
import { invalidField } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import type { ProjectCaller } from '../access/caller.ts';

/** What requests that make contacts say of consent. */

export const consentFields = {
  topics: z
    .array(z.string())
    .min(1)
    .max(limits.topics)
    .optional()
    .describe('Keys of topics that the contact is subscribed to; with a public key, public ones'),
  proof: z
    .object({
      text: z.string().max(limits.proofTextChars).optional().describe('What the person has read'),
      ip: z.union([z.ipv4(), z.ipv6()]).optional(),
      userAgent: z.string().max(limits.proofAgentChars).optional(),
    })
    .optional()
    .describe('For the consent log; of a public key only `text` counts'),
};

/**
 * The ids of topics by their keys. Private ones are unknown to public keys.
 * @throws Problem VALIDATION_ERROR naming the first unknown one
 */
export async function requireKeys(
  db: Database,
  { projectId, isPublic }: ProjectCaller,
  keys: readonly string[] = [],
): Promise<string[]> {
  if (keys.length === 0) return [];
  const topics = await listTopicsByKey(db, projectId, keys);
  const known = topics.filter(({ visibility }) => !isPublic || visibility === 'public');
  const ids = new Map(known.map(({ key, id }) => [key, id]));
  return keys.map((key, index) => {
    const id = ids.get(key);
    if (!id) throw invalidField(`topics.${index}`, 'not_found', 'There is no such topic.', key);
    return id;
  });
}
