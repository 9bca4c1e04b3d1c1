import { randomBytes } from 'node:crypto';
import type { NewKey } from '../../db/domains/keys.ts';
import { type DkimAlgorithm, selectorFor } from '../../domain/sender/dkim-record.ts';
import { countsAsFound } from '../../domain/sender/domain-check.ts';
import type { Services } from '../services/services.ts';

/** The domain for which keys are created. */
interface Owner {
  name: string;
  projectId: string;
}

/** Creates the DKIM keys of a new selector: RSA, and Ed25519 if requested. */
export async function makeKeys(
  services: Services,
  owner: Owner,
  state: NewKey['state'],
  { ed25519 }: { ed25519: boolean },
): Promise<NewKey[]> {
  const selector = selectorFor(new Date(), randomBytes(4).toString('hex'));
  const algorithms: DkimAlgorithm[] = ed25519 ? ['rsa', 'ed25519'] : ['rsa'];
  const key = { selector, state };
  return Promise.all(
    algorithms.map((algorithm) => makeKey(services, owner, { ...key, algorithm })),
  );
}

/**
 * Creates one key. The DNS record of a current key may count as found without a check. The record
 * of a next key must be checked.
 */
export async function makeKey(
  { dkim, cipher, identities }: Services,
  { name, projectId }: Owner,
  key: Pick<NewKey, 'selector' | 'algorithm' | 'state'>,
): Promise<NewKey> {
  const { publicKey, privateKey } = await dkim.makeKey(key.algorithm, projectId);
  return {
    ...key,
    publicKey,
    privateKey: cipher.encrypt(privateKey),
    isSeen: key.state === 'current' && countsAsFound(name, identities),
  };
}
