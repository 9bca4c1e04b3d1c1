import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { ownerOf } from '../commits.ts';
import type { Database } from '../database.ts';
import { bug } from '../../domain/errors.ts';

/**
 * The keys with which projects hash addresses. With its key, a project finds the entry of an
 * address although only the hash is stored.
 */

/**
 * Encrypts the keys, so that the database and its backups do not reveal the addresses behind the
 * hashes.
 */
export interface KeyCipher {
  encrypt(text: string): Buffer;
  decrypt(bytes: Buffer): string;
}

/** Hashes addresses for a project's suppression list. */
export interface Addresses {
  /** The public id of the project: the list belongs to it. */
  ownerId: string;
  /** HMAC-SHA-256 of an address in its stored form. */
  hashOf(email: string): Buffer;
}

interface Keys {
  cipher: KeyCipher;
  /** By id of the project's row: a key never changes, and a reset project has a new row id. */
  known: Map<string, Addresses>;
}

const keysOf = new WeakMap<Database, Keys>();

/** Transactions that have created a key and may still be rolled back. */
const making = new WeakSet<Database>();

/** Maximum number of projects whose keys a process caches. */
const knownMax = 10_000;

/** Sets the cipher for the address keys in the database behind `db`. */
export function encryptAddressKeys(db: Database, cipher: KeyCipher): void {
  keysOf.set(db, { cipher, known: new Map() });
}

/** Returns a project's hash function for addresses; undefined: the list never had an entry. */
export async function findAddresses(
  db: Database,
  projectId: string,
): Promise<Addresses | undefined> {
  const { cipher, known } = requireKeys(db);
  const before = known.get(projectId);
  if (before) return before;
  const { rows } = await sql<{ owner_id: string; key: Buffer }>`
    select owner_id, key from suppression_key
      where owner_id = (select coalesce(public_id, id) from project where id = ${projectId})`.execute(
    db,
  );
  const [row] = rows;
  if (!row) return undefined;
  const key = Buffer.from(cipher.decrypt(row.key), 'hex');
  const addresses = { ownerId: row.owner_id, hashOf: hasherOf(key) };
  if (making.has(db)) return addresses;
  if (known.size >= knownMax) known.clear();
  known.set(projectId, addresses);
  return addresses;
}

/** Block size of SHA-256, in bytes. */
const blockBytes = 64;

/**
 * Size of the buffer for a block and an address, in bytes: an address has at most 254 characters.
 */
const innerBytes = blockBytes + 1024;

/**
 * HMAC-SHA-256 (RFC 2104) with a key shorter than a block. The HMAC is computed by two hashes,
 * because all addresses of a campaign are hashed, and an Hmac object would be slower.
 */
function hasherOf(key: Buffer): (email: string) => Buffer {
  const padded = (byte: number, length: number) =>
    Buffer.from(Buffer.alloc(length, byte).map((pad, at) => pad ^ (key[at] ?? 0)));
  const inner = padded(0x36, innerBytes);
  const outer = padded(0x5c, blockBytes + 32);
  return (email) => {
    const end = blockBytes + inner.write(email, blockBytes);
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), blockBytes, 'binary');
    return Buffer.from(hash('sha256', outer, 'hex'), 'hex');
  };
}

/**
 * Like `findAddresses`, but creates a missing key. Call it in the transaction that makes an entry.
 */
export async function requireAddresses(tx: Database, projectId: string): Promise<Addresses> {
  const before = await findAddresses(tx, projectId);
  if (before) return before;
  making.add(tx);
  const key = requireKeys(tx).cipher.encrypt(randomBytes(32).toString('hex'));
  // If two transactions create a key, the second waits and then reads the key of the first.
  await sql`
    insert into suppression_key (owner_id, key)
      select coalesce(public_id, id), ${key} from project where id = ${projectId}
      on conflict do nothing`.execute(tx);
  const made = await findAddresses(tx, projectId);
  if (!made)
    throw new Error(
      `Addresses cannot be hashed for the project ${projectId}, which does not exist.`,
    );
  return made;
}

function requireKeys(db: Database): Keys {
  const keys = keysOf.get(ownerOf(db));
  if (!keys) throw bug('This database has no cipher for address keys: call encryptAddressKeys.');
  return keys;
}
