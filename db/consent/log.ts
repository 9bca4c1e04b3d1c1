import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import type { Consent } from '../tables.ts';

/** Action in an entry of the consent log. */
export type ConsentAction =
  | 'requested'
  | 'confirmed'
  | 'expired'
  | 'granted'
  | 'imported'
  | 'withdrawn'
  | 'address_changed';

/** Source of a change of consent. Events about the change have the same value in their data. */
export type ConsentSource =
  | 'api'
  | 'import'
  | 'bulk'
  | 'public_page'
  | 'one_click'
  | 'workflow'
  | 'inbound'
  | 'bounce'
  | 'complaint'
  | 'provider'
  | 'double_opt_in';

/** Evidence of a change of consent. Null fields are unknown, or do not apply. */
export interface Evidence {
  /** The actor, as `actorOf` returns it. */
  actor: string | null;
  ip: string | null;
  /** The user agent of the client, cut to a maximum length. */
  userAgent: string | null;
  /** The consent text that the person was shown. */
  text: string | null;
}

/** Evidence of changes that no request of a person or customer caused. */
export const noEvidence: Evidence = { actor: null, ip: null, userAgent: null, text: null };

export interface ConsentOrigin extends Evidence {
  source: ConsentSource;
}

/** A change of consent of one contact. */
export interface ConsentChange {
  contactId: string;
  action: ConsentAction;
  /** The key of a topic; null: the change concerns all mail. */
  topic: string | null;
}

/**
 * Writes a row for each change into the consent log, in the transaction of the changes. Uses one
 * statement for all changes, so the caller limits their number.
 */
export async function recordConsent(
  tx: Database,
  projectId: string,
  changes: readonly ConsentChange[],
  { source, ...evidence }: ConsentOrigin,
): Promise<void> {
  const lines = changes.map((change) => ({ ...change, projectId, source }));
  await recordConsentOfProjects(tx, lines, evidence);
}

/** Like `recordConsent`, for contacts of several projects and changes with several sources. */
export async function recordConsentOfProjects(
  tx: Database,
  changes: readonly (ConsentChange & { projectId: string; source: ConsentSource })[],
  { actor, ip, userAgent, text }: Evidence,
): Promise<void> {
  if (changes.length === 0) return;
  await sql`
    insert into consent (contact_id, project_id, action, source, topic, ip, user_agent, text, actor)
      select contact_id, project_id, action, source, topic,
          ${ip}, ${userAgent}, ${text}, ${actor}
        from unnest(${changes.map(({ contactId }) => contactId)}::uuid[],
          ${changes.map(({ projectId }) => projectId)}::uuid[],
          ${changes.map(({ action }) => action)}::text[],
          ${changes.map(({ source }) => source)}::text[],
          ${changes.map(({ topic }) => topic)}::text[])
          with ordinality as given(contact_id, project_id, action, source, topic, place)
        order by place`.execute(tx);
}

/**
 * Returns SQL that logs the consent of new, subscribed contacts, within the statement that creates
 * them.
 * @param made SQL that selects their rows: id, and the evidence ip, user_agent, text, actor
 */
export function insertGranted(
  projectId: string,
  source: ConsentSource,
  made: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    insert into consent (contact_id, project_id, action, source, ip, user_agent, text, actor)
      select made.id, ${projectId}, ${actionOf(true, source)}, ${source},
          made.ip, made.user_agent, made.text, made.actor
        from (${made}) made`;
}

/** Returns the log action of a contact that becomes subscribed or unsubscribed, or is created. */
export function actionOf(subscribed: boolean, source: ConsentSource): ConsentAction {
  if (!subscribed) return 'withdrawn';
  if (source === 'double_opt_in') return 'confirmed';
  return source === 'import' ? 'imported' : 'granted';
}

type ConsentRow = Omit<Selectable<Consent>, 'id' | 'contact_id' | 'project_id'>;

/** Returns the newest rows of a contact's log, oldest first. */
export async function listConsent(
  db: Database,
  contactId: string,
  max: number,
): Promise<ConsentRow[]> {
  const rows = await linesOf(db, contactId).orderBy('id', 'desc').limit(max).execute();
  return rows.toReversed();
}

/** Returns the rows with these ids of a contact's log, oldest first. */
export async function readConsent(
  db: Database,
  contactId: string,
  ids: readonly string[],
): Promise<ConsentRow[]> {
  return linesOf(db, contactId).where('id', '=', anyOf(ids, 'bigint')).orderBy('id').execute();
}

function linesOf(db: Database, contactId: string) {
  return db
    .selectFrom('consent')
    .select(['at', 'action', 'source', 'topic', 'ip', 'user_agent', 'text', 'actor'])
    .where('contact_id', '=', contactId);
}
