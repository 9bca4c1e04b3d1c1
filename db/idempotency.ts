import { sql } from 'kysely';
import { Problem } from '../domain/errors.ts';
import { timeOfId } from '../domain/ids.ts';
import { limits } from '../domain/limits.ts';
import { type Database, transact } from './database.ts';

/**
 * A claim of a key by one request. The claim ends when the request stores its response or releases
 * the key, or another request takes the key over.
 */
export interface KeyClaim {
  ownerId: string;
  key: string;
  claimedAt: Date;
}

export interface ClaimedKey {
  claimedAt: Date;
  /**
   * The ids of the request's mails are derived from this id. Every request that continues this one
   * has the same id.
   */
  useId: string;
  /** Mail that earlier, unfinished requests with this key have accepted. */
  accepted: AcceptedEmail[];
}

/** A mail that a request has accepted under an idempotency key. */
export interface AcceptedEmail {
  /** Index of the mail in the request, from 0. */
  position: number;
  emailId: string;
  contactId: string;
}

/** An earlier use of a key, which prevents a new claim. */
export interface EarlierUse {
  request: string;
  body_hash: Buffer;
  status_code: number | null;
  response: Buffer | null;
  created_at: Date;
  shown_to: string | null;
}

interface NewUse {
  ownerId: string;
  key: string;
  /** Method and path of the request. */
  request: string;
  bodyHash: Buffer;
  /**
   * A new UUIDv7. If the response of the database is lost, this id in the row shows that the claim
   * was committed.
   */
  useId: string;
  ttlHours: number;
  /**
   * The only actor that may get the stored response; null: everyone with the right to make the
   * request.
   */
  shownTo: string | null;
}

/**
 * Claims a key for one request. An expired key counts as new. If an earlier request ended without a
 * response, or took too long, a request with the same body can claim its key. The claim then
 * includes the mail that the earlier request has accepted. Returns the claim, or the row of the
 * earlier use.
 */
export async function claimIdempotencyKey(
  db: Database,
  given: NewUse,
): Promise<ClaimedKey | { row: EarlierUse }> {
  const { useId } = given;
  for (;;) {
    const fresh = await db
      .insertInto('idempotency')
      .values({
        owner_id: given.ownerId,
        key: given.key,
        request: given.request,
        body_hash: given.bodyHash,
        use_id: useId,
        shown_to: given.shownTo,
        created_at: sql<Date>`clock_timestamp()`,
      })
      .onConflict((conflict) => conflict.columns(['owner_id', 'key']).doNothing())
      .returning('created_at')
      .executeTakeFirst();
    if (fresh) return { claimedAt: fresh.created_at, useId, accepted: [] };
    const known = await transact(db, (tx) => takeOver(tx, given));
    // If `known` is undefined, the row was deleted in between: the first request failed and
    // released the key.
    if (known) return known;
  }
}

async function takeOver(
  tx: Database,
  given: NewUse,
): Promise<ClaimedKey | { row: EarlierUse } | undefined> {
  const named = { owner_id: given.ownerId, key: given.key };
  const row = await tx
    .selectFrom('idempotency')
    .select(['request', 'body_hash', 'status_code', 'response', 'created_at', 'use_id', 'shown_to'])
    .select([
      sql<boolean>`created_at < now() - make_interval(hours => ${given.ttlHours}::int)`.as(
        'is_expired',
      ),
      sql<boolean>`status_code is null and (interrupted or coalesce(renewed_at, created_at)
        < now() - make_interval(secs => ${limits.idempotencyStaleMs / 1000}::float8))`.as(
        'is_left',
      ),
    ])
    .where((eb) => eb.and(named))
    .forUpdate()
    .executeTakeFirst();
  if (!row) return undefined;
  // This claim was committed, but its response was lost.
  if (row.use_id === given.useId && row.status_code === null) {
    return { claimedAt: row.created_at, useId: given.useId, accepted: [] };
  }
  if (row.is_expired) {
    await tx
      .deleteFrom('idempotency_email')
      .where((eb) => eb.and({ project_id: given.ownerId, key: given.key }))
      .execute();
  } else if (!row.is_left) return { row };
  const accepted = await listAccepted(tx, given);
  const isRepeat = row.request === given.request && row.body_hash.equals(given.bodyHash);
  if (accepted.length > 0 && !isRepeat) return { row };
  // The ids of mail are derived from `use_id`, and a repeated request keeps it. So mail that the
  // earlier request commits late has the same id, and is stored only once.
  const before = isRepeat && !row.is_expired ? row.use_id : null;
  const useId = before && isWithin(before, given.ttlHours) ? before : given.useId;
  const { created_at: claimedAt } = await tx
    .updateTable('idempotency')
    .set({
      request: given.request,
      body_hash: given.bodyHash,
      status_code: null,
      response: null,
      interrupted: false,
      use_id: useId,
      shown_to: given.shownTo,
      renewed_at: null,
      created_at: sql<Date>`clock_timestamp()`,
    })
    .where((eb) => eb.and(named))
    .returning('created_at')
    .executeTakeFirstOrThrow();
  return { claimedAt, useId, accepted };
}

/**
 * Returns true if a use began within the last `hours` hours, by the time in its UUIDv7.
 * `created_at` cannot be used, because a request that takes the key over resets it.
 */
function isWithin(useId: string, hours: number): boolean {
  const beganAt = timeOfId(useId);
  return Date.now() - beganAt < hours * 3_600_000;
}

/** Returns the mail accepted under a key, in the order of the request. */
export async function listAccepted(
  db: Database,
  { ownerId, key }: { ownerId: string; key: string },
): Promise<AcceptedEmail[]> {
  return db
    .selectFrom('idempotency_email')
    .select(['position', 'email_id as emailId', 'contact_id as contactId'])
    .where('project_id', '=', ownerId)
    .where('key', '=', key)
    .orderBy('position')
    .execute();
}

/** SQL that finds the row of a claim that has not ended. */
const held = (claim: KeyClaim) => sql`owner_id = ${claim.ownerId} and key = ${claim.key}
  and created_at = ${claim.claimedAt} and status_code is null`;

/**
 * Records, in the transaction of a mail, that the mail was accepted under the key.
 * @throws Problem IDEMPOTENCY_IN_PROGRESS when another request has taken the key over: the caller's
 * transaction must be rolled back.
 */
export async function recordAccepted(
  tx: Database,
  claim: KeyClaim,
  { position, emailId, contactId }: AcceptedEmail,
): Promise<void> {
  // The lock makes a request that takes the key over wait for this transaction, and then see its
  // mail.
  const { rows } = await sql`
    with claim as (
      select owner_id, key from idempotency where ${held(claim)} for no key update
    )
    insert into idempotency_email (project_id, key, position, email_id, contact_id)
      select owner_id, key, ${position}::int, ${emailId}::uuid, ${contactId}::uuid from claim
      returning position`.execute(tx);
  if (rows.length === 0) throw new Problem('IDEMPOTENCY_IN_PROGRESS');
}

/** Records that the request which holds the claim is alive. */
export async function renewIdempotencyKey(db: Database, claim: KeyClaim): Promise<void> {
  await sql`update idempotency set renewed_at = clock_timestamp() where ${held(claim)}`.execute(db);
}

/**
 * Stores the response of the request that holds the claim. Returns false when another request has
 * taken the key over, or a response is stored already.
 */
export async function completeIdempotencyKey(
  db: Database,
  claim: KeyClaim,
  { status, response }: { status: number; response: Buffer },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update idempotency set status_code = ${status}, response = ${response}
      where ${held(claim)}`.execute(db);
  return numAffectedRows === 1n;
}

/**
 * Ends a claim without a response, so the key counts as new again. If mail was accepted under the
 * key, the next request with the same body continues after this mail.
 */
export async function releaseIdempotencyKey(db: Database, claim: KeyClaim): Promise<void> {
  const isEmpty = sql`not exists (
    select from idempotency_email where project_id = ${claim.ownerId} and key = ${claim.key})`;
  await sql`
    with released as (
      delete from idempotency where ${held(claim)} and ${isEmpty}
    )
    update idempotency set interrupted = true where ${held(claim)} and not ${isEmpty}`.execute(db);
}

/**
 * Ends a claim whose statement failed, although the statement may have been committed. Nothing was
 * done under the claim, so its row is deleted, and the next request gets a new `use_id`. A second
 * call does not end the claim of that next request. Call it before the claim is stale
 * (`limits.idempotencyStaleMs`), because another request may then take the key over with the same
 * `use_id`.
 */
export async function releaseLostKey(
  db: Database,
  { ownerId, key, useId }: Pick<NewUse, 'ownerId' | 'key' | 'useId'>,
): Promise<void> {
  await sql`
    delete from idempotency
      where owner_id = ${ownerId} and key = ${key} and use_id = ${useId} and status_code is null
        and not exists (select from idempotency_email
          where project_id = ${ownerId} and idempotency_email.key = ${key})`.execute(db);
}
