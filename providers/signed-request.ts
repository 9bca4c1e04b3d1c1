import { createHmac } from 'node:crypto';
import { limits } from '../domain/limits.ts';
import { webhookSignatureText, withSecrets } from '../domain/subscription/request.ts';
import type { RequestOutcome } from '../domain/subscription/schedule.ts';
import { storableText } from '../domain/text-rules.ts';
import type { WebhookOutcome } from '../domain/webhook/webhook.ts';
import { type BoundSecret, foreignSecrets } from '../domain/secrets/hosts.ts';
import { SecretMask } from '../domain/secrets/in-templates.ts';
import type { Cipher } from './encryption.ts';
import type { WebhookSender } from './web/webhook.ts';

/** The target of a signed request, in which all Buffers are encrypted. */
export interface SignedTarget {
  url: string;
  /** The headers as a JSON object; null: the target has no headers. */
  headers: Buffer | null;
  secret: Buffer;
  /**
   * The previous secret during a rotation, for a second signature; null: no rotation is in
   * progress.
   */
  previousSecret: Buffer | null;
  /** The secrets to which the headers refer. */
  secrets: readonly (BoundSecret & { value: Buffer })[];
}

const secretBeginning = 'whsec_';

/** Returns a new secret: `whsec_` and 32 bytes in base64. */
export function secretOf(bytes: Buffer): string {
  return `${secretBeginning}${bytes.toString('base64')}`;
}

/**
 * Sends a signed request (Standard Webhooks 1.0.0). Header values are masked in the stored
 * response. `secret_refused`: a secret in the headers must not be sent to this host, so nothing was
 * sent.
 * @param request.id the `webhook-id`
 */
export async function sendSigned(
  { webhooks, cipher }: { webhooks: WebhookSender; cipher: Cipher },
  target: SignedTarget,
  { id, body }: { id: string; body: string },
): Promise<RequestOutcome> {
  if (foreignSecrets(target.secrets, new URL(target.url)).length > 0) {
    return { statusCode: null, error: 'secret_refused', retryAfter: null, text: null };
  }
  const secrets = new Map(target.secrets.map(({ name, value }) => [name, cipher.decrypt(value)]));
  const given = target.headers === null ? '{}' : cipher.decrypt(target.headers);
  const own = withSecrets(JSON.parse(given) as Record<string, string>, secrets);
  const timestamp = Math.floor(Date.now() / 1000);
  const signatures = [target.secret, target.previousSecret]
    .filter((secret) => secret !== null)
    .map((secret) =>
      signatureOf(cipher.decrypt(secret), webhookSignatureText(id, timestamp, body)),
    );
  const outcome = await webhooks.post({
    url: target.url,
    headers: {
      ...own,
      'Content-Type': 'application/json',
      'User-Agent': 'Everpost/1',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures.join(' '),
    },
    body,
    answerBytes: limits.deliveryResponseBytes,
  });
  return shown(outcome, new SecretMask([...Object.values(own), ...secrets.values()]));
}

/** Signs a text. The key is the decoded secret, not its text. */
function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(secretBeginning.length), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}

const errorOf = {
  timeout: 'timeout',
  refused: 'address_refused',
  unreachable: 'unreachable',
} as const;

function shown(outcome: WebhookOutcome, mask: SecretMask): RequestOutcome {
  if (outcome.kind !== 'answered') {
    return { statusCode: null, error: errorOf[outcome.kind], retryAfter: null, text: null };
  }
  const { statusCode, retryAfter, text, isCut } = outcome;
  const readable = storableText(mask.text(text, isCut));
  return { statusCode, error: null, retryAfter, text: readable === '' ? null : readable };
}
