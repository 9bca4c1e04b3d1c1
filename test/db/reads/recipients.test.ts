import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { findCampaign } from '../../../db/campaigns/campaigns.ts';
import { listLeftOut } from '../../../db/reads/recipients/left-out.ts';
import { listRecipients, type RecipientFilter } from '../../../db/reads/recipients/recipients.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** A page of recipients is read by an index, or ends after a fixed number of messages. */

const api = await useApi();
const { db } = api;
const { id: projectId } = await api.createProject((await api.signUp()).cookie);
const mails = 12_000;
/** More than two pages of 20, and less than all that match. */
const few = 150;
let id = '';
let after = { value: '', id: '' };

beforeAll(async () => {
  id = await insertTestCampaign(db, projectId, {
    status: 'SENT',
    audience_fixed: true,
    frozen_at: new Date(),
  });
  after = { value: new Date(Date.now() + 60_000).toISOString(), id };
  await writeMail(db, (tx) =>
    sql`
    with receiver as (
      insert into contact (project_id, email, subscribed, created_at)
        select ${projectId}, 'no' || n || '@people.test', n % 3 <> 0,
            now() - n * interval '1 second'
          from generate_series(1, ${(mails * 3) / 2}::int) n
        returning id, email, subscribed
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, campaign_id, status, due_at, sent_at, error, refusal, bounced_at, opened_at,
        created_at)
      select ${projectId}, id, email, 'Hi', 'a@shop.test', 'MARKETING', 'CAMPAIGN', ${id},
          case when place % 4 = 0 then 'FAILED' else 'SENT' end, null,
          case when place % 4 <> 0 then now() end,
          case when place % 4 = 0 then 'campaign_cancelled' when place = 11998 then '550' end,
          null, case when place % 1000 = 1 then now() end, case when place = 11999 then now() end,
          now() - place * interval '1 millisecond'
        from (select id, email, row_number() over () as place from receiver where subscribed) mail`.execute(
      tx,
    ),
  );
  await writeMail(db, (tx) =>
    sql`update email set status = 'FAILED', error = 'suppressed' where campaign_id = ${id}
    and id = (select id from email where campaign_id = ${id} order by created_at limit 1)`.execute(
      tx,
    ),
  );
  await sql`vacuum analyze email`.execute(db);
  await sql`vacuum analyze contact`.execute(db);
}, 60_000);

const scope = () => ({ projectId, column: 'campaign_id' as const, id });
const page = (filter: RecipientFilter) => listRecipients(db, scope(), filter, { after, limit: 20 });

it.each<[RecipientFilter, number]>([
  [{}, 20],
  [{ outcome: 'sent' }, 20],
  [{ outcome: 'bounced' }, 12],
  [{ outcome: 'withheld' }, 20],
  [{ reason: 'suppressed' }, 1],
  [{ outcome: 'pending' }, 0],
])('finds a page of %j by an index', async (filter, count) => {
  expect((await page(filter)).rows.length).toBe(count);
  expect(await rowsRead(db, () => page(filter))).toBeLessThan(few);
});

it('ends a page early when few of many messages match, and continues on the next', async () => {
  const found: string[] = [];
  let pages = 0;
  for (let from: typeof after | null = after; from; pages += 1) {
    const filter: RecipientFilter = { outcome: 'opened' };
    const given = { after: from, limit: 20 };
    const { rows, next } = await listRecipients(db, scope(), filter, given);
    found.push(...rows.map((row) => row.id));
    from = next;
  }
  expect([found.length, pages]).toEqual([1, 3]);
  const rows = await rowsRead(db, () => page({ search: 'nobody' }));
  expect(rows).toBeLessThanOrEqual(5_000);
});

it('finds a page of those who were left out by the order of contacts', async () => {
  const campaign = (await findCampaign(db, projectId, id))!;
  const ask = () =>
    listLeftOut(db, campaign, { reason: 'unsubscribed_at_freeze' }, { after, limit: 20 });
  expect((await ask()).rows.length).toBe(20);
  expect(await rowsRead(db, ask, (text) => !text.includes('from contact'))).toBeLessThan(few);
});
