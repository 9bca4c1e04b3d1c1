import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { deliveryStatus, type ReportedMail } from '../../support/fakes/reports.ts';
import { postMessage } from '../../support/projects/incoming.ts';
import { writeMail } from '../../support/mail-tables.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Many reports about the mail of one project, and those of another. */

const secret = 'a secret of the hook';
const domain = 'bounces.everpost.test';
const api = await useApi({
  INBOUND_MIME_SECRET: secret,
  RETURN_PATH_DOMAIN: domain,
  AUTO_PROJECT_DISABLE: 'false',
});
const { db } = api;
/** Requests of the mail server that are under way at once. */
const parallel = 200;
const { cookie } = await api.signUp();

/** Inserts the sent mail of a campaign of a new project. */
async function sentMails(count: number): Promise<ReportedMail[]> {
  const { id: projectId } = await api.createProject(cookie);
  const campaignId = await insertTestCampaign(db, projectId);
  const { rows } = await writeMail(db, (tx) =>
    sql<{ emailId: string; to: string }>`
    with receiver as (
      insert into contact (project_id, email, subscribed)
        select ${projectId}, 'no' || n || '@people.test', true
          from generate_series(1, ${count}::int) n
        returning id, email
    )
    insert into email (project_id, contact_id, campaign_id, to_email, subject, from_email,
        message_class, source_type, status, sent_at)
      select ${projectId}, id, ${campaignId}, email, 'Hi', 'team@shop.test', 'MARKETING',
          'CAMPAIGN', 'SENT', now()
        from receiver
      returning id as "emailId", to_email as "to"`.execute(tx),
  );
  return rows.map(({ emailId, to }) => ({
    emailId,
    to,
    returnPath: api.services.returnPaths.pathAt(emailId, domain),
  }));
}

const report = (mail: ReportedMail) =>
  postMessage(api, secret, deliveryStatus(mail), mail.returnPath);

it('2,000 reports for one project delay one for another by less than 10 seconds', async () => {
  const [many, [one]] = [await sentMails(2_000), await sentMails(1)];
  const statuses: number[] = [];
  const waiting = [...many];
  const flood = Array.from({ length: parallel }, async () => {
    for (let mail = waiting.pop(); mail; mail = waiting.pop()) {
      statuses.push((await report(mail)).status);
    }
  });
  await waitFor('the flood to be under way', () => statuses.length > 0);
  const begun = performance.now();
  const { status } = await report(one!);
  const ms = performance.now() - begun;
  expect([status, statuses.length < many.length]).toEqual([200, true]);
  expect(ms).toBeLessThan(10_000);
  await Promise.all(flood);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { rows } = await sql<{ bounced: number; events: number }>`
    select (select count(*)::int from email where status = 'BOUNCED') as bounced,
      (select count(*)::int from event where name = 'email.bounce') as events`.execute(db);
  expect(rows[0]).toEqual({ bounced: 2_001, events: 2_001 });
});
