import {
  findUserByIdentity,
  type IdentityKey,
  insertIdentity,
  updateIdentityUsed,
} from '../../../db/accounts/identities.ts';
import { hasProjects } from '../../../db/accounts/invitations.ts';
import { listSessions } from '../../../db/accounts/sessions.ts';
import {
  findUserByEmail,
  insertUser,
  lockUser,
  replacePassword,
  takeInvitedUser,
  type UserRow,
} from '../../../db/accounts/users.ts';
import { type Database, transact } from '../../../db/database.ts';
import { domainOf, normaliseEmail } from '../../../domain/email-address.ts';
import type { OidcClaims } from '../../../providers/login/oidc.ts';
import type { OidcProvider } from '../../../providers/login/oidc-file.ts';
import type { SecurityLog } from '../../access/security-log.ts';
import type { Services } from '../../services/services.ts';
import { LoginRefused } from '../oauth.ts';
import type { BrowserAttempt } from './attempt.ts';
import { providerKeeping } from '../../access/sign-in-ways.ts';

/** Finds the account to which a user of an OpenID provider is linked, or creates one. */

type AccountCall = Pick<Services, 'db' | 'config'> & Pick<SecurityLog, 'note'>;

/**
 * Finds, links or creates the account of a user of a provider.
 * @throws LoginRefused if the provider's settings do not admit the user
 */
export async function findAccount(
  call: AccountCall,
  provider: OidcProvider,
  claims: OidcClaims,
): Promise<UserRow> {
  const { db, config } = call;
  const email = provedEmail(provider, claims);
  const key = identityKey(provider, claims);
  const known = await findUserByIdentity(db, key);
  refuseKept(config, provider, [email, ...(known ? [known.email] : [])]);
  if (known) {
    await updateIdentityUsed(db, key);
    return known;
  }
  const user = await transact(db, (tx) => addAccount(call, tx, { provider, key, email }));
  // If no account was created, a concurrent sign-in has created it.
  const found = user ?? (await findUserByIdentity(db, key));
  if (!found) throw new LoginRefused('wrong_method');
  return found;
}

/**
 * Links the user of a provider to the account whose session has begun the link.
 * @throws LoginRefused
 */
export async function linkAccount(
  { db, config, note }: AccountCall,
  provider: OidcProvider,
  claims: OidcClaims,
  { userId, sessionId }: NonNullable<BrowserAttempt['link']>,
): Promise<void> {
  const email = provedEmail(provider, claims);
  const key = identityKey(provider, claims);
  await transact(db, async (tx) => {
    const user = await lockUser(tx, userId);
    // A session that was ended in the meantime must not link an account, because it may have been
    // stolen.
    const isLoggedIn = user && (await listSessions(tx, userId)).some(({ id }) => id === sessionId);
    if (!isLoggedIn) throw new LoginRefused('oauth_failed');
    refuseKept(config, provider, [email, user.email]);
    if (await insertIdentity(tx, userId, key)) {
      await note({ event: 'identity.linked', userId, details: { provider: provider.id } }, tx);
    } else if ((await findUserByIdentity(tx, key))?.id !== userId) {
      throw new LoginRefused('identity_taken');
    }
  });
}

function identityKey({ id, issuer }: OidcProvider, { sub }: OidcClaims): IdentityKey {
  return { provider: id, issuer, subject: sub };
}

/**
 * Refuses users with an address that requires another OpenID provider.
 * @throws LoginRefused
 */
function refuseKept(
  config: Services['config'],
  { id }: OidcProvider,
  addresses: readonly string[],
): void {
  const keepers = addresses.flatMap((address) => providerKeeping(config, address) ?? []);
  if (keepers.some((keeper) => keeper.id !== id)) throw new LoginRefused('wrong_method');
}

/** Returns the address that the provider has verified. @throws LoginRefused */
function provedEmail(
  { domains, trustEmail }: OidcProvider,
  { sub, email: claimed, email_verified: verified }: OidcClaims,
): string {
  const email = typeof claimed === 'string' ? normaliseEmail(claimed) : null;
  if (email === null || sub.length < 1 || sub.length > 255) throw new LoginRefused('oauth_failed');
  const isTrusted = verified === undefined && trustEmail;
  // Some providers send the claim as text.
  if (verified !== true && verified !== 'true' && !isTrusted) {
    throw new LoginRefused('email_not_verified');
  }
  if (domains.length > 0 && !domains.includes(domainOf(email))) {
    throw new LoginRefused('domain_not_allowed');
  }
  return email;
}

/**
 * Creates an account. Returns undefined when the user of the provider got an account in the
 * meantime.
 */
async function addAccount(
  call: AccountCall,
  tx: Database,
  { provider, key, email }: { provider: OidcProvider; key: IdentityKey; email: string },
): Promise<UserRow | undefined> {
  const holder = await findUserByEmail(tx, email);
  if (holder) {
    // A concurrent sign-in of the same user may have created the account.
    if (await findUserByIdentity(tx, key)) return undefined;
    if (holder.awaited_provider !== null) return takeInvited(call, tx, holder, key);
    if (!provider.adopt) throw new LoginRefused('wrong_method');
    return adopt(call, tx, holder, key);
  }
  if (provider.accounts !== 'auto') throw new LoginRefused('not_invited');
  const made = await insertUser(tx, {
    email,
    emailVerified: true,
    type: 'OIDC',
    providerId: null,
  });
  if (!made) return undefined;
  // If the link exists already, the user of the provider got an account with another address in the
  // meantime.
  if (!(await insertIdentity(tx, made.id, key))) throw new LoginRefused('wrong_method');
  const details = { by: 'OIDC', provider: provider.id };
  await call.note({ event: 'account.created', userId: made.id, details }, tx);
  return made;
}

/** Gives the invited user the account that the invitation has created. */
async function takeInvited(
  { note }: AccountCall,
  tx: Database,
  { id }: UserRow,
  key: IdentityKey,
): Promise<UserRow | undefined> {
  const account = await lockUser(tx, id);
  // A concurrent sign-in may have taken over the account.
  if (account?.awaited_provider !== key.provider) return undefined;
  // When an invitation is withdrawn, the account that it has created is not deleted.
  if (!(await hasProjects(tx, id))) throw new LoginRefused('not_invited');
  if (!(await insertIdentity(tx, id, key))) return undefined;
  const details = { by: 'OIDC', provider: key.provider };
  await note({ event: 'account.claimed', userId: id, details }, tx);
  return takeInvitedUser(tx, id);
}

/** Links the user of a provider to the existing account with the same address. */
async function adopt(
  { note }: AccountCall,
  tx: Database,
  holder: UserRow,
  key: IdentityKey,
): Promise<UserRow | undefined> {
  const account = await lockUser(tx, holder.id);
  if (!account || !(await insertIdentity(tx, account.id, key))) return undefined;
  const details = { provider: key.provider };
  await note({ event: 'account.adopted', userId: account.id, details }, tx);
  // The user of an unverified account has never proved the address, so their password becomes
  // invalid.
  const login = { type: 'OIDC', providerId: null } as const;
  return (await replacePassword(tx, account.id, login)) ?? account;
}
