import { type RawBuilder, sql } from 'kysely';
import { among } from '../expressions.ts';
import { type Database, transact } from '../database.ts';
import { suppressed } from '../sql/mail-status.ts';
import { following, ledgerColumns, whenFailing } from '../sql/ledger.ts';
import { unqueuedOf } from '../sql/mail-queue.ts';
import { routedIn } from '../sql/mail-claims.ts';
import { handedOver, unrouted } from '../sql/mail-trace.ts';

/**
 * The queue of a campaign: chunks of its waiting messages. A message is in one chunk from its
 * insertion until its outcome is recorded or the send policy holds it back. Meanwhile the message's
 * row does not change, so claiming 50 messages updates one row, that of the chunk. The attempt that
 * has claimed the chunk gives its messages to the mail provider.
 * Locks are taken in this order: contacts, chunk, messages, campaign.
 */

/**
 * Maximum number of messages per chunk. When a process dies, all messages of its claimed chunks
 * become unknown, and larger chunks would save little.
 */
export const chunkSize = 50;

/** Maximum number of messages put into chunks in one statement. */
const queuedPage = 2_000;

/**
 * Returns SQL, a part of a larger statement, that puts messages into new chunks in the order in
 * which they are due. A chunk is due with the last of its messages. Messages that are due later
 * share a chunk only with others of the same due time.
 * @param from a query with the columns `id` and `due_at`.
 * @param by SQL of columns of `from`, with a leading comma: messages that differ in these columns
 * share no chunk.
 */
export function queueing(
  campaign: { id: string; projectId: string },
  from: RawBuilder<unknown>,
  by: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  return sql`
    insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
      select ${campaign.id}, ${campaign.projectId}, array_agg(id order by due_at, id), max(due_at)
        from (select id, due_at, greatest(due_at, now()) as moment ${by}, (row_number() over (
              partition by greatest(due_at, now()) ${by} order by due_at, id) - 1)
              / ${chunkSize}::int as part
          from (${from}) as waiting) as numbered
        group by moment, part ${by} order by moment, part ${by}`;
}

/**
 * Puts due messages that are in no chunk into chunks. Returns the number of messages; there may be
 * more.
 */
export async function queueLeftovers(
  db: Database,
  campaign: { id: string; projectId: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with unqueued as (
      select id, waiting.due_at, arm from ${unqueuedOf(sql`${campaign.id}`)} join email on id = email_id
        where waiting.due_at <= now() and status = 'PENDING' and email.due_at <= now()
        order by waiting.due_at, id limit ${queuedPage}
        for update of email skip locked
    ), changed as (
      update email set due_at = null from unqueued where email.id = unqueued.id
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'changed' }, ['queue'])}, queued as (
      ${queueing(campaign, sql`select id, due_at, arm from unqueued`, sql`, arm`)}
    )
    select count(*)::int as count from unqueued`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Releases a claimed chunk of which no message was given to the mail provider. If its campaign was
 * cancelled or deleted, its messages fail.
 */
export async function releaseChunk(
  db: Database,
  campaignId: string,
  attemptId: string,
): Promise<void> {
  await transact(db, async (tx) => {
    const { rows: released } = await sql`
      update campaign_chunk
        set attempt_id = null, claimed_at = null, lease_until = null, routed = null
        where attempt_id = ${attemptId}
        returning number`.execute(tx);
    if (released.length === 0) return;
    // Locked, so that either this transaction sees a cancellation, or the cancellation sees the
    // released chunk.
    const { rows } = await sql<{ status: string }>`
      select status from campaign where id = ${campaignId} for share`.execute(tx);
    const [campaign] = rows;
    if (campaign && campaign.status !== 'CANCELLED') return;
    await failCampaignEmails(tx, campaignId, chunkSize);
  });
}

/**
 * Locks the chunk of an attempt until the transaction ends. Returns its messages; undefined when
 * the attempt no longer has the chunk: the lease has expired (see `expireChunks`), or all outcomes
 * are recorded.
 */
export async function lockChunk(tx: Database, attemptId: string): Promise<string[] | undefined> {
  const { rows } = await sql<{ ids: string }>`
    select ${joinedIds(sql`email_ids`)} as ids from campaign_chunk
      where attempt_id = ${attemptId} for update`.execute(tx);
  return rows[0] && readIds(rows[0].ids);
}

/**
 * Returns SQL that joins ids into one text, because the driver parses an array character by
 * character.
 */
function joinedIds(ids: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`array_to_string(${ids}, ' ')`;
}

function readIds(joined: string): string[] {
  return joined === '' ? [] : joined.split(' ');
}

/**
 * Deletes a locked chunk, or leaves it to its attempt with the messages that have no outcome yet.
 * Puts messages that are due again into new chunks.
 * @param given.left the messages without an outcome.
 * @param given.again the messages that still wait, by the milliseconds until they are due.
 * @param given.waits the messages that wait for a mail provider.
 */
export async function endChunk(
  tx: Database,
  campaign: { id: string; projectId: string },
  attemptId: string,
  given: {
    left: readonly string[];
    again: ReadonlyMap<number, readonly string[]>;
    waits?: readonly ChunkWait[];
  },
): Promise<void> {
  if (given.left.length === 0) {
    await sql`delete from campaign_chunk where attempt_id = ${attemptId}`.execute(tx);
  } else {
    await sql`update campaign_chunk set email_ids = ${given.left}::uuid[]
      where attempt_id = ${attemptId}`.execute(tx);
  }
  const insert = (ids: readonly string[], delayMs: number, waitsFor: string | null) => sql`
    insert into campaign_chunk (campaign_id, project_id, email_ids, due_at, waits_for)
      values (${campaign.id}, ${campaign.projectId}, ${ids}::uuid[],
        now() + make_interval(secs => ${delayMs / 1000}), ${waitsFor})`;
  for (const [delayMs, ids] of given.again) await insert(ids, delayMs, null).execute(tx);
  const { waits = [] } = given;
  for (const providerId of new Set(waits.map((wait) => wait.providerId))) {
    const own = waits.filter((wait) => wait.providerId === providerId);
    const waitMs = Math.max(...own.map((wait) => wait.waitMs));
    await insert(
      own.map(({ id }) => id),
      waitMs,
      providerId,
    ).execute(tx);
  }
}

/** A message that waits because its mail provider cannot take mail. */
export interface ChunkWait {
  id: string;
  providerId: string;
  waitMs: number;
}

/**
 * Takes chunks from attempts whose lease has expired, because their process is dead. The messages
 * may have reached the mail provider, so each becomes SENDING until feedback arrives or the settle
 * time ends. Messages that were deleted with their contacts since the claim are counted as unknown
 * from now on: see `restoreDeparted`. Returns the number of chunks.
 */
export async function expireChunks(db: Database, max: number): Promise<number> {
  return transact(db, async (tx) => {
    const { rows: expired } = await sql<{ attempt: string; ids: string }>`
      select attempt_id as attempt, ${joinedIds(sql`email_ids`)} as ids from campaign_chunk
        where attempt_id is not null and lease_until < now()
        order by lease_until limit ${max} for update skip locked`.execute(tx);
    if (expired.length === 0) return 0;
    const emailIds = expired.flatMap(({ ids }) => readIds(ids));
    // Lock the messages first, so that the next statement sees what a report has changed in the
    // meantime.
    await sql`select from email where id = any(${emailIds}::uuid[]) order by id for update`.execute(
      tx,
    );
    await sql`
      with expired as (
        delete from campaign_chunk
          where attempt_id = any(${expired.map(({ attempt }) => attempt)}::uuid[])
          returning campaign_id, project_id, email_ids, attempt_id, claimed_at, lease_until, routed
      ), changed as (
        update email set
            status = 'SENDING', attempt_id = expired.attempt_id, attempts = attempts + 1,
            lease_until = expired.lease_until, updated_at = now(),
            provider_id = case when part.id is null then email.provider_id else part.provider_id end,
            trace = case when part.id is null then email.trace
                else (${unrouted(sql`email.trace`)}) || part.trace end
              || ${handedOver(sql`expired.claimed_at`)}
          from expired cross join unnest(expired.email_ids) as claimed(id)
            left join ${routedIn(sql`expired`)} part on part.id = claimed.id
          where email.id = claimed.id and ${among('email', emailIds)} and email.status = 'PENDING'
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'changed' }, ['queue'])}, departed as (
        select expired.campaign_id, expired.project_id, count(*) as count
          from expired, unnest(expired.email_ids) as claimed(id)
          where claimed.id not in (select id from changed) and not exists (
            select from email where email.id = claimed.id and email.status <> 'PENDING')
          group by 1, 2
      ), tallied as (
        insert into campaign_tally (campaign_id, project_id, code, count, sent)
          select campaign_id, project_id, code, count * times, 0 from departed,
            (values ('contact_deleted', -1), ('delivery_unknown', 1)) as change(code, times)
      )
      select from expired`.execute(tx);
    return expired.length;
  });
}

/**
 * Fails some waiting, unclaimed messages of a campaign that is cancelled or deleted. Returns their
 * number: 0 when none is left.
 * @param max approximate maximum.
 */
export async function failCampaignEmails(
  db: Database,
  campaignId: string,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with dropped as (
      delete from campaign_chunk where (campaign_id, number) in (
          select campaign_id, number from campaign_chunk
            where campaign_id = ${campaignId} and attempt_id is null
            order by due_at, number limit ${Math.ceil(max / chunkSize)} for update skip locked)
          and not exists (select from campaign
            where campaign.id = ${campaignId} and campaign.status <> 'CANCELLED')
        returning email_ids
    ), unqueued as (
      select id from ${unqueuedOf(sql`${campaignId}`)} join email on id = email_id
        where status = 'PENDING' and email.due_at is not null and not exists (select from campaign
          where campaign.id = ${campaignId} and campaign.status <> 'CANCELLED')
        order by waiting.due_at, id limit ${max} for update of email skip locked
    ), failed as (
      update email set ${suppressed('email')}
        where id in (select unnest(email_ids) from dropped union all select id from unqueued)
          and status = 'PENDING'
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'failed' }, whenFailing)}
    select ((select count(*) from dropped) + (select count(*) from unqueued))::int as count`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}
