import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { recordSingleReport } from '../../../db/transactions/mail/record-feedback.ts';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import { failCampaignEmails } from '../../../db/campaigns/chunks.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import {
  countCampaignMail,
  findCampaignTally,
  foldCampaignTally,
} from '../../../db/campaigns/tally.ts';
import { campaignOutcomes } from '../../../domain/outcomes/tally.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';

const api = await useApi();
const { db } = api;
const { id: projectId } = await api.createProject((await api.signUp()).cookie);
const recipients = 3_000;

async function started(): Promise<string> {
  await dropContacts(db, sql<boolean>`project_id = ${projectId}`);
  await sql`insert into contact (project_id, email, subscribed)
    select ${projectId}, 'no' || n || '@people.test', true
      from generate_series(1, ${recipients}::int) n`.execute(db);
  const id = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
  await startCampaign(db, { id, project_id: projectId, local_time: null });
  while ((await freezeCampaign(db, { projectId, campaignId: id })).isMore);
  await sql`analyze email, campaign_chunk, campaign_tally`.execute(db);
  return id;
}
const tallyOf = async (id: string) => (await findCampaignTally(db, projectId, id))!.tally;
const countRows = async () => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from campaign_tally`.execute(db);
  return rows[0]!.count;
};

it('shows the outcomes of a campaign without reading its mail', async () => {
  const id = await started();
  const ask = () => findCampaignTally(db, projectId, id);
  // A chunk has 50 messages.
  expect(await rowsRead(db, ask)).toBeLessThanOrEqual(recipients / 50);
  await sql`update campaign set status = 'CANCELLED' where id = ${id}`.execute(db);
  while ((await failCampaignEmails(db, id, 500)) > 0);
  const before = campaignOutcomes(await tallyOf(id));
  expect(before.reasons).toEqual({ campaign_cancelled: recipients });
  while (await foldCampaignTally(db));
  expect([await countRows(), campaignOutcomes(await tallyOf(id))]).toEqual([1, before]);
});

it('stays exact while it is folded by several, and messages fail', async () => {
  const id = await started();
  await sql`update campaign set status = 'CANCELLED' where id = ${id}`.execute(db);
  const fail = async () => {
    while ((await failCampaignEmails(db, id, 100)) > 0);
  };
  const fold = async () => {
    for (let times = 0; times < 20; times += 1) await foldCampaignTally(db);
  };
  const look = async () => {
    for (let times = 0; times < 20; times += 1) {
      const { outcomes } = campaignOutcomes(await tallyOf(id));
      expect([outcomes.withheld + outcomes.pending, outcomes.withheld >= 0]).toEqual([
        recipients,
        true,
      ]);
    }
  };
  await Promise.all([fail(), fold(), fold(), look()]);
  expect(campaignOutcomes(await tallyOf(id)).reasons).toEqual({ campaign_cancelled: recipients });
});

it('counts the mail of a large campaign without reading it, also when contacts are deleted', async () => {
  const id = await started();
  const ask = () => countCampaignMail(db, id);
  expect(await ask()).toBe(recipients);
  expect(await rowsRead(db, ask)).toBeLessThanOrEqual(recipients / 50);
  const drop = (end: string) =>
    dropContacts(
      db,
      sql<boolean>`project_id = ${projectId} and email like ${`no%${end}@people.test`}`,
    );
  await Promise.all([drop('17'), drop('11'), foldCampaignTally(db)]);
  await drop('5');
  const left = recipients - 30 - 30 - 300;
  expect(await ask()).toBe(left);
  const { rows } = await sql`select from email where campaign_id = ${id}`.execute(db);
  expect(rows).toHaveLength(left);
  while (await foldCampaignTally(db));
  expect(await ask()).toBe(left);
  expect(campaignOutcomes(await tallyOf(id)).outcomes).toMatchObject({
    withheld: recipients - left,
    pending: left,
  });
});

it('counts who clicked in a large campaign without reading its mail', async () => {
  const id = await started();
  const clicked = sql`select id from email where campaign_id = ${id} and to_email like '%7@people.test'`;
  await writeMail(db, (tx) =>
    sql`update email set status = 'SENT', sent_at = now(), due_at = null
      where id in (${clicked})`.execute(tx),
  );
  const { rows: mails } = await sql<{ id: string }>`${clicked} order by to_email limit 40`.execute(
    db,
  );
  for (const { id: emailId } of mails) {
    const feedback = {
      kind: 'click' as const,
      at: new Date(),
      link: 'https://a.test/',
      linkId: 'a',
    };
    const report = { emailId, messageId: null, feedback: [feedback], acceptedAt: null };
    await recordSingleReport(db, { ...report, receipt: null }, { judge: null });
  }
  const ask = () => countCampaignMail(db, id, 'clicked');
  expect(await ask()).toBe(40);
  expect(await rowsRead(db, ask)).toBeLessThanOrEqual(recipients / 50);
  const gone = mails.slice(0, 3).map((mail) => mail.id);
  await dropContacts(
    db,
    sql<boolean>`id in (select contact_id from email where id = any(${gone}::uuid[]))`,
  );
  expect(await ask()).toBe(37);
  while (await foldCampaignTally(db));
  expect(await ask()).toBe(37);
  expect(await countCampaignMail(db, id, 'delivered')).toBe(0);
});

it('goes with its campaign, also what is counted after that', async () => {
  const id = await started();
  await writeMail(db, (tx) =>
    sql`update email set status = 'FAILED', error = 'cancelled' where campaign_id = ${id}`.execute(
      tx,
    ),
  );
  await sql`delete from campaign where id = ${id}`.execute(db);
  while (await foldCampaignTally(db));
  const { rows } = await sql`select from campaign_tally where campaign_id = ${id}`.execute(db);
  expect(rows).toEqual([]);
});
