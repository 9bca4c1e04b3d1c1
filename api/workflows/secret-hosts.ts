import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../db/database.ts';
import { findSecrets } from '../../db/projects/secrets.ts';
import { invalidField } from '../../domain/errors.ts';
import { foreignSecrets, knownAddress, namedSecrets } from '../../domain/workflow/secret-hosts.ts';

/**
 * Refuses a changed WEBHOOK step whose address names a host to which one of its secrets must not go. What
 * only the request tells is decided when it is made.
 * @param step.config as it will be stored
 * @param step.before the stored one; null: the step is new
 * @param path the field of the config, which errors name
 * @throws Problem VALIDATION_ERROR `not_allowed`
 */
export async function refuseForeignSecrets(
  tx: Database,
  projectId: string,
  step: {
    type: string;
    config: Record<string, unknown>;
    before: Record<string, unknown> | null;
  },
  path: string,
): Promise<void> {
  const { type, config, before } = step;
  if (type !== 'WEBHOOK' || isDeepStrictEqual(config, before)) return;
  const address = knownAddress(String(config['url']));
  const names = namedSecrets(config);
  if (!address || names.length === 0) return;
  const foreign = foreignSecrets(await findSecrets(tx, projectId, names), address);
  if (foreign.length === 0) return;
  const message = `These secrets must not go to ${address.host}: ${foreign.join(', ')}. See their hosts.`;
  throw invalidField(`${path}.url`, 'not_allowed', message);
}
