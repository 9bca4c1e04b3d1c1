import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { deliveryStatus, type ReportedMail } from '../../support/fakes/reports.ts';
import { postMessage } from '../../support/incoming.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';

/** Many reports about the mail of one project, and those of another. */

const secret = 'a secret of the hook';
const domain = 'bounces.everpost.test';
const api = await useApi({
  INBOUND_MIME_SECRET: secret,
  RETURN_PATH_DOMAIN: domain,
  AUTO_PROJECT_DISABLE: 'false',
});
const { db } = api;
const { cookie } = await api.signUp();

/** Sends the mail of a campaign. Returns the mails in the order of their contacts. */
async function sentMails(count: number): Promise<ReportedMail[]> {
  const { id: projectId } = await api.createProject(cookie);
  const campaignId = await insertTestCampaign(db, projectId);
  const { rows } = await sql<{ id: string; email: string }>`
    insert into contact (project_id, email, subscribed)
      select ${projectId}, 'no' || n || '@people.test', true
        from generate_series(1, ${count}::int) n
      returning id, email`.execute(db);
  const mails: ReportedMail[] = [];
  for (const { id: contactId, email: to } of rows) {
    const emailId = await insertTestEmail(db, { projectId, contactId, campaignId });
    const returnPath = api.services.returnPaths.pathAt(emailId, domain);
    mails.push({ emailId, to, returnPath });
  }
  return mails;
}

const report = (mail: ReportedMail) =>
  postMessage(api, secret, deliveryStatus(mail), mail.returnPath);

it('2,000 reports for one project delay one for another by less than 10 seconds', async () => {
  const [many, [one]] = [await sentMails(2_000), await sentMails(1)];
  let answered = 0;
  const flood = many.map(async (mail) => {
    const { status } = await report(mail);
    answered += 1;
    return status;
  });
  const begun = performance.now();
  const { status } = await report(one!);
  const ms = performance.now() - begun;
  expect([status, answered < many.length]).toEqual([200, true]);
  expect(ms).toBeLessThan(10_000);
  expect(new Set(await Promise.all(flood))).toEqual(new Set([200]));
  const { rows } = await sql<{ bounced: number; events: number }>`
    select (select count(*)::int from email where status = 'BOUNCED') as bounced,
      (select count(*)::int from event where name = 'email.bounce') as events`.execute(db);
  expect(rows[0]).toEqual({ bounced: 2_001, events: 2_001 });
});
