import {
  createCipheriv,
  createDecipheriv,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/**
 * The secrets of this server: the current secret of each kind, and previous secrets for reading
 * older values.
 */
export interface Secrets {
  jwtSecret: string;
  jwtSecretsPrevious: readonly string[];
  /** 32 bytes in base64; null: the key is derived from `jwtSecret`. */
  dataEncryptionKey: string | null;
  dataEncryptionKeysPrevious: readonly string[];
}

/** Encrypts values that must not be readable in the database or its backups. */
export interface Cipher {
  encrypt(text: string): Buffer;
  /**
   * Decrypts a value that was encrypted with the current key or a previous key.
   * @throws Error when the bytes were changed, or encrypted with an unknown key.
   */
  decrypt(bytes: Buffer): string;
  /**
   * Encrypts a value again with the current key; null if the value already has this key.
   * @throws Error as `decrypt` does
   */
  reencrypt(bytes: Buffer): Buffer | null;
}

const nonceBytes = 12;
const tagBytes = 16;
/** Prefix of an encrypted value. The id of the key follows the prefix. */
const mark = Buffer.from('EPK1');
const idBytes = 8;

/**
 * Encrypts with AES-256-GCM and the current key. Values that have a previous key, or the key
 * derived from `JWT_SECRET` that was used before `DATA_ENCRYPTION_KEY` was set, can still be
 * decrypted.
 */
export function createCipher(secrets: Secrets): Cipher {
  const derived = [secrets.jwtSecret, ...secrets.jwtSecretsPrevious].map((secret) =>
    derive(secret, 'data encryption'),
  );
  const previous = secrets.dataEncryptionKeysPrevious.map(fromBase64);
  const current = secrets.dataEncryptionKey
    ? fromBase64(secrets.dataEncryptionKey)
    : derive(secrets.jwtSecret, 'data encryption');
  const keys = [current, ...previous, ...derived].map((key) => ({ key, id: keyIdBytes(key) }));
  const encryptText = (text: string) =>
    Buffer.concat([mark, keyIdBytes(current), encrypt(current, Buffer.from(text))]);
  return {
    encrypt: encryptText,
    decrypt: (bytes) => decryptWith(keys, bytes).text,
    reencrypt(bytes) {
      const { text, key } = decryptWith(keys, bytes);
      return key.equals(current) ? null : encryptText(text);
    },
  };
}

/** Decrypts a value with the key whose id it contains. */
function decryptWith(
  keys: readonly { key: Buffer; id: Buffer }[],
  bytes: Buffer,
): { text: string; key: Buffer } {
  const headBytes = mark.length + idBytes;
  if (bytes.subarray(0, mark.length).equals(mark)) {
    const id = bytes.subarray(mark.length, headBytes);
    const named = keys.find((known) => known.id.equals(id));
    const text = named && decrypt(named.key, bytes.subarray(headBytes));
    if (named && text) return { text: text.toString('utf8'), key: named.key };
  }
  throw new Error(
    'An encrypted value cannot be decrypted with any of the known keys. If the key was replaced, ' +
      'add the former one to DATA_ENCRYPTION_KEY_PREVIOUS or JWT_SECRET_PREVIOUS.',
  );
}

function encrypt(key: Buffer, text: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Returns the decrypted value; null: the bytes were changed, or encrypted with another key. */
function decrypt(key: Buffer, bytes: Buffer): Buffer | null {
  if (bytes.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  const body = decipher.update(bytes.subarray(nonceBytes + tagBytes));
  try {
    return Buffer.concat([body, decipher.final()]);
  } catch {
    return null;
  }
}

/**
 * Returns a function that signs texts: HMAC-SHA256 in base64url. The key is derived from `secret`,
 * and is different for each `purpose`.
 */
export function createSigner(secret: string, purpose: string): (text: string) => string {
  const key = derive(secret, purpose);
  const known = signers.get(key);
  if (known) return known;
  const padded = (byte: number, length: number) =>
    Buffer.alloc(length, byte).map((pad, at) => pad ^ (key[at] ?? 0));
  // HMAC (RFC 2104) for a key shorter than a block, made from two hashes. Signing is most of the
  // work of composing a message, and Node's Hmac object costs twice as much.
  const inner = Buffer.alloc(signedBytes);
  inner.set(padded(0x36, blockBytes));
  const outer = Buffer.alloc(blockBytes + 32);
  outer.set(padded(0x5c, blockBytes));
  const sign = (text: string): string => {
    const isShort = text.length * 3 <= signedBytes - blockBytes;
    const signed = isShort
      ? inner
      : Buffer.concat([inner.subarray(0, blockBytes), Buffer.from(text)]);
    const end = isShort ? blockBytes + inner.write(text, blockBytes) : signed.length;
    outer.write(hash('sha256', signed.subarray(0, end), 'binary'), blockBytes, 'binary');
    return hash('sha256', outer, 'base64url');
  };
  signers.set(key, sign);
  return sign;
}

/** Signers by key. They are cached, because each check of a signature needs a signer. */
const signers = new WeakMap<Buffer, (text: string) => string>();

/** Block size of SHA-256, in bytes. */
const blockBytes = 64;
/** Size in bytes of the buffer for a text to sign. A longer text needs one more copy. */
const signedBytes = 4 * 1024;

/** Returns true if `signature` was made for `text` and `purpose` with any of the secrets. */
export function isSigned(
  secrets: Pick<Secrets, 'jwtSecret' | 'jwtSecretsPrevious'>,
  purpose: string,
  text: string,
  signature: string,
): boolean {
  const given = Buffer.from(signature);
  return [secrets.jwtSecret, ...secrets.jwtSecretsPrevious].some((secret) => {
    const expected = Buffer.from(createSigner(secret, purpose)(text));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/**
 * Returns the tokens of a row, which are derived from its id: first with the current secret, then
 * with previous secrets. Each token has 64 hex digits.
 */
export function derivedTokens(
  { jwtSecret, jwtSecretsPrevious }: Pick<Secrets, 'jwtSecret' | 'jwtSecretsPrevious'>,
  purpose: string,
  id: string,
): string[] {
  return [jwtSecret, ...jwtSecretsPrevious].map((secret) =>
    Buffer.from(createSigner(secret, purpose)(id), 'base64url').toString('hex'),
  );
}

/**
 * Returns the public id of a secret. The id never changes, and reveals nothing about the secret.
 */
export function keyId(secret: string | Buffer): string {
  return keyIdBytes(secret).toString('hex');
}

function keyIdBytes(secret: string | Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'everpost key id', idBytes));
}

/**
 * Cache of derived keys by purpose and secret. The cache stays small, because a server has few
 * keys. Deriving a key costs as much as signing.
 */
const derivedKeys = new Map<string, Buffer>();

function derive(secret: string, purpose: string): Buffer {
  const name = `${purpose}\0${secret}`;
  const known = derivedKeys.get(name);
  if (known) return known;
  const key = Buffer.from(hkdfSync('sha256', secret, '', `everpost ${purpose}`, 32));
  derivedKeys.set(name, key);
  return key;
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}
