import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { insertToken, type TokenPurpose, type UserRow } from '../../db/accounts/users.ts';
import {
  type AccountMail,
  invitationMail,
  passwordResetMail,
  verificationMail,
} from '../../domain/mail/account-mail.ts';
import type { Services } from '../http/services.ts';
import { fault } from '../http/schemas.ts';

/** The token of a link: 32 random bytes as hex. */
export const Token = z
  .string()
  .regex(/^[0-9a-f]{64}$/, fault('invalid_string', 'Must be the token of a link.'));

/** The hash by which a token is stored and looked up. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Creates a mail to verify a user's address. Returns its runs: none where no mail can be sent. */
export function recordVerification(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  purpose: 'sign_up' | 'verify_email',
): Promise<string[] | null> {
  return recordLink(tx, config, user, purpose, '/auth/verify-email', verificationMail);
}

/** Creates a mail to set a new password. */
export function recordPasswordReset(
  tx: Database,
  config: Services['config'],
  user: UserRow,
): Promise<string[] | null> {
  return recordLink(tx, config, user, 'reset_password', '/auth/reset-password', passwordResetMail);
}

/**
 * Invitation mails a user gets within an hour, whoever invites: repeated inviting and withdrawing
 * must not flood a mailbox. Further invitations only appear in the user's list.
 */
const invitationMailsPerHour = 10;

/** Creates a mail that invites a user to a project. Returns its runs: none where none is sent. */
export async function recordInvitation(
  tx: Database,
  { platformFrom, dashboardUrl }: Services['config'],
  user: UserRow,
  invitation: { project: string; by: string | null; role: string },
): Promise<string[]> {
  if (platformFrom === null) return [];
  const counted = { userId: user.id, purpose: 'invitation', hash: randomBytes(32) } as const;
  if (!(await insertToken(tx, counted, invitationMailsPerHour))) return [];
  const mail = invitationMail({ ...invitation, link: dashboardUrl });
  return insertPlatformMail(tx, platformFrom, [user.email], mail);
}

/** A mail with a link that works once, for an hour. null: the user has got too many this hour. */
async function recordLink(
  tx: Database,
  config: Services['config'],
  user: UserRow,
  purpose: TokenPurpose,
  path: string,
  write: (link: string) => AccountMail,
): Promise<string[] | null> {
  if (config.platformFrom === null) return [];
  const token = randomBytes(32).toString('hex');
  const isNew = await insertToken(tx, { userId: user.id, purpose, hash: hashToken(token) });
  if (!isNew) return null;
  const mail = write(`${config.dashboardUrl}${path}?token=${token}`);
  return insertPlatformMail(tx, config.platformFrom, [user.email], mail);
}
