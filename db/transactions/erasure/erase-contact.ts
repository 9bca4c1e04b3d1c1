import { type RawBuilder, sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { deleteMail } from '../../emails/removal.ts';
import { completeErasure, type ErasureRow, noteErased } from '../../erasure/erasures.ts';
import { anyOf } from '../../expressions.ts';
import { deletePage } from '../../pages.ts';
import { following, ledgerColumns, whenFailing } from '../../sql/ledger.ts';
import { isClaimedByChunk } from '../../sql/mail-status.ts';
import { traceEntry } from '../../sql/mail-trace.ts';
import { skipDeliveriesOf } from '../../subscriptions/upkeep.ts';
import type { KeyCipher } from '../../suppression/keys.ts';
import {
  erasedAddress,
  type ErasureCounts,
  valueWithoutAddress,
  withoutAddress,
} from '../../../domain/contact/erasure.ts';
import { lowerAscii } from '../../../domain/email-address.ts';

/**
 * The work of an erasure, one page per transaction. After a crash, the next run continues after the
 * last committed page.
 */

interface Page {
  counts: Partial<ErasureCounts>;
  /** Start of the next page of this task; null: the task is done. */
  next: string | null;
  /** Milliseconds until the next page. Set only when nothing can be done now. */
  pauseMs?: number;
}

/** An erasure that is not over. */
type Open = ErasureRow & { contact_id: string; email: string };

type Task = (tx: Database, erasure: Open, cipher: KeyCipher) => Promise<Page>;

/** Milliseconds between two checks of mail that is being given to the mail provider. */
const settlingMs = 500;

/** The position of the first page. Tasks that delete rows use it for every page. */
const again = '';

/**
 * The tasks in their order. Mail comes first, because the other rows may still change while mail is
 * being sent. Rows that only contain the address come last.
 */
const tasks: Record<string, Task> = {
  emails: deleteEmails,
  digestEvents: deleting('digest_event', null, 2000),
  executions: deleting('execution', 'executions', 100),
  notStarted: deleting('not_started', null, 2000),
  events: deleting('event', 'events', 2000),
  memberships: deleting('segment_member', 'memberships', 2000),
  topics: deleting('contact_topic', 'topics', 2000),
  consent: deleting('consent', 'consent', 2000),
  deliveries: clearDeliveries,
  responses: clearResponses,
  mailbox: deleteMailbox,
  otherEmails: eraseOtherEmails,
  jobErrors: eraseJobErrors,
  idempotency: eraseResponses,
};
const order = Object.keys(tasks);

/**
 * Processes the next page of an erasure. Returns true in `isOver` when the erasure is over or gone,
 * and the milliseconds until the next page in `pauseMs`.
 */
export async function recordErasurePage(
  db: Database,
  cipher: KeyCipher,
  id: string,
): Promise<{ isOver: boolean; task: string | null; pauseMs: number }> {
  return transact(db, async (tx) => {
    const erasure = await tx
      .selectFrom('erasure')
      .select(columnsOf('erasure'))
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!erasure || !isOpen(erasure)) return { isOver: true, task: null, pauseMs: 0 };
    const name = erasure.task ?? order[0]!;
    const task = tasks[name];
    if (!task) {
      await completeErasure(tx, erasure);
      return { isOver: true, task: null, pauseMs: 0 };
    }
    const { counts, next, pauseMs = 0 } = await task(tx, erasure, cipher);
    const after = next === null ? (order[order.indexOf(name) + 1] ?? 'contact') : name;
    await noteErased(tx, erasure, { counts, task: after, position: next });
    return { isOver: false, task: after, pauseMs };
  });
}

function isOpen(erasure: ErasureRow): erasure is Open {
  return erasure.state !== 'completed' && erasure.contact_id !== null && erasure.email !== null;
}

/**
 * Deletes the rows of a table that belong to the contact.
 * @param count the field of the receipt that counts them; null: they are not counted
 */
function deleting(table: string, count: keyof ErasureCounts | null, rows: number): Task {
  return async (tx, { contact_id }) => {
    const where = sql<boolean>`contact_id = ${contact_id}`;
    const deleted = await deletePage(tx, { table, where, rows });
    const counts = count === null ? {} : { [count]: deleted };
    return { counts, next: deleted === rows ? again : null };
  };
}

/** Deletes mails, their copies in the local mailbox, and their files if no other mail uses them. */
async function deleteEmails(tx: Database, { contact_id }: Open): Promise<Page> {
  const rows = 500;
  const underWay = sql<boolean>`(status = 'SENDING' or ${isClaimedByChunk('email')})`;
  const { rows: found } = await sql<{ id: string; files: string[] }>`
    select id, array(select file ->> 'attachmentId'
        from jsonb_array_elements(attachments) as file) as files
      from email where contact_id = ${contact_id} and not ${underWay}
      order by created_at desc limit ${rows} for update`.execute(tx);
  const ids = found.map(({ id }) => id);
  if (ids.length > 0) await deleteMail(tx, { where: sql<boolean>`id = ${anyOf(ids)}` });
  const files = [...new Set(found.flatMap((email) => email.files))];
  const counts = { emails: ids.length, attachments: 0, mailbox: 0 };
  if (ids.length > 0) counts.mailbox = await deleteMessages(tx, sql`id = ${anyOf(ids)}`);
  if (files.length > 0) counts.attachments = await deleteFiles(tx, files);
  if (ids.length === rows) return { counts, next: again };
  const { rows: left } = await sql`
    select from email where contact_id = ${contact_id} limit 1`.execute(tx);
  if (left.length === 0) return { counts, next: null };
  return { counts, next: again, pauseMs: settlingMs };
}

/** Deletes the given files that no mail uses. Returns their number. */
async function deleteFiles(tx: Database, ids: readonly string[]): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from attachment where id = ${anyOf(ids)} and not exists (select from email
      where attachments <> '[]' and attachments
        @> jsonb_build_array(jsonb_build_object('attachmentId', attachment.id)))`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

async function deleteMessages(tx: Database, which: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows } = await sql`delete from mailbox_message where ${which}`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

async function clearDeliveries(tx: Database, { contact_id }: Open): Promise<Page> {
  const cleared = await skipDeliveriesOf(tx, contact_id);
  return { counts: { deliveries: cleared }, next: cleared > 0 ? again : null };
}

/** Removes receivers' responses that contain the address. */
async function clearResponses(tx: Database, erasure: Open): Promise<Page> {
  const [after = null, event = null] = (erasure.position ?? '').split(' ').filter(Boolean);
  const rows = 500;
  const { rows: page } = await sql<{ subscription: string; event: string; response: string }>`
    select subscription_id as subscription, event_id as event, response
      from event_delivery
      where response is not null
        and subscription_id in (select id from event_subscription
          where project_id = ${erasure.rows_of})
        and ${
          after === null
            ? sql`true`
            : sql`(subscription_id, event_id) > (${after}::uuid, ${event}::uuid)`
        }
      order by subscription_id, event_id limit ${rows}`.execute(tx);
  const named = page.filter((row) => names(row.response, erasure.email));
  if (named.length > 0) {
    await sql`
      update event_delivery set response = null
        from unnest(${named.map((row) => row.subscription)}::uuid[],
          ${named.map((row) => row.event)}::uuid[]) as named(subscription_id, event_id)
        where event_delivery.subscription_id = named.subscription_id
          and event_delivery.event_id = named.event_id`.execute(tx);
  }
  const last = page.at(-1);
  const next = page.length === rows && last ? `${last.subscription} ${last.event}` : null;
  return { counts: { deliveries: named.length }, next };
}

/**
 * Deletes mail of the address from the local mailbox, but not that of other projects. One page is
 * enough, because the mailbox has at most a thousand messages.
 */
async function deleteMailbox(tx: Database, { email, rows_of }: Open): Promise<Page> {
  const mailbox = await deleteMessages(
    tx,
    sql`(recipient = ${email} or lower(sender collate "C") = ${email}) and not exists (select from email
      where email.id = mailbox_message.id and email.project_id <> ${rows_of})`,
  );
  return { counts: { mailbox }, next: null };
}

/**
 * Erases the address in a page of the project's mail, because mail of other contacts may have been
 * sent to the address.
 */
async function eraseOtherEmails(tx: Database, erasure: Open): Promise<Page> {
  const rows = 5000;
  const [at = null, id = null] = (erasure.position ?? '').split(' ').filter(Boolean);
  const { rows: page } = await sql<{
    size: number;
    at: string | null;
    id: string | null;
    found: string[];
  }>`
    with page as materialized (
      select id, created_at, to_email, contact_id from email
        where project_id = ${erasure.rows_of} and created_at <= ${erasure.requested_at}
          and ${at === null ? sql`true` : sql`(created_at, id) > (${at}::timestamptz, ${id}::uuid)`}
        order by created_at, id limit ${rows}
    )
    select count(*)::int as size,
        (array_agg(created_at order by created_at desc, id desc))[1]::text as at,
        (array_agg(id order by created_at desc, id desc))[1] as id,
        coalesce(array_agg(id) filter (where to_email = ${erasure.email}
          and contact_id <> ${erasure.contact_id}), '{}') as found
      from page`.execute(tx);
  const { size, found, ...last } = page[0]!;
  const others = await lockOthers(tx, found);
  if (others.some(({ under_way }) => under_way)) {
    return { counts: {}, next: erasure.position ?? again, pauseMs: settlingMs };
  }
  const counts = { otherEmails: others.length, attachments: 0, mailbox: 0 };
  for (const other of others) await eraseOther(tx, other, erasure.email);
  if (others.length > 0) {
    counts.mailbox = await deleteMessages(tx, sql`id = ${anyOf(others.map((one) => one.id))}`);
    const files = [...new Set(others.flatMap((one) => one.files))];
    counts.attachments = files.length === 0 ? 0 : await deleteFiles(tx, files);
  }
  return { counts, next: size === rows ? `${last.at?.replace(' ', 'T')} ${last.id}` : null };
}

interface Other {
  id: string;
  trace: unknown;
  error: string | null;
  files: string[];
  under_way: boolean;
}

async function lockOthers(tx: Database, ids: readonly string[]): Promise<Other[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Other>`
    select id, trace, error, (status = 'SENDING' or ${isClaimedByChunk('email')}) as under_way,
        array(select file ->> 'attachmentId'
          from jsonb_array_elements(attachments) as file) as files
      from email where id = ${anyOf(ids)} order by id for update`.execute(tx);
  return rows;
}

/** Keeps the row without its recipient and content. A waiting message is not sent. */
async function eraseOther(tx: Database, { id, trace, error }: Other, address: string) {
  const kept = JSON.stringify(valueWithoutAddress(trace, address));
  const withheld = traceEntry('withheld', sql`jsonb_build_object('reason', 'suppressed'::text)`);
  await sql`
    with was as (
      select ${ledgerColumns('email')} from email where id = ${id}
    ), erased as (
      update email set to_email = ${erasedAddress}, to_name = null, subject = '(erased)', body = null,
          body_template = null, body_values = null, attachments = '[]', updated_at = now(),
          error = case when status = 'PENDING' then 'suppressed'
            else ${error && withoutAddress(error, address)}::text end,
          trace = ${kept}::jsonb || case when status = 'PENDING' then ${withheld} else '[]' end,
          status = case when status = 'PENDING' then 'FAILED' else status end
        where id = ${id}
        returning ${ledgerColumns('email')}
    ), ${following({ was: 'was', now: 'erased' }, whenFailing)}
    select from erased`.execute(tx);
}

async function eraseJobErrors(tx: Database, erasure: Open): Promise<Page> {
  const rows = 50;
  const { rows: page } = await sql<{ id: string; result: unknown }>`
    select id, case when strpos(lower(result::text collate "C"), ${erasure.email}) > 0 then result end as result
      from job where project_id = ${erasure.rows_of} and id > ${erasure.position ?? ''}
      order by id limit ${rows}`.execute(tx);
  let jobErrors = 0;
  for (const { id, result } of page) {
    const kept = result === null ? null : valueWithoutAddress(result, erasure.email);
    if (kept === null || JSON.stringify(kept) === JSON.stringify(result)) continue;
    await sql`update job set result = ${JSON.stringify(kept)}::jsonb where id = ${id}`.execute(tx);
    jobErrors += 1;
  }
  return { counts: { jobErrors }, next: page.length === rows ? (page.at(-1)?.id ?? null) : null };
}

/**
 * Erases the address in stored responses of the API. They are encrypted, so they are read one by
 * one.
 */
async function eraseResponses(tx: Database, erasure: Open, cipher: KeyCipher): Promise<Page> {
  const rows = 200;
  const { rows: page } = await sql<{ key: string; response: Buffer | null }>`
    select key, response from idempotency
      where owner_id = ${erasure.rows_of} and key > ${erasure.position ?? ''}
      order by key limit ${rows}`.execute(tx);
  let idempotency = 0;
  for (const { key, response } of page) {
    const text = response && cipher.decrypt(response);
    if (!text || !names(text, erasure.email)) continue;
    const kept = JSON.stringify(valueWithoutAddress(JSON.parse(text), erasure.email));
    if (kept === text) continue;
    await sql`update idempotency set response = ${cipher.encrypt(kept)}
      where owner_id = ${erasure.rows_of} and key = ${key} and response = ${response}`.execute(tx);
    idempotency += 1;
  }
  return {
    counts: { idempotency },
    next: page.length === rows ? (page.at(-1)?.key ?? null) : null,
  };
}

/**
 * Returns true if a text contains the characters of an address, in upper or lower case. The
 * characters may be a part of a longer address.
 */
function names(text: string, address: string): boolean {
  return lowerAscii(text).includes(address);
}
