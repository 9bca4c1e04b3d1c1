import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { transact } from '../../db/database.ts';
import { lockProvider, rotateToken } from '../../db/providers/providers.ts';
import { found, invalidField } from '../../domain/errors.ts';
import { hasWebhook } from '../../domain/provider/provider.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf } from '../http/record.ts';
import { ByProviderId, requireOwn } from './record.ts';

/** The addresses to which the services of mail providers send reports. */

export const FeedbackUrl = z
  .string()
  .nullable()
  .describe('Address for the webhooks of its service; null: it has none. Not shown again')
  .meta({
    examples: [
      `https://api.shop.example/webhooks/providers/90000000-0000-4000-8000-000000000001/${'5d'.repeat(32)}`,
    ],
  });

/** Returns a new token for the address of a provider's webhooks. Only its hash is stored. */
export function newToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('hex');
  return { token, tokenHash: hash('sha256', token, 'buffer') };
}

export function feedbackUrlOf({ apiUrl }: Config, id: string, token: string): string {
  return `${apiUrl}/webhooks/providers/${id}/${token}`;
}

export const rotateProviderToken = endpoint({
  id: 'rotateProviderToken',
  method: 'POST',
  path: '/providers/{id}/rotate-token',
  summary: "Make a new address for the webhooks of a provider's service",
  description:
    'The former address works for another 24 hours; another rotation ends it at once. ' +
    'VALIDATION_ERROR `feedback`, `not_allowed`: it does not report by webhooks.',
  access: 'secret',
  role: 'ADMIN',
  showsSecret: true,
  params: ByProviderId,
  response: z.object({ feedbackUrl: FeedbackUrl.unwrap() }),
  problems: ['PROVIDER_NOT_FOUND', 'FORBIDDEN'],
  example: { response: { feedbackUrl: exampleOf(FeedbackUrl) ?? '' } },
  async handle(call) {
    const { db, config, keyUse, note, caller, params } = call;
    const { projectId } = caller;
    const { id } = await requireOwn(call, caller, params.id);
    const { token, tokenHash } = newToken();
    const answer = { feedbackUrl: feedbackUrlOf(config, id, token) };
    await transact(db, async (tx) => {
      const { feedback } = found('PROVIDER', id, await lockProvider(tx, projectId, id));
      if (!hasWebhook(feedback)) {
        const message = `A provider whose \`feedback\` is ${feedback} sends no webhooks, so it needs no webhook URL.`;
        throw invalidField('feedback', 'not_allowed', message);
      }
      await rotateToken(tx, id, tokenHash);
      const target = { type: 'provider', id };
      const details = { providerId: id };
      await note({ event: 'provider.token_rotated', projectId, target, details }, tx);
      await keyUse?.completeIn(tx, answer);
    });
    return answer;
  },
});
