import type { AccountMail } from '../../domain/mail/account-mail.ts';
import type { Database } from '../database.ts';
import { insertSystemMail } from './system-mail.ts';

const senderName = 'Everpost';

/**
 * Inserts one mail of the platform for each recipient, in the transaction that causes the mail. If
 * `from` is null, inserts none.
 */
export async function insertPlatformMail(
  tx: Database,
  from: string | null,
  to: readonly string[],
  { subject, html }: AccountMail,
): Promise<void> {
  if (from === null) return;
  for (const recipient of to) {
    const mail = { to_email: recipient, from_email: from, from_name: senderName, reply_to: null };
    const about = { kind: 'platform-mail', project_id: null } as const;
    await insertSystemMail(tx, { ...mail, ...about, subject, html });
  }
}
