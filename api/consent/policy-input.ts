import { z } from 'zod';
import type { ConsentPolicy } from '../../domain/consent/policy.ts';
import { limits } from '../../domain/limits.ts';
import { suppressionScopes } from '../../domain/mail/suppression.ts';
import { SenderName, SenderText, senderColumns, Uuid } from '../http/schemas.ts';

/** The consent policy in requests. */

const Seconds = z.int().min(1).max(limits.optInSeconds);

export const consentPolicyFields = {
  requireConfirmation: z
    .boolean()
    .describe('true: public keys, received mail and pages subscribe only contacts that confirm'),
  templateId: Uuid.nullable().describe(
    'Template of the confirmation mail, which uses `confirmUrl`. null: the built-in text',
  ),
  from: SenderText.nullable().describe('Sender of the confirmation mail if its template has none'),
  fromName: SenderName.nullable(),
  remindAfter: Seconds.nullable().describe(
    'Seconds from the first mail to the reminder, for later requests; null: there is none',
  ),
  expireAfter: Seconds.describe(
    'Seconds from the last mail to the end of the request, for later requests',
  ),
  bounceScope: z
    .enum(suppressionScopes)
    .describe('The mail that an address does not get after a permanent bounce'),
};

export const ConsentPolicyChange = z.object(consentPolicyFields).partial();

/** Returns the fields of a policy that a request sets. */
export function changeOf({
  from,
  fromName,
  ...given
}: z.output<typeof ConsentPolicyChange>): Partial<ConsentPolicy> {
  const sender = senderColumns(from, fromName);
  const change = { ...given, from: sender.fromEmail, fromName: sender.fromName };
  const set = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}
