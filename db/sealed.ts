import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts what must be readable again but not lie open in the database or its backups. */
export interface Seal {
  close(text: string): Buffer;
  /** @throws Error when the bytes were changed or sealed with another key. */
  open(bytes: Buffer): string;
}

const nonceBytes = 12;
const tagBytes = 16;

/** AES-256-GCM with `keyBase64` (32 bytes), or with a key derived from `secret` when null. */
export function createSeal(keyBase64: string | null, secret: string): Seal {
  const key = keyBase64
    ? Buffer.from(keyBase64, 'base64')
    : Buffer.from(hkdfSync('sha256', secret, '', 'everpost data encryption', 32));
  return {
    close(text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(bytes) {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      const body = bytes.subarray(nonceBytes + tagBytes);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}

/**
 * Signs texts with a key of its own for each `purpose`, derived from `secret`: HMAC-SHA256 in
 * base64url. Whoever has the text and the answer can check it by signing once more.
 */
export function createSigner(secret: string, purpose: string): (text: string) => string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', `everpost ${purpose}`, 32));
  return (text) => createHmac('sha256', key).update(text).digest('base64url');
}
