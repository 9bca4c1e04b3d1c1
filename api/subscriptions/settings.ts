import type { Database } from '../../db/database.ts';
import { listSecretNames } from '../../db/projects/secrets.ts';
import type { SealedHeaders } from '../../db/subscriptions/subscriptions.ts';
import { invalidField, type Problem, Refusals, together } from '../../domain/errors.ts';
import { secretNamesOf } from '../../domain/subscription/request.ts';
import type { Cipher } from '../../providers/encryption.ts';

/** Checks and stores the settings of a subscription. */

/**
 * Refuses a URL that must not be called, and headers that refer to unknown secrets.
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function checkSubscription(
  { db, caller, webhooks }: SubscriptionCall,
  {
    url,
    headers,
  }: { url?: string | undefined; headers?: Record<string, string> | null | undefined },
): Promise<void> {
  await together(
    () => url === undefined || refuseAddress(webhooks, url),
    () => headers && refuseUnknownSecrets(db, caller.projectId, headers),
  );
}

interface SubscriptionCall {
  db: Database;
  caller: { projectId: string };
  webhooks: { refuses(url: URL): boolean };
}

/**
 * Refuses a URL that must not be called.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseAddress(webhooks: SubscriptionCall['webhooks'], url: string): void {
  if (!webhooks.refuses(new URL(url))) return;
  const { hostname } = new URL(url);
  const message = `${hostname} is not a public address. The operator of this server can allow private addresses with WEBHOOK_ALLOW_PRIVATE=true.`;
  throw invalidField('url', 'not_allowed', message);
}

async function refuseUnknownSecrets(
  db: Database,
  projectId: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const named = secretNamesOf(Object.values(headers));
  const known = named.length === 0 ? [] : await listSecretNames(db, projectId);
  const refusals = new Refusals();
  for (const name of named) if (!known.includes(name)) refusals.add(unknownSecret(name));
  refusals.throw();
}

export function unknownSecret(name: string): Problem {
  return invalidField(
    'headers',
    'not_found',
    `There is no secret named ${name}. Create it with PUT /secrets/${name}.`,
  );
}

/**
 * Encrypts headers for storage. If the names of two headers differ only in case, only the last of
 * these headers is stored.
 */
export function sealHeaders(
  cipher: Cipher,
  given: Readonly<Record<string, string>> | null,
): SealedHeaders {
  const byName = new Map(
    Object.entries(given ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      [name, value] as const,
    ]),
  );
  const headers = Object.fromEntries(byName.values());
  const names = Object.keys(headers).toSorted((a, b) => (a < b ? -1 : 1));
  return {
    headers: names.length === 0 ? null : cipher.encrypt(JSON.stringify(headers)),
    header_names: names,
    secret_names: secretNamesOf(Object.values(headers)),
  };
}
