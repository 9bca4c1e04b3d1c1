import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../../config.ts';

/** The addresses at which the services of providers report. */

export const FeedbackUrl = z
  .string()
  .nullable()
  .describe('Address for the webhooks of its service; null: it has none. Not shown again')
  .meta({
    examples: [
      `https://api.shop.example/webhooks/providers/90000000-0000-4000-8000-000000000001/${'5d'.repeat(32)}`,
    ],
  });

/** Makes the token of a provider's address. Only its hash is stored. */
export function newToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('hex');
  return { token, tokenHash: hash('sha256', token, 'buffer') };
}

export function feedbackUrlOf({ apiUrl }: Config, id: string, token: string): string {
  return `${apiUrl}/webhooks/providers/${id}/${token}`;
}
