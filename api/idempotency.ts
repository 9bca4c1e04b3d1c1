import { createHash } from 'node:crypto';
import { Problem } from '../domain/errors.ts';
import {
  claimIdempotencyKey,
  completeIdempotencyKey,
  releaseIdempotencyKey,
} from '../db/idempotency.ts';
import type { Seal } from '../db/sealed.ts';
import type { Database } from '../db/database.ts';

export interface StoredAnswer {
  status: number;
  text: string;
  /** Sent in place of the text; answers that are kept have none. */
  bytes?: Buffer;
}

/** A first use of a key: to be ended by exactly one of its two calls. */
export interface FirstUse {
  complete(answer: StoredAnswer): Promise<void>;
  release(): Promise<void>;
}

export interface IdempotentRequest {
  /** The project, or the user of a request without one: owners do not share keys. */
  ownerId: string;
  key: string;
  method: string;
  path: string;
  /** The parsed body: key order and white space do not matter. */
  body: unknown;
}

/**
 * Claims an idempotency key: the first use runs, a repeat gets the stored answer.
 * @throws Problem INVALID_IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS.
 */
export async function useIdempotencyKey(
  { db, seal, ttlHours }: { db: Database; seal: Seal; ttlHours: number },
  request: IdempotentRequest,
): Promise<{ first: FirstUse } | { replay: StoredAnswer }> {
  if (!/^[\x20-\x7e]{1,255}$/.test(request.key)) throw new Problem('INVALID_IDEMPOTENCY_KEY');
  const name = `${request.method} ${request.path}`;
  const bodyHash = createHash('sha256').update(canonicalJson(request.body)).digest();
  const claim = await claimIdempotencyKey(db, {
    ownerId: request.ownerId,
    key: request.key,
    request: name,
    bodyHash,
    ttlHours,
  });
  if ('claimedAt' in claim) {
    const use = { ownerId: request.ownerId, key: request.key, claimedAt: claim.claimedAt };
    return {
      first: {
        complete: ({ status, text }) =>
          completeIdempotencyKey(db, { ...use, status, response: seal.close(text) }),
        release: () => releaseIdempotencyKey(db, use),
      },
    };
  }
  const { row } = claim;
  if (row.request !== name || !row.body_hash.equals(bodyHash)) {
    throw new Problem('IDEMPOTENCY_KEY_REUSED', {
      details: {
        key: request.key,
        originalRequest: row.request,
        originalRequestAt: row.created_at.toISOString(),
        originalStatusCode: row.status_code,
      },
    });
  }
  if (row.status_code === null || row.response === null) {
    throw new Problem('IDEMPOTENCY_IN_PROGRESS');
  }
  return { replay: { status: row.status_code, text: seal.open(row.response) } };
}

/** JSON with sorted keys. */
function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
        : item,
    ) ?? ''
  );
}
