import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';
import type { SigningKeys } from './signature.ts';

/** A new key. */
export interface NewDkimKey {
  algorithm: DkimAlgorithm;
  /** PKCS #8 in base64. */
  privateKey: string;
  /** As in `DkimPublicKey`. */
  publicKey: string;
}

/**
 * Bits of an RSA key: all verifiers must accept 1,024 to 4,096 (RFC 8301, 3.2), and 2,048 is what
 * it recommends.
 */
const rsaBits = 2048;

/** Makes a key. RSA takes up to a second of CPU time. */
export function makeDkimKey(algorithm: DkimAlgorithm): NewDkimKey {
  const { privateKey, publicKey } =
    algorithm === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: rsaBits })
      : generateKeyPairSync('ed25519');
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    algorithm,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    // The key of Ed25519 is the last 32 bytes of its SubjectPublicKeyInfo (RFC 8410, 4).
    publicKey: (algorithm === 'rsa' ? spki : spki.subarray(-32)).toString('base64'),
  };
}

/**
 * Reads the keys of a PEM file.
 * @throws Error with a sentence for the operator.
 */
export function readKeyFile(
  file: string,
  { selector, domain }: { selector: string; domain: string },
): SigningKeys {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(readFileSync(file));
  } catch (cause) {
    throw new Error(`${file} has no private key that can be read: ${String(cause)}`, { cause });
  }
  const algorithm = privateKey.asymmetricKeyType;
  if (algorithm !== 'rsa' && algorithm !== 'ed25519') {
    throw new Error(`${file} has a key of the kind ${algorithm}; DKIM needs RSA or Ed25519.`);
  }
  return { domain, keys: [{ selector, algorithm, privateKey }] };
}

/** @throws Error when it is no private key. */
export function readPrivateKey(pkcs8: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
}
