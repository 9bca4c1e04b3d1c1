import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { DeliveryOutcome } from '../../../../db/transactions/mail/attempts.ts';
import { startCampaign } from '../../../../db/transactions/mail/advance-campaign.ts';
import { claimCampaignEmails } from '../../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../../db/transactions/mail/freeze-audience.ts';
import { recordDeliveryOutcomes } from '../../../../db/transactions/mail/record-outcomes.ts';
import { useApi } from '../../../support/api.ts';
import { writeMail } from '../../../support/mail-tables.ts';
import { chunkOrigin, insertTestCampaign } from '../../../support/projects/mails.ts';
import { readingsOf } from '../../../support/rows-read.ts';
import { recordStatements } from '../../../support/statements.ts';

/**
 * A campaign of a small installation. The statistics of its tables come from finished mail, and the
 * tables are so small that PostgreSQL may read them whole. Even then it must not compare each
 * waiting message with each outcome.
 */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();
const { id: projectId } = await api.createProject(cookie);
const recipients = 2_000;

await sql`insert into contact (project_id, email, subscribed)
  select ${projectId}, 'no' || n || '@people.test', true
    from generate_series(1, ${recipients}::int) n`.execute(db);
await writeMail(db, (tx) =>
  sql`insert into email (project_id, contact_id, to_email, subject, body, from_email,
        message_class, source_type, status, message_id, sent_at)
      select project_id, id, email, 'Old', '<p>Old</p>', 'team@shop.test', 'MARKETING',
          'TRANSACTIONAL', 'SENT', gen_random_uuid()::text, now()
        from contact where project_id = ${projectId}`.execute(tx),
);
await sql`analyze email`.execute(db);
const campaignId = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
await startCampaign(db, { id: campaignId, project_id: projectId, local_time: null });
await freezeCampaign(db, { projectId, campaignId });

const accepted = (emailId: string): DeliveryOutcome => ({
  emailId,
  kind: 'accepted',
  messageId: `${emailId}@smtp`,
  delivered: true,
  content: { subject: 'Hi', bodyTemplate: 'letter', values: ['Ada'] },
});

const refused = (emailId: string): DeliveryOutcome => ({
  emailId,
  kind: 'refused',
  error: '550 5.1.1 unknown',
  refusal: 'recipient_refused',
  content: { subject: 'Hi', bodyTemplate: 'letter', values: ['Ada'] },
});

it.each([
  ['all of which were accepted', [accepted]],
  ['some of which were refused', [accepted, refused]],
])('a chunk of messages, %s, is recorded without comparing all that wait', async (_, kinds) => {
  const attemptId = randomUUID();
  const claim = { campaignId, attemptId, max: 50, leaseSeconds: 60 };
  const { emails } = (await claimCampaignEmails(db, projectId, claim))!;
  const statements = recordStatements();
  await recordDeliveryOutcomes(db, {
    projectId,
    attemptIds: [attemptId],
    claimed: emails,
    outcomes: emails.map(({ id }, index) => kinds[index % kinds.length]!(id)),
    campaign: { id: campaignId, pauseOnFailures: 0, chunk: chunkOrigin(attemptId) },
  });
  const changing = statements.take().filter(({ text }) => /update email set/.test(text));
  expect(changing.length).toBeGreaterThan(0);
  // As before the outcomes, because the statements are executed once more.
  await writeMail(db, (tx) =>
    sql`update email set status = 'PENDING', attempts = 0, sent_at = null, delivered_at = null,
        error = null, refusal = null, trace = '[]'
      where id = any(${emails.map(({ id }) => id)}::uuid[])`.execute(tx),
  );
  for (const statement of changing) {
    for (const { plan, rows } of await readingsOf(db, statement)) {
      expect({ plan, isWithin: rows <= 3 * recipients, rows }).toMatchObject({ isWithin: true });
    }
  }
});
