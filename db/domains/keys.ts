import { type RawBuilder, sql } from 'kysely';
import type { DkimAlgorithm } from '../../domain/sender/dkim-record.ts';
import type { DomainKey } from '../../domain/sender/sender-records.ts';
import type { Database } from '../database.ts';

/** DKIM keys of sender domains. */

/** A DKIM key to insert. */
export interface NewKey {
  selector: string;
  algorithm: DkimAlgorithm;
  /** The public key, as in `DkimPublicKey`. */
  publicKey: string;
  /** The private key, encrypted. */
  privateKey: Buffer;
  state: 'current' | 'next';
  /** True if the key signs without a check of its record (`countsAsFound`). */
  isSeen: boolean;
}

/** Time after which a next key is dropped if its DNS record was never found. No standard sets it. */
const unseenMax = sql`interval '30 days'`;
/**
 * Time for which the DNS record of a previous key must stay, because mail with its signature may
 * still be on its way.
 */
const overlap = sql`interval '7 days'`;
/** Time after `overlap` for which the record of a previous key is listed, if it is still in DNS. */
const listedAfter = sql`interval '30 days'`;

/** SQL that is true for a key that is not dropped yet. `key`: the table or its alias. */
export function isKept(key: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${key}.${name}`);
  return sql<boolean>`(${column('state')} <> 'next'
        or ${column('created_at')} > now() - ${unseenMax})
      and (${column('state')} <> 'previous'
        or ${column('remove_after')} > now() - ${listedAfter})`;
}

export async function insertKeys(
  tx: Database,
  domainId: string,
  keys: readonly NewKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .insertInto('domain_key')
    .values(
      keys.map(({ selector, algorithm, publicKey, privateKey, state, isSeen }) => ({
        domain_id: domainId,
        selector,
        algorithm,
        public_key: publicKey,
        private_key: privateKey,
        state,
        seen_at: isSeen ? sql<Date>`now()` : null,
      })),
    )
    .execute();
}

/**
 * Deletes keys of a domain: all keys, the keys of one algorithm, or the keys that `isKept` does not
 * keep (`dropped`).
 */
export async function deleteKeys(
  tx: Database,
  domainId: string,
  which: 'all' | DkimAlgorithm | 'dropped',
): Promise<void> {
  await tx
    .deleteFrom('domain_key')
    .where('domain_id', '=', domainId)
    .$if(which === 'dropped', (query) => query.where(sql<boolean>`not (${isKept('domain_key')})`))
    .$if(which === 'rsa' || which === 'ed25519', (query) => query.where('algorithm', '=', which))
    .execute();
}

/** Records that checks have found these keys in DNS. */
export async function markKeysSeen(
  tx: Database,
  domainId: string,
  keys: readonly Pick<DomainKey, 'selector' | 'algorithm'>[],
): Promise<void> {
  for (const { selector, algorithm } of keys) {
    await tx
      .updateTable('domain_key')
      .set({ seen_at: sql<Date>`now()` })
      .where('domain_id', '=', domainId)
      .where('selector', '=', selector)
      .where('algorithm', '=', algorithm)
      .where('seen_at', 'is', null)
      .execute();
  }
}

/** Makes the next keys of a domain the current ones. Deletes the private parts of the old keys. */
export async function promoteNextKeys(tx: Database, domainId: string): Promise<void> {
  await tx
    .updateTable('domain_key')
    .set({
      state: 'previous',
      private_key: null,
      remove_after: sql<Date>`now() + ${overlap}`,
    })
    .where('domain_id', '=', domainId)
    .where('state', '=', 'current')
    .execute();
  await tx
    .updateTable('domain_key')
    .set({ state: 'current' })
    .where('domain_id', '=', domainId)
    .where('state', '=', 'next')
    .execute();
}

/**
 * Deletes those of the given previous keys that are no longer needed in DNS, because their
 * `overlap` is over. The caller has found that their records are removed.
 */
export async function deleteRemovedKeys(
  tx: Database,
  domainId: string,
  keys: readonly Pick<DomainKey, 'selector' | 'algorithm'>[],
): Promise<void> {
  for (const { selector, algorithm } of keys) {
    await tx
      .deleteFrom('domain_key')
      .where('domain_id', '=', domainId)
      .where('selector', '=', selector)
      .where('algorithm', '=', algorithm)
      .where('remove_after', '<=', sql<Date>`now()`)
      .execute();
  }
}

/** A signing key, encrypted. */
export interface SealedKey {
  selector: string;
  algorithm: DkimAlgorithm;
  privateKey: Buffer;
}

/** The values of a sender domain that are needed to send its mail. */
export interface Sender {
  /**
   * Keys that sign the mail; empty: the mail is not signed. The DNS record of each key was found.
   * An Ed25519 key never signs without an RSA key.
   */
  keys: SealedKey[];
  /** True if the last check found the MX record of the domain's own return path. */
  hasReturnPath: boolean;
}

/**
 * SQL that is true if the last check found the return path of a domain.
 * @param returnPath `recordKey` of the MX record of the return path
 */
export function isReturnPathFound(returnPath: string): RawBuilder<boolean> {
  return sql`coalesce(domain.record_states -> ${returnPath} ->> 'status' = 'verified', false)`;
}

/**
 * Returns the values that are needed to send mail from a domain.
 * @param given.returnPath `recordKey` of the MX record of the return path
 */
export async function findSender(
  db: Database,
  { projectId, domain, returnPath }: { projectId: string; domain: string; returnPath: string },
): Promise<Sender> {
  const rows = await db
    .selectFrom('domain')
    .leftJoin('domain_key', (join) =>
      join
        .onRef('domain_key.domain_id', '=', 'domain.id')
        .on('domain.signing', '=', 'own')
        .on('domain_key.state', '=', 'current')
        .on('domain_key.seen_at', 'is not', null),
    )
    .select(['domain_key.selector', 'domain_key.algorithm', 'domain_key.private_key'])
    .select(isReturnPathFound(returnPath).as('hasReturnPath'))
    .where('domain.project_id', '=', projectId)
    .where('domain.name', '=', domain)
    .orderBy('domain_key.algorithm', 'desc')
    .execute();
  const keys = rows.flatMap(({ selector, algorithm, private_key: privateKey }) =>
    selector && privateKey ? [{ selector, algorithm: algorithm as DkimAlgorithm, privateKey }] : [],
  );
  const hasRsa = keys.some(({ algorithm }) => algorithm === 'rsa');
  return { keys: hasRsa ? keys : [], hasReturnPath: rows[0]?.hasReturnPath ?? false };
}
