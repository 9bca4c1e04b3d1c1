import type { Services } from '../services/services.ts';

/**
 * Files of open plans are stored encrypted, because the file of an event subscription may contain the
 * values of its headers. So are the hashes of stored objects, from which such a value could be guessed.
 */

type Cipher = Services['cipher'];
type Files = Readonly<Record<string, string>>;

/** Encrypts the texts of files. */
export function sealFiles(cipher: Cipher, files: Files): Files {
  return mapTexts(files, (text) => sealText(cipher, text));
}

/**
 * Decrypts the result of `sealFiles`.
 * @throws Error if the key is no longer known
 */
export function openFiles(cipher: Cipher, files: Files): Files {
  return mapTexts(files, (text) => openText(cipher, text));
}

export function sealText({ encrypt }: Cipher, text: string): string {
  return encrypt(text).toString('base64');
}

export function openText({ decrypt }: Cipher, text: string): string {
  return decrypt(Buffer.from(text, 'base64'));
}

function mapTexts(files: Files, change: (text: string) => string): Files {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, change(text)]));
}
