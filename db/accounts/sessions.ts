import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Session } from '../tables.ts';

/** The client of a session, from the request. */
export interface Client {
  ip: string;
  /** null: the request has no User-Agent header. */
  userAgent: string | null;
}

/** The way in which a user signed in. */
export type SignInMethod = 'password' | 'github' | 'google' | 'oidc' | 'passkey' | 'break_glass';

/** The second factor of a session. `provider`: the OpenID provider has checked it. */
export type SecondFactor = 'totp' | 'passkey' | 'recovery' | 'provider';

/** A sign-in whose first factor was proved. */
export interface SignIn {
  method: SignInMethod;
  /** The id of the OpenID provider; null: another sign-in method. */
  provider?: string | null;
  /** The user and the session at the OpenID provider; null: another sign-in method. */
  issuer?: string | null;
  subject?: string | null;
  providerSid?: string | null;
  /** null: no second factor was proved. */
  secondFactor?: SecondFactor | null;
  /** Seconds until the session ends; absent: the default lifetime. */
  seconds?: number;
}

const sessionColumns = [
  'id',
  'created_at',
  'last_seen_at',
  'ip',
  'user_agent',
  'method',
  'provider',
  'second_factor',
  'proved_at',
  'expires_at',
] as const;

export type SessionRow = Pick<Selectable<Session>, (typeof sessionColumns)[number]>;

/**
 * Maximum number of sessions per user. A further one ends the session that was unused for the
 * longest time.
 */
const sessionsMax = 200;
/** Minimum time between two writes of `last_seen_at` for a session. */
const seenEvery = sql`interval '5 minutes'`;

/**
 * Stores a new session that lasts `seconds`. Returns undefined when the user is deleted, or when
 * all sessions were ended after `version` was read.
 */
export async function insertSession(
  db: Database,
  session: { userId: string; version: number; seconds: number } & Omit<SignIn, 'seconds'> & Client,
): Promise<string | undefined> {
  const { userId, version, seconds, ip, userAgent, method } = session;
  const { provider = null, secondFactor = null } = session;
  const { issuer = null, subject = null, providerSid = null } = session;
  const { rows } = await sql<{ id: string }>`
    insert into session (user_id, version, ip, user_agent, method, provider, issuer, subject,
        provider_sid, second_factor, expires_at)
      select id, session_version, ${ip}, ${userAgent}, ${method}, ${provider}, ${issuer}, ${subject},
          ${providerSid}, ${secondFactor}, now() + ${seconds} * interval '1 second'
        from app_user where id = ${userId} and session_version = ${version} for key share
      returning id`.execute(db);
  const id = rows[0]?.id;
  if (id === undefined) return undefined;
  await sql`delete from session where id in (
    select id from session where user_id = ${userId} and id <> ${id}
      order by last_seen_at desc offset ${sessionsMax - 1})`.execute(db);
  return id;
}

export interface SessionUser {
  id: string;
  email: string;
  emailVerified: boolean;
  /** True if the session's `last_seen_at` is older than `seenEvery`. */
  isUnseen: boolean;
  secondFactor: SecondFactor | null;
  /** Seconds since the user last proved who they are. */
  provedAgo: number;
  /** The way in which the account was created, and the types of its second factors. */
  type: string;
  factorTypes: string[];
  /** The ids of the OpenID providers with users linked to the account. */
  providers: string[];
}

/** Returns the session with its user; undefined when the session has ended or never existed. */
export async function findSessionUser(
  db: Database,
  session: { userId: string; version: number; id: string },
): Promise<SessionUser | undefined> {
  return db
    .selectFrom('app_user')
    .innerJoin('session', (join) =>
      join
        .on('session.id', '=', session.id)
        .onRef('session.user_id', '=', 'app_user.id')
        .on('session.expires_at', '>', sql<Date>`now()`),
    )
    .select(['app_user.id', 'app_user.email', 'app_user.email_verified as emailVerified'])
    .select(sql<boolean>`session.last_seen_at < now() - ${seenEvery}`.as('isUnseen'))
    .select(sql<SecondFactor | null>`session.second_factor`.as('secondFactor'))
    .select(sql<number>`extract(epoch from now() - session.proved_at)::float8`.as('provedAgo'))
    .select('app_user.type')
    .select(
      sql<string[]>`array(select distinct inner_factor.type from factor inner_factor
        where inner_factor.user_id = app_user.id and inner_factor.confirmed_at is not null
        order by 1)`.as('factorTypes'),
    )
    .select(
      sql<string[]>`array(select distinct inner_identity.provider from identity inner_identity
        where inner_identity.user_id = app_user.id order by 1)`.as('providers'),
    )
    .where('app_user.id', '=', session.userId)
    .where('app_user.session_version', '=', session.version)
    .executeTakeFirst();
}

/** Records that a session is in use. Of many concurrent requests, one writes. */
export async function updateSessionSeen(db: Database, id: string, client: Client): Promise<void> {
  await db
    .updateTable('session')
    .set({ last_seen_at: sql<Date>`now()`, ip: client.ip, user_agent: client.userAgent })
    .where('id', '=', id)
    .where('last_seen_at', '<', sql<Date>`now() - ${seenEvery}`)
    .execute();
}

/** Lists the valid sessions of a user, last used first. */
export async function listSessions(db: Database, userId: string): Promise<SessionRow[]> {
  return db
    .selectFrom('session')
    .select(sessionColumns)
    .where('user_id', '=', userId)
    .where('expires_at', '>', sql<Date>`now()`)
    .where(
      'version',
      '=',
      db.selectFrom('app_user').select('session_version').where('id', '=', userId),
    )
    .orderBy('last_seen_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Ends one session. Returns false when the user has no session with this id. */
export async function deleteSession(db: Database, userId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('session')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Ends all sessions of a user except one. Returns the number of ended sessions. */
export async function deleteOtherSessions(
  db: Database,
  userId: string,
  id: string,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('session')
    .where('user_id', '=', userId)
    .where('id', '<>', id)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Ends a session that a new session replaces. Returns how the user had signed in, and the seconds
 * that the session had left; undefined: the session has ended already.
 */
export async function replaceSession(
  tx: Database,
  userId: string,
  id: string,
): Promise<Omit<SignIn, 'secondFactor'> | undefined> {
  const { rows } = await sql<Omit<SignIn, 'secondFactor'>>`
    delete from session where id = ${id} and user_id = ${userId} and expires_at > now()
      returning method, provider, issuer, subject, provider_sid as "providerSid",
        greatest(1, extract(epoch from expires_at - now()))::int as seconds`.execute(tx);
  return rows[0];
}

/**
 * A logout that an OpenID provider reports: of one session at the provider (`providerSid`), of all
 * sessions of a user there (`subject`), or with both ids.
 */
export interface ProviderLogout {
  issuer: string;
  subject: string | null;
  providerSid: string | null;
}

/**
 * Ends the sessions that match a logout at a provider, and pending sign-ins through this provider.
 * Returns the user of each ended session.
 */
export async function deleteProviderSessions(
  tx: Database,
  logout: ProviderLogout,
): Promise<string[]> {
  const deleteFrom = (table: 'session' | 'pending_sign_in') =>
    tx
      .deleteFrom(table)
      .where('issuer', '=', logout.issuer)
      .$if(logout.subject !== null, (query) => query.where('subject', '=', logout.subject))
      .$if(logout.providerSid !== null, (query) =>
        query.where('provider_sid', '=', logout.providerSid),
      );
  await deleteFrom('pending_sign_in').execute();
  const rows = await deleteFrom('session').returning('user_id').execute();
  return rows.map((row) => row.user_id);
}
