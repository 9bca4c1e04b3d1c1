import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { refuseMergedData } from '../../db/contacts/contacts.ts';
import { listTopicsByKey } from '../../db/topics/topics.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { fault, invalidField, whenRight, Refusals, type Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import type { ProjectCaller } from '../access/caller.ts';

/** The consent fields in requests that create contacts. */

interface Asked {
  subscribed?: boolean | undefined;
  confirm: boolean;
  topics?: readonly string[] | undefined;
}

export const consentFields = {
  confirm: z
    .boolean()
    .default(false)
    .describe(
      'Double opt-in: `subscribed` and `topics` apply once the owner of the address has ' +
        'confirmed',
    ),
  topics: z
    .array(z.string())
    .min(1)
    .max(limits.topics)
    .optional()
    .describe('Keys of topics to subscribe the contact to; with a public key, only public topics'),
  proof: z
    .object({
      text: z
        .string()
        .max(limits.proofTextChars)
        .optional()
        .describe('Text that the person has read'),
      ip: z.union([z.ipv4(), z.ipv6()]).optional(),
      userAgent: z.string().max(limits.proofAgentChars).optional(),
    })
    .optional()
    .describe('For the consent log; with a public key only `text` is used'),
};

/**
 * Arguments of a `refine` that refuses a request which asks a contact to confirm and also
 * unsubscribes it.
 */
export const noContradiction = [
  ({ confirm, subscribed }: Asked) => !confirm || subscribed !== false,
  {
    path: ['confirm'] as PropertyKey[],
    ...fault('custom', 'Cannot be true when `subscribed` is false. Send only one of them.'),
    ...whenRight('confirm', 'subscribed'),
  },
] as const;

/** The change of a contact's subscription that a request makes. */
export interface ConsentWish {
  /** True for an opt-in request: the subscription begins only when it is confirmed. */
  isOptIn: boolean;
  /** The new state of an existing contact; undefined: unchanged. */
  subscribed: boolean | undefined;
  subscribedWhenNew: boolean;
  /** Keys of the requested topics. */
  topics: readonly string[] | undefined;
}

/**
 * Returns the change that a request makes. If a project requires confirmations, its public key can
 * only make an opt-in request, or unsubscribe.
 */
export function consentWishOf(
  { isPublic, project }: ProjectCaller,
  { confirm, subscribed, topics }: Asked,
): ConsentWish {
  const isRequired = isPublic && project.requiresConfirmation;
  if (isRequired && subscribed === false) {
    return { isOptIn: false, subscribed, subscribedWhenNew: false, topics: undefined };
  }
  const isOptIn = confirm || (isRequired && (subscribed === true || topics !== undefined));
  return {
    isOptIn,
    subscribed: isOptIn ? undefined : subscribed,
    subscribedWhenNew: !isOptIn && !isRequired,
    topics,
  };
}

export function unknownTopic(field: string, key: string): Problem {
  return invalidField(
    field,
    'not_found',
    `There is no topic ${key}. GET /topics lists the topics.`,
    key,
  );
}

/** Refuses unknown topics in a request. @throws Problem VALIDATION_ERROR */
export async function checkTopics(
  { db, caller }: { db: Database; caller: ProjectCaller },
  asked: Partial<Asked>,
): Promise<void> {
  const { topics } = consentWishOf(caller, { confirm: false, ...asked });
  await requireKeys(db, caller, topics);
}

/**
 * Refuses data that would exceed a limit after they are merged into the contact with the address
 * `email`.
 * @throws Problem VALIDATION_ERROR
 */
export async function checkMergedData(
  { db, caller }: { db: Database; caller: ProjectCaller },
  {
    email,
    data,
  }: { email?: string | undefined; data?: Record<string, unknown> | null | undefined },
): Promise<void> {
  if (email === undefined) return;
  await refuseMergedData(db, caller.projectId, { emails: [email] }, planContactData(data));
}

/**
 * Returns the ids of topics by their keys. A public key finds only public topics.
 * @throws Problem VALIDATION_ERROR naming the unknown keys
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
  const refusals = new Refusals();
  const found = keys.map((key, index) => {
    const id = ids.get(key);
    if (!id) refusals.add(unknownTopic(`topics.${index}`, key));
    return id ?? '';
  });
  refusals.throw();
  return found;
}
