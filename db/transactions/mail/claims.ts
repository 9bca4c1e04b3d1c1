import { type RawBuilder, sql } from 'kysely';
import { routedBy } from '../../sql/mail-claims.ts';
import { handedOver, throttled, unrouted } from '../../sql/mail-trace.ts';
import type { WithheldReason } from '../../../domain/outcomes/outcome.ts';

/**
 * Set in a claimed message that must not be sent, for example because of a cap. Such a message
 * fails.
 */
export type Withheld = { withheld?: WithheldReason | 'delivery_unknown' };

/** Data that the messages of a claimed chunk share, and that their rows do not have yet. */
export interface ChunkOrigin {
  /** The attempt that has claimed the chunk. */
  attemptId: string;
  contentVersion: number;
  fromName: string;
  replyTo: string | null;
  /** Time of the claim, in ISO 8601. */
  claimedAt: string;
  /** ISO time since which the sending limits have delayed the messages; null: no limit has. */
  throttledAt: string | null;
}

/**
 * SQL to record the outcomes of an attempt. The SQL depends on where the claim is stored: in the
 * rows of the messages, or in a chunk.
 */
export interface Claim {
  /** SQL that is true if a row is still claimed. */
  isHeld: RawBuilder<boolean>;
  /** SQL that is true if a row was claimed, even if feedback has settled the message since. */
  wasHeld: RawBuilder<boolean>;
  /** 1 if the rows do not count this attempt yet; otherwise 0. */
  attempt: 0 | 1;
  /** The due time of a row that must be retried, as SQL. */
  dueAt: RawBuilder<unknown>;
  /**
   * SQL that is true if a message is in a chunk and was accepted at its first attempt. The columns
   * of its row then have the times of the attempt, so its trace needs no entries for them.
   */
  isPlain: RawBuilder<boolean>;
  /**
   * The stored trace of a message for which `isPlain` is true, as SQL: the column `handed_over_at`
   * replaces the entry `handed_over`.
   */
  tracePlain: RawBuilder<unknown>;
  /** The trace with the entry `handed_over`, as SQL. */
  trace: RawBuilder<unknown>;
  /**
   * The trace without the entry `handed_over`, as SQL: the message was not given to the mail
   * provider.
   */
  traceBefore: RawBuilder<unknown>;
  /** The trace of a row that feedback has settled before the provider's response, as SQL. */
  traceOvertaken: RawBuilder<unknown>;
  /** Columns that the claim itself did not write, as SQL. */
  columns: RawBuilder<unknown>;
  /** The mail provider that has had the message, as SQL; null: the default one, without a route. */
  providerId: RawBuilder<unknown>;
  /**
   * SQL that joins the table `part` to the outcomes: what the chunk knows of the provider of each
   * message. See `routedIn`.
   */
  joined: RawBuilder<unknown>;
  /** The events of a row that are not stored, as SQL: the sum of their bits. */
  derived: RawBuilder<number>;
}

/**
 * Returns the SQL to record the outcomes of an attempt.
 * @param chunk set while the attempt holds its chunk; the rows of its messages then do not show the
 * claim. `ids`: the messages in the chunk.
 * @param derivable the events that need not be stored: see `findDerivable`.
 */
export function claimOf(
  attemptIds: readonly string[],
  chunk: { origin: ChunkOrigin; ids: readonly string[] } | undefined,
  derivable: number,
): Claim {
  if (!chunk) {
    const isOwn = sql<boolean>`email.attempt_id = any(${attemptIds}::uuid[])`;
    const trace = sql`email.trace`;
    return {
      isHeld: sql`email.status = 'SENDING' and ${isOwn}`,
      wasHeld: isOwn,
      attempt: 0,
      // The rows of an expired chunk have no due time, because the chunk had it.
      dueAt: sql`case outcome.kind
        when 'again' then now() + make_interval(secs => outcome.delay_ms / 1000.0)
        when 'released' then greatest(coalesce(email.due_at, now()), case
          when outcome.delay_ms > 0 then now() + make_interval(secs => outcome.delay_ms / 1000.0) end)
        else email.due_at end`,
      isPlain: sql`false`,
      tracePlain: trace,
      trace,
      traceBefore: sql`email.trace - (-1)`,
      traceOvertaken: trace,
      columns: sql``,
      providerId: sql`email.provider_id`,
      joined: sql``,
      derived: sql`0`,
    };
  }
  const { attemptId, contentVersion, fromName, replyTo, claimedAt, throttledAt } = chunk.origin;
  const isInChunk = sql<boolean>`email.id = any(${chunk.ids}::uuid[])`;
  const isPlain = sql<boolean>`outcome.kind = 'accepted' and email.attempts = 0`;
  const isRouted = sql`(part.id is not null and outcome.kind not in ('released', 'withheld'))`;
  const providerId = sql`case when ${isRouted} then part.provider_id else email.provider_id end`;
  const throttling = throttledAt === null ? sql`'[]'` : throttled(throttledAt);
  const traceBefore = sql`email.trace || ${throttling}`;
  const tracePlain = sql`case when part.id is null then ${traceBefore}
    else (${unrouted(sql`email.trace`)}) || ${throttling} || part.trace end`;
  const trace = sql`(${tracePlain}) || ${handedOver(sql`${claimedAt}::timestamptz`)}`;
  return {
    isHeld: sql`email.status = 'PENDING' and ${isInChunk}`,
    wasHeld: isInChunk,
    attempt: 1,
    // The chunk, not the row, has the due time.
    dueAt: sql`email.due_at`,
    isPlain,
    tracePlain,
    trace,
    traceBefore,
    traceOvertaken: sql`case when ${isPlain} then ${tracePlain} else ${trace} end`,
    columns: sql`
      attempt_id = case when outcome.kind = 'uncertain' then ${attemptId}::uuid end,
      handed_over_at = case when ${isPlain} then ${claimedAt}::timestamptz end,
      from_name = ${fromName}, reply_to = ${replyTo}, content_version = ${contentVersion},
      provider_id = ${providerId},`,
    providerId,
    joined: sql`left join ${routedBy(attemptId)} part on part.id = outcome.id`,
    derived: sql`case when outcome.kind <> 'accepted' then 0
      when outcome.status = 'DELIVERED' then ${derivable}::int else ${derivable & 1}::int end`,
  };
}
