import { z } from 'zod';
import { invalidField } from '../../domain/errors.ts';
import { Description, Name } from '../http/schemas.ts';

/** Topics in requests. */

const Key = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,49}$/,
    'Must be 1 to 50 of the characters a-z, 0-9, _ and -, and begin with a letter or digit.',
  );

export const Visibility = z
  .enum(['public', 'private'])
  .describe('private: on no preference page, and hidden from public keys');

export const Default = z
  .enum(['subscribed', 'unsubscribed'])
  .describe('The default for contacts that have made no choice');

export const NewTopic = z.object({
  key: Key.describe('Lower-case letters, digits, _ and -, at most 50'),
  name: Name,
  description: Description.optional(),
  visibility: Visibility.default('private'),
  default: Default,
});

/**
 * Refuses a topic for mail of another class than MARKETING.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseTopic(topicId: string | null | undefined, messageClass: string): void {
  if (!topicId || messageClass === 'MARKETING') return;
  const message = `Only mail of the type MARKETING can have a topic; this mail is ${messageClass}. Leave \`topicId\` out.`;
  throw invalidField('topicId', 'not_allowed', message);
}
