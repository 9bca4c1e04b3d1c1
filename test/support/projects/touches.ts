import type { Touch } from '../../../domain/goals/goal.ts';
import type { Database } from '../../../db/database.ts';
import { writeMail } from '../mail-tables.ts';

/** Makes a mail opened or clicked at a given time, by a person or by a machine. */
export async function touchMail(
  db: Database,
  { projectId, emailId }: { projectId: string; emailId: string },
  kind: Exclude<Touch, 'sent'>,
  at: Date,
  verdict: 'human' | 'machine' | null = 'human',
): Promise<void> {
  const column = kind === 'open' ? 'opened_at' : 'clicked_at';
  await writeMail(db, (tx) =>
    tx
      .updateTable('email')
      .set({ [column]: at })
      .where('id', '=', emailId)
      .execute(),
  );
  const rule = verdict === 'machine' ? 'known_agent' : null;
  await db
    .insertInto('engagement')
    .values({ project_id: projectId, email_id: emailId, at, kind, verdict, rule })
    .execute();
}
