import type { Services } from '../services/services.ts';

/**
 * Files of open plans are stored encrypted, because the file of an event subscription may contain the
 * values of its headers.
 */

type Files = Readonly<Record<string, string>>;

/** Encrypts the texts of files. */
export function sealFiles({ encrypt }: Services['cipher'], files: Files): Files {
  return mapTexts(files, (text) => encrypt(text).toString('base64'));
}

/**
 * Decrypts the result of `sealFiles`.
 * @throws Error if the key is no longer known
 */
export function openFiles({ decrypt }: Services['cipher'], files: Files): Files {
  return mapTexts(files, (text) => decrypt(Buffer.from(text, 'base64')));
}

function mapTexts(files: Files, change: (text: string) => string): Files {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, change(text)]));
}
