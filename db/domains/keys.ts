import { type RawBuilder, sql } from 'kysely';
import type { DkimAlgorithm } from '../../domain/sender/dkim-record.ts';
import type { DomainKey } from '../../domain/sender/sender-records.ts';
import type { Database } from '../database.ts';

/** DKIM keys of sender domains. */

/** A new key. */
export interface NewKey {
  selector: string;
  algorithm: DkimAlgorithm;
  /** As in `DkimPublicKey`. */
  publicKey: string;
  /** Encrypted. */
  privateKey: Buffer;
  state: 'current' | 'next';
  /** True if its record needs no check (`countsAsFound`). */
  isSeen: boolean;
}

/** Time after which a key whose record was never found is dropped (our choice). */
const unseenMax = sql`interval '30 days'`;
/** Time for which the record of a former key must stay, because mail on its way has its signature. */
const overlap = sql`interval '7 days'`;
/** Time after the overlap for which a record that is still in DNS is listed. */
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

/** Deletes the keys of a domain: all, those of one algorithm, or those that are not kept any more. */
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

/** Makes the next keys of a domain the current ones. The private parts of the old ones are gone. */
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

/** Deletes previous keys whose overlap is over, by their selector: DNS has their records no more. */
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

/** A key that signs, encrypted. */
export interface SealedKey {
  selector: string;
  algorithm: DkimAlgorithm;
  privateKey: Buffer;
}

/** The values that mail of a sender domain needs when it is handed over. */
export interface Sender {
  /**
   * Keys that sign its mail; an empty list: it is not signed. DNS has shown each of them, and the
   * RSA key among them.
   */
  keys: SealedKey[];
  /** True if the last check has found the MX of its own return path. */
  hasReturnPath: boolean;
}

/**
 * SQL that is true if the last check has found the return path of a domain.
 * @param returnPath `recordKey` of its MX
 */
export function isReturnPathFound(returnPath: string): RawBuilder<boolean> {
  return sql`coalesce(domain.record_states -> ${returnPath} ->> 'status' = 'verified', false)`;
}

/** @param returnPath as in `isReturnPathFound` */
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
