import { sql } from 'kysely';
import { columnList } from '../../columns.ts';
import { hashToken } from '../../consent/confirmations.ts';
import { noEvidence, recordConsent } from '../../consent/log.ts';
import { closeOptIns, type OptInRow, signalRuns } from '../../consent/opt-ins.ts';
import { type ContactRow, lockContact } from '../../contacts/contacts.ts';
import { type Database, transact } from '../../database.ts';
import { addressDomain, anyOf } from '../../expressions.ts';

/** An open request with its contact, which is locked. */
export interface LockedOptIn {
  request: OptInRow;
  contact: ContactRow;
  now: Date;
}

/**
 * Returns an open request; undefined when it is over. Its contact is locked until the transaction
 * ends.
 */
export async function lockOptIn(tx: Database, id: string): Promise<LockedOptIn | undefined> {
  const found = await tx
    .selectFrom('opt_in')
    .innerJoin('contact', 'contact.id', 'opt_in.contact_id')
    .innerJoin('project', 'project.id', 'contact.project_id')
    .select(['contact.project_id', 'opt_in.contact_id'])
    .where('opt_in.id', '=', id)
    .where('opt_in.state', '=', sql.lit('pending'))
    .where('project.removal', 'is', null)
    .executeTakeFirst();
  const contact = found && (await lockContact(tx, found.project_id, { id: found.contact_id }));
  if (!contact) return undefined;
  const { rows } = await sql<OptInRow & { now: Date }>`
    select ${columnList('opt_in')}, clock_timestamp() as now from opt_in
      where id = ${id} and state = 'pending'`.execute(tx);
  const [row] = rows;
  if (!row) return undefined;
  const { now, ...request } = row;
  return { request, contact, now };
}

export interface OptInMailSource {
  project: {
    id: string;
    name: string;
    language: string;
    subscription: string | null;
    from: string | null;
    fromName: string | null;
  };
  /** Template of the confirmation mail; null: the built-in text. */
  template: {
    id: string;
    subject: string;
    body: string;
    from: string | null;
    fromName: string | null;
    replyTo: string | null;
  } | null;
  /** The names of the requested topics, oldest first. */
  topics: string[];
  /** True if the domain of the sender is still verified. */
  isVerified: boolean;
}

export async function findOptInMail(
  tx: Database,
  { project_id: projectId, topic_ids: topicIds }: OptInRow,
): Promise<OptInMailSource> {
  const { rows } = await sql<OptInMailSource>`
    select jsonb_build_object('id', project.id, 'name', project.name, 'language', project.language,
          'subscription', project.subscription, 'from', opt_in_from_email,
          'fromName', opt_in_from_name) as project,
        case when template.id is not null then jsonb_build_object('id', template.id,
          'subject', template.subject, 'body', template.body, 'from', template.from_email,
          'fromName', template.from_name, 'replyTo', template.reply_to) end as template,
        array(select name from topic where id = ${anyOf(topicIds)} order by created_at, id) as topics,
        exists (select from domain
          where domain.project_id = project.id and domain.status = 'verified'
            and domain.name = ${addressDomain(sql`coalesce(template.from_email, opt_in_from_email)`)}
          ) as "isVerified"
      from project
      left join template on template.id = opt_in_template_id and template.project_id = project.id
        and template.type = 'TRANSACTIONAL'
      where project.id = ${projectId}`.execute(tx);
  return rows[0]!;
}

/** Records if the mail or the reminder of a locked request could be made. */
export async function noteOptInMail(
  tx: Database,
  request: OptInRow,
  { isReminder, isMade }: { isReminder: boolean; isMade: boolean },
): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  await tx
    .updateTable('opt_in')
    .set({
      ...(isReminder ? { reminded_at: now } : { mail_wanted: false }),
      ...(isReminder && isMade ? { mails: request.mails + 1 } : {}),
      ...(isMade ? { last_mail_at: now } : {}),
      ...(isMade && !isReminder && request.first_mail_at === null ? { first_mail_at: now } : {}),
    })
    .where('id', '=', request.id)
    .execute();
}

/** Ends a locked request that was not confirmed in time. */
export async function expireOptIn(
  tx: Database,
  { contact_id, project_id }: OptInRow,
): Promise<void> {
  const ended = await closeOptIns(tx, [contact_id], 'expired');
  const lines = ended.flatMap(({ contactId, isOfMail, topicKeys }) =>
    [...(isOfMail ? [null] : []), ...topicKeys].map((topic) => ({
      contactId,
      action: 'expired' as const,
      topic,
    })),
  );
  await recordConsent(tx, project_id, lines, { ...noEvidence, source: 'double_opt_in' });
}

/**
 * Stores when a locked request is next due. If its run has not handled it a minute later, the sweep
 * signals the run.
 */
export async function setNextReconcile(tx: Database, { id }: OptInRow, at: Date): Promise<void> {
  await sql`
    update opt_in set next_reconcile_at = ${at}::timestamptz + interval '1 minute' where id = ${id}`.execute(
    tx,
  );
}

/**
 * Signals the runs of opt-in requests whose work has been due for a minute. A run that was lost, or
 * was ended in Temporal, then starts again. A run that is still open reads its row.
 */
export async function signalStalledOptIns(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<Pick<OptInRow, 'id' | 'project_id'>>`
      update opt_in set next_reconcile_at = clock_timestamp() + interval '10 minutes'
        where id in (select id from opt_in
          where state = 'pending' and next_reconcile_at < now()
          order by next_reconcile_at limit ${max} for update skip locked)
        returning id, project_id`.execute(tx);
    await signalRuns(tx, rows);
  });
}

/**
 * Returns the tokens of requests whose mail is about to be sent, by the ids of the requests. Before
 * the first mail is sent, the hash of its token is stored. The token itself is never stored.
 * @param tokensOf returns the tokens that the server can derive from an id, the current one first.
 *   A token stays the same as long as its secret is known.
 */
export async function readOptInTokens(
  db: Database,
  ids: readonly string[],
  tokensOf: (id: string) => readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('opt_in')
    .select(['id', 'token_hash'])
    .where('id', '=', anyOf(ids))
    .execute();
  const tokens = new Map<string, string>();
  for (const { id, token_hash: stored } of rows) {
    const known = tokensOf(id);
    const token = known.find((one) => stored && hashToken(one).equals(stored)) ?? known[0]!;
    tokens.set(id, token);
    if (stored && hashToken(token).equals(stored)) continue;
    await db
      .updateTable('opt_in')
      .set({ token_hash: hashToken(token) })
      .where('id', '=', id)
      .execute();
  }
  return tokens;
}
