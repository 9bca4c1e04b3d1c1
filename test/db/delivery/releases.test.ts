import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { releaseHeldMail, requestRelease } from '../../../db/delivery/releases.ts';
import { useApi } from '../../support/api.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

const api = await useApi();
const { db } = api;

it('also releases mail of a rule that changes while an earlier release ends', async () => {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const body = { email: 'ada@people.test' };
  const { body: contact } = await api.request('POST', '/contacts', { key, body });
  await requestRelease(db, projectId);
  const id = await insertTestEmail(
    db,
    { projectId, contactId: contact.id },
    {
      status: 'PENDING',
      sent_at: null,
      message_id: null,
    },
  );
  await writeMail(db, (tx) =>
    sql`
    update email set hold_reason = 'quiet_hours', held_until = now() + interval '1 hour',
        due_at = now() + interval '1 hour', updated_at = clock_timestamp()
      where id = ${id}`.execute(tx),
  );
  const earlier = await db.transaction().execute(async (tx) => {
    await requestRelease(tx, projectId);
    const release = releaseHeldMail(db, projectId, () => false);
    await waitFor('the release to wait', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    });
    return { release };
  });
  await earlier.release;
  await releaseHeldMail(db, projectId, () => false);
  const row = await db
    .selectFrom('email')
    .select('hold_reason')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  expect(row.hold_reason).toBeNull();
});
