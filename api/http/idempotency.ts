import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { v7 as uuidV7 } from 'uuid';
import { Problem } from '../../domain/errors.ts';
import { timeOfId } from '../../domain/ids.ts';
import {
  type AcceptedEmail,
  claimIdempotencyKey,
  completeIdempotencyKey,
  type EarlierUse,
  listAccepted,
  recordAccepted,
  releaseIdempotencyKey,
  releaseLostKey,
  renewIdempotencyKey,
} from '../../db/idempotency.ts';
import { isAnswerLost } from '../../db/sql-state.ts';
import type { Cipher } from '../../providers/encryption.ts';
import type { Database } from '../../db/database.ts';
import type { AnyEndpoint } from './endpoint.ts';

export interface StoredAnswer {
  status: number;
  text: string;
  /** Sent instead of the text. Stored responses have only text. */
  bytes?: Buffer;
  /** Streamed instead of the text, for long lists and exports. */
  stream?: Readable;
}

/**
 * The use of a key by the request that holds it. The use ends when a response is stored or the key
 * is released. The process may die at any time in between.
 */
export interface KeyUse {
  /** The mails that earlier, unfinished requests with this key have accepted, in order. */
  accepted: readonly AcceptedEmail[];
  /**
   * Returns the id of the mail at an index of the request, which is the same in every repeated
   * request.
   */
  emailId(index: number): string;
  /**
   * Records that a mail was accepted, in the transaction of the mail. @throws
   * IDEMPOTENCY_IN_PROGRESS
   */
  recordAccepted(tx: Database, email: AcceptedEmail): Promise<void>;
  /** Stores the response in the last transaction of the work. @throws IDEMPOTENCY_IN_PROGRESS */
  completeIn(tx: Database, answer: StoredAnswer): Promise<void>;
  /** Stores the response, unless `completeIn` has stored it already. */
  complete(answer: StoredAnswer): Promise<void>;
  /** Frees the key, so that a repeated request continues after the accepted mail. */
  release(): Promise<void>;
  /** Records that the request is still running, so that no other request takes its key over. */
  renew(): Promise<void>;
  /** Returns true if this request, or earlier requests with the key, have accepted mail. */
  hasAccepted(): Promise<boolean>;
}

export interface IdempotentRequest {
  space: KeySpace;
  key: string;
  method: string;
  path: string;
  /** The parsed body. The order of keys and white space do not matter. */
  body: unknown;
  /** The caller, in the form that `actorOf` returns. */
  actor: string;
  /** True: the response shows a secret, and is repeated only to this caller. */
  showsSecret: boolean;
}

/**
 * The scope in which idempotency keys are compared: requests share keys only if their scopes are
 * equal.
 */
export interface KeySpace {
  /** The project, or the user of a request without a project. */
  ownerId: string;
  /**
   * A caller with its own idempotency keys: a named API key, or the project's public key, because
   * its holders must not block the idempotency keys of the secret key. null: the project's secret
   * key, or a session.
   */
  callerId: string | null;
}

export function honoursKey({ access, method, idempotent }: AnyEndpoint): boolean {
  return method === 'POST' && (idempotent ?? (access !== 'open' && access !== 'session'));
}

interface KeyServices {
  db: Database;
  /**
   * The database handle that stores the response or releases the key, without a connection of the
   * project's share. So other requests of the project cannot delay the end of a request.
   */
  settleDb: Database;
  /** Runs the work, and repeats it while the database is unavailable. Never throws. */
  settle: (work: () => Promise<void>) => Promise<void>;
  cipher: Cipher;
  ttlHours: number;
}

/**
 * Claims an idempotency key. The first request with a key runs; a repeated request gets the stored
 * response.
 * @throws Problem INVALID_IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS.
 */
export async function useIdempotencyKey(
  { db, settleDb, settle, cipher, ttlHours }: KeyServices,
  request: IdempotentRequest,
): Promise<{ first: KeyUse } | { replay: StoredAnswer }> {
  if (!/^[\x20-\x7e]{1,255}$/.test(request.key)) throw new Problem('INVALID_IDEMPOTENCY_KEY');
  const { ownerId, callerId } = request.space;
  // A tab separates the caller from the key, because an idempotency key in a request cannot contain
  // a tab.
  const named = { ownerId, key: callerId === null ? request.key : `${callerId}\t${request.key}` };
  const name = `${request.method} ${request.path}`;
  const bodyHash = createHash('sha256').update(canonicalJson(request.body)).digest();
  const { actor } = request;
  const use = { ...named, useId: uuidV7() };
  const given = {
    ...use,
    request: name,
    bodyHash,
    ttlHours,
    shownTo: request.showsSecret ? actor : null,
  };
  const claim = await claimIdempotencyKey(db, given).catch(async (error: unknown) => {
    // The claim may have been committed, and no other request would release it.
    if (isAnswerLost(error)) await settle(() => releaseLostKey(settleDb, use));
    throw error;
  });
  if ('row' in claim) {
    const { row } = claim;
    const isForOther = row.shown_to !== null && row.shown_to !== actor;
    if (isForOther || row.request !== name || !row.body_hash.equals(bodyHash)) {
      throw reused(request.key, row, { isForOther });
    }
    if (row.status_code === null || row.response === null) {
      throw new Problem('IDEMPOTENCY_IN_PROGRESS');
    }
    return { replay: { status: row.status_code, text: cipher.decrypt(row.response) } };
  }
  const held = { ...named, claimedAt: claim.claimedAt };
  let isStored = false;
  const store = (to: Database, { status, text }: StoredAnswer) =>
    completeIdempotencyKey(to, held, { status, response: cipher.encrypt(text) });
  return {
    first: {
      accepted: claim.accepted,
      emailId: (index) => emailIdOf(claim.useId, index),
      recordAccepted: (tx, email) => recordAccepted(tx, held, email),
      async completeIn(tx, answer) {
        isStored = await store(tx, answer);
        if (!isStored) throw new Problem('IDEMPOTENCY_IN_PROGRESS');
      },
      async complete(answer) {
        if (!isStored) await store(settleDb, answer);
      },
      renew: () => renewIdempotencyKey(db, held),
      release: () => releaseIdempotencyKey(settleDb, held),
      hasAccepted: async () => (await listAccepted(settleDb, held)).length > 0,
    },
  };
}

/**
 * Returns a UUIDv7 with the time of `useId`. The ids of one request increase with `index`. The
 * other bits are a hash, so that ids are hard to guess.
 */
function emailIdOf(useId: string, index: number): string {
  const random = createHash('sha256').update(`${useId} ${index}`).digest();
  const msecs = timeOfId(useId);
  return uuidV7({ msecs, seq: index, random });
}

function reused(key: string, row: EarlierUse, { isForOther }: { isForOther: boolean }): Problem {
  return new Problem('IDEMPOTENCY_KEY_REUSED', {
    details: {
      key,
      ...(!isForOther && { originalRequest: row.request }),
      originalRequestAt: row.created_at.toISOString(),
      originalStatusCode: row.status_code,
    },
  });
}

/** Returns JSON with sorted keys, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
        : item,
    ) ?? ''
  );
}
