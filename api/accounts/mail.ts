import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { insertToken, type TokenPurpose, type UserRow } from '../../db/accounts/users.ts';
import {
  type AccountMail,
  breakGlassMail,
  factorChangedMail,
  invitationMail,
  membersByKeyMail,
  passwordResetMail,
  recoveryCodeUsedMail,
  verificationMail,
} from '../../domain/mail/account-mail.ts';
import type { Services } from '../services/services.ts';
import { fault } from '../http/schemas.ts';

/** The token of a link: 32 random bytes as hex. */
export const Token = z
  .string()
  .regex(
    /^[0-9a-f]{64}$/,
    fault('invalid_string', 'Must be the token in the link of the mail: 64 hexadecimal digits.'),
  );

/** Hashes a token. Tokens are stored and found only by their hash. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Creates a mail to verify a user's address, if the server can send mail. Returns false when the
 * user got too many mails of this purpose in the last hour.
 */
export function recordVerification(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  purpose: 'sign_up' | 'verify_email',
): Promise<boolean> {
  return recordLink(tx, config, user, purpose, '/auth/verify-email', verificationMail);
}

/**
 * Creates a mail to set a new password, if the server can send mail. Returns false when the user
 * got too many such mails in the last hour.
 */
export function recordPasswordReset(
  tx: Database,
  config: Services['config'],
  user: UserRow,
): Promise<boolean> {
  return recordLink(tx, config, user, 'reset_password', '/auth/reset-password', passwordResetMail);
}

/**
 * Maximum number of invitation mails to a user per hour, from all inviters together. So repeated
 * invitations cannot flood a mailbox. Further invitations only appear in the user's list.
 */
const invitationMailsPerHour = 10;

/** Creates a mail that invites a user to a project, if the server can send mail. */
export async function recordInvitation(
  tx: Database,
  { platformFrom, dashboardUrl }: Services['config'],
  user: UserRow,
  invitation: { project: string; by: string | null; role: string },
): Promise<void> {
  if (platformFrom === null) return;
  const counted = { userId: user.id, purpose: 'invitation', hash: randomBytes(32) } as const;
  if (!(await insertToken(tx, counted, invitationMailsPerHour))) return;
  const mail = invitationMail({ ...invitation, link: dashboardUrl });
  await insertPlatformMail(tx, platformFrom, [user.email], mail);
}

/**
 * Maximum number of mails per hour to an administrator about members changed by a key. So a stolen
 * key cannot flood a mailbox.
 */
const membersByKeyPerHour = 20;

/**
 * Creates mails to administrators about a change of members by a secret key.
 * @param administrators the administrators before the change, so that a removed administrator also
 * gets the mail.
 */
export async function recordMembersByKey(
  tx: Database,
  { platformFrom, dashboardUrl }: Services['config'],
  administrators: readonly { user_id: string; email: string }[],
  change: Omit<Parameters<typeof membersByKeyMail>[0], 'link'>,
): Promise<void> {
  if (platformFrom === null) return;
  const mail = membersByKeyMail({ ...change, link: dashboardUrl });
  for (const { user_id: userId, email } of administrators) {
    const counted = { userId, purpose: 'members_by_key', hash: randomBytes(32) } as const;
    if (!(await insertToken(tx, counted, membersByKeyPerHour))) continue;
    await insertPlatformMail(tx, platformFrom, [email], mail);
  }
}

/**
 * Maximum number of mails per hour to a user about changed second factors of the account. So a
 * thief cannot flood the mailbox.
 */
const factorMailsPerHour = 20;

/** Creates a mail that informs a user about an added or removed second factor. */
export async function recordFactorChange(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  change: { change: 'added' | 'removed'; name: string },
): Promise<void> {
  await recordFactorMail(
    tx,
    config,
    user,
    factorChangedMail({ ...change, link: config.dashboardUrl }),
  );
}

/** Creates a mail that informs a user that a recovery code was used. */
export async function recordRecoveryCodeUse(
  tx: Database,
  config: Services['config'],
  user: UserRow,
): Promise<void> {
  await recordFactorMail(tx, config, user, recoveryCodeUsedMail(config.dashboardUrl));
}

/**
 * Creates a mail that informs a user that an operator has created a sign-in link, or that the link
 * was used.
 */
export async function recordBreakGlass(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  what: 'issued' | 'used',
): Promise<void> {
  await recordFactorMail(tx, config, user, breakGlassMail({ what, link: config.dashboardUrl }));
}

async function recordFactorMail(
  tx: Database,
  { platformFrom }: Services['config'],
  user: UserRow,
  mail: AccountMail,
): Promise<void> {
  if (platformFrom === null) return;
  const counted = { userId: user.id, purpose: 'factor', hash: randomBytes(32) } as const;
  if (!(await insertToken(tx, counted, factorMailsPerHour))) return;
  await insertPlatformMail(tx, platformFrom, [user.email], mail);
}

/** Creates a mail with a link that works once, within an hour. */
async function recordLink(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  purpose: TokenPurpose,
  path: string,
  write: (link: string) => AccountMail,
): Promise<boolean> {
  if (config.platformFrom === null) return true;
  const token = randomBytes(32).toString('hex');
  const isNew = await insertToken(tx, { userId: user.id, purpose, hash: hashToken(token) });
  if (!isNew) return false;
  const mail = write(`${config.dashboardUrl}${path}?token=${token}`);
  await insertPlatformMail(tx, config.platformFrom, [user.email], mail);
  return true;
}
