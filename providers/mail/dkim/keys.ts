import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';
import type { SigningKeys } from './signature.ts';

/** A new key. */
export interface NewDkimKey {
  algorithm: DkimAlgorithm;
  /** The private key as PKCS #8, in base64. */
  privateKey: string;
  /** The public key in the form of `DkimPublicKey`. */
  publicKey: string;
}

/** Bits of an RSA key. RFC 8301, 3.2 recommends 2,048, and all verifiers accept it. */
const rsaBits = 2048;

/** Makes a key. An RSA key takes up to a second of CPU time. */
export function makeDkimKey(algorithm: DkimAlgorithm): NewDkimKey {
  const { privateKey, publicKey } =
    algorithm === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: rsaBits })
      : generateKeyPairSync('ed25519');
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    algorithm,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    // An Ed25519 public key is the last 32 bytes of its SubjectPublicKeyInfo (RFC 8410, 4).
    publicKey: (algorithm === 'rsa' ? spki : spki.subarray(-32)).toString('base64'),
  };
}

/**
 * Reads the private keys in a PEM file.
 * @throws Error with a sentence for the operator
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

/**
 * Reads a stored private key.
 * @throws Error when the text is no private key
 */
export function readPrivateKey(pkcs8: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
}
