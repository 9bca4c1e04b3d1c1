import { z } from 'zod';
import { fieldsOf, type ProviderRow } from '../../db/providers/providers.ts';
import { type FieldProblem, invalidField, Problem, together } from '../../domain/errors.ts';
import { hasWebhook, providerKinds } from '../../domain/provider/provider.ts';
import {
  feedbackOfKind,
  type GivenProvider,
  mergedFields,
  providerFaults,
} from '../../domain/provider/rules.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { providerFields } from '../../providers/mail/pool/provider-fields.ts';
import { Name } from '../http/schemas.ts';
import type { Services } from '../services/services.ts';

/** Requests that add or change a mail provider. */

const ProviderName = Name.describe('Unique in the project, in any case');

export const NewProvider = z.object({
  name: ProviderName,
  kind: z.enum(providerKinds),
  ...providerFields,
});

export const ProviderPatch = z.object({
  name: ProviderName.optional(),
  kind: z.enum(providerKinds).optional().describe('Cannot be changed'),
  ...providerFields,
});

type Given = Partial<z.output<typeof ProviderPatch>>;

/**
 * Refuses fields that contradict each other, fields that contradict the stored provider `row`, and
 * addresses to which the server must not connect.
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function checkProvider(
  { webhooks }: Pick<Services, 'webhooks'>,
  given: Given,
  row?: ProviderRow,
): Promise<void> {
  await together(
    () => refuse(providerFaults(given, row && knownOf(row))),
    () => given.host === undefined || refuseAddress(webhooks, given.host),
  );
}

function refuse(errors: FieldProblem[]): void {
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

function refuseAddress(webhooks: Services['webhooks'], host: string): void {
  if (!webhooks.refuses(new URL(`http://${host.includes(':') ? `[${host}]` : host}`))) return;
  const message = `${host} is not a public address. The operator of this server can allow private addresses with WEBHOOK_ALLOW_PRIVATE=true.`;
  throw invalidField('host', 'not_allowed', message);
}

function knownOf(row: ProviderRow) {
  return {
    fields: fieldsOf(row),
    feedback: row.feedback,
    hasSecret: row.secret !== null,
    hasFeedbackSecret: row.feedback_secret !== null,
  };
}

/** Returns the columns for validated fields. Fields that are missing keep the values of `row`. */
export function columnsOfGiven(cipher: Cipher, given: Given, row?: ProviderRow) {
  const { kind, ...settings } = mergedFields(given, row && fieldsOf(row));
  const secret = kind === 'ses' ? given.secretAccessKey : given.password;
  const feedback = given.feedback ?? row?.feedback ?? feedbackOfKind(kind);
  const isOtherFeedback = row !== undefined && feedback !== row.feedback;
  const { feedbackSecret = isOtherFeedback ? null : undefined } = given;
  const sealed = (text: string | null) => (text ? cipher.encrypt(text) : null);
  return {
    ...(given.name !== undefined && { name: given.name }),
    ...(given.enabled !== undefined && { enabled: given.enabled }),
    settings: JSON.stringify(settings),
    ...(secret !== undefined && { secret: sealed(secret) }),
    feedback,
    ...(feedbackSecret !== undefined && { feedback_secret: sealed(feedbackSecret) }),
    ...(!hasWebhook(feedback) && noToken),
    ...(given.domains !== undefined && { domains: given.domains }),
    ...(given.ratePerSecond !== undefined && { rate_per_second: given.ratePerSecond }),
    ...(given.maxMessageMb !== undefined && { max_message_mb: given.maxMessageMb }),
    ...(given.ownSigning !== undefined && { own_signing: given.ownSigning }),
  };
}

const noToken = { feedback_token_hash: null, former_token_hash: null, former_token_until: null };

const settingsOfServer: readonly (keyof GivenProvider | 'ownSigning')[] = [
  'host',
  'port',
  'security',
  'user',
  'password',
  'region',
  'accessKeyId',
  'secretAccessKey',
  'configurationSet',
  'feedback',
  'ownSigning',
];

/** Returns true if mail needs new connections to the provider after a change of these fields. */
export function isNewServer(given: Given): boolean {
  return settingsOfServer.some((field) => given[field] !== undefined);
}
