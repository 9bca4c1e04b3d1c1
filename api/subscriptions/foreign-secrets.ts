import type { Database } from '../../db/database.ts';
import { findSecrets } from '../../db/projects/secrets.ts';
import type { SubscriptionRow } from '../../db/subscriptions/subscriptions.ts';
import { Problem } from '../../domain/errors.ts';
import { secretNamesOf } from '../../domain/subscription/request.ts';
import { foreignSecrets, foreignSecretsText } from '../../domain/secrets/hosts.ts';
import type { Cipher } from '../../providers/encryption.ts';

/**
 * Refuses headers (encrypted, as stored) with secrets that must not be sent to the host of the URL.
 * @throws Problem VALIDATION_ERROR `not_allowed`, one for each header
 */
export async function refuseForeignHeaders(
  tx: Database,
  cipher: Cipher,
  {
    project_id: projectId,
    url,
    headers,
    secret_names: names,
  }: Pick<SubscriptionRow, 'project_id' | 'url' | 'headers' | 'secret_names'>,
): Promise<void> {
  if (headers === null || names.length === 0) return;
  const address = new URL(url);
  const foreign = new Set(foreignSecrets(await findSecrets(tx, projectId, names), address));
  const written = JSON.parse(cipher.decrypt(headers)) as Record<string, string>;
  const errors = Object.entries(written).flatMap(([name, value]) => {
    const refused = secretNamesOf([value]).filter((secret) => foreign.has(secret));
    if (refused.length === 0) return [];
    const message = foreignSecretsText(refused, address);
    return [{ field: `headers.${name}`, message, code: 'not_allowed' as const }];
  });
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}
