import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';

/**
 * Reads a generated secret, or creates it if the file does not exist.
 * @param path a file that only its owner may read (mode 600)
 * @returns 64 characters (48 random bytes, base64url)
 * @throws Error when the file has fewer than 32 characters, the minimum of a JWT_SECRET
 */
export async function keptSecret(path: string): Promise<string> {
  try {
    await writeFile(path, `${randomBytes(48).toString('base64url')}\n`, {
      flag: 'wx',
      mode: 0o600,
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const secret = (await readFile(path, 'utf8')).trim();
  if (secret.length >= 32) return secret;
  throw new Error(
    `${path} is damaged: it holds fewer than 32 characters. Restore it from a backup. If there ` +
      'is none, stored values cannot be decrypted: delete the whole data directory to begin with an empty server.',
  );
}
