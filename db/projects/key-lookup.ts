import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { type ProjectState, publicId } from './projects.ts';

/** The API key of a request. */
export interface SentKey {
  hash: Buffer;
  /** The public key as text: a project's own public key is stored unhashed. */
  publicKey?: string;
}

/** A named key, with the fields that requests need. */
export interface NamedKey {
  id: string;
  scopes: string[];
  /** Restrictions of the key; null: none. */
  domains: string[] | null;
  cidrs: string[] | null;
  events: string[] | null;
  /** The reason why the key is invalid; null: it is valid. */
  ended: 'expired' | 'revoked' | null;
  /**
   * Until when the sent value is valid, if it is the old value of a rotated key; otherwise null.
   */
  validUntil: string | null;
}

export interface KeyOwner {
  project: ProjectState;
  /** null: the key is one of the project's own two keys. */
  key: NamedKey | null;
}

interface Row extends ProjectState {
  publicKey: string | null;
  hash: Buffer;
  key: NamedKey | null;
}

/** Returns the projects of keys, in the order of the keys; undefined for an unknown key. */
export async function findKeyOwners(
  db: Database,
  keys: readonly SentKey[],
): Promise<(KeyOwner | undefined)[]> {
  const publicKeys = [...new Set(keys.flatMap(({ publicKey = [] }) => publicKey))];
  const hashes = [...new Set(keys.map(({ hash }) => hex(hash)))];
  const project = sql`project.id, ${publicId} as "publicId",
    project.disabled_reason as "disabledReason", project.opt_in_required as "requiresConfirmation",
    project.keys_may_name_admins as "keysMayNameAdmins"`;
  const { rows } = await sql<Row>`
    select ${project}, public_key as "publicKey", secret_key_hash as hash, null::json as key
      from project
      where public_key = any(${publicKeys}::text[]) or secret_key_hash = any(${hashes}::bytea[])
    union all
    select ${project}, null, sent.hash, json_build_object('id', api_key.id,
        'scopes', scopes, 'domains', domains, 'cidrs', cidrs, 'events', events,
        'ended', case when revoked_at is not null then 'revoked'
          when expires_at <= now() then 'expired'
          when previous_hash = sent.hash and rotates_until <= now() then 'expired' end,
        'validUntil', case when previous_hash = sent.hash then rotates_until end)
      from unnest(${hashes}::bytea[]) as sent (hash)
      join api_key on key_hash = sent.hash or previous_hash = sent.hash
      join project on project.id = api_key.project_id and removal is null`.execute(db);
  const found = new Map<string, KeyOwner>();
  for (const { publicKey, hash, key, ...owner } of rows) {
    found.set(hex(hash), { project: owner, key });
    if (publicKey !== null) found.set(publicKey, { project: owner, key });
  }
  return keys.map(({ hash, publicKey }) => {
    const named = found.get(hex(hash));
    return named ?? (publicKey === undefined ? undefined : found.get(publicKey));
  });
}

/** Formats bytes as a PostgreSQL literal. */
function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/** Records when keys were last used. Keys that another transaction has locked are left out. */
export async function recordKeyUses(db: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  await sql`
    with used as (
      select id, used.at from api_key
        join unnest(${[...uses.keys()]}::uuid[], ${[...uses.values()]}::timestamptz[])
          as used (key_id, at) on used.key_id = id
        order by id for update of api_key skip locked)
    update api_key set last_used_at = greatest(last_used_at, used.at)
      from used where api_key.id = used.id`.execute(db);
}
