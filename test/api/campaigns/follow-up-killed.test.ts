import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { continueRemovals } from '../../../db/removals/removals.ts';
import { useEngine } from '../../support/engine.ts';
import { holdBackAt, holdBackCommits } from '../../support/held-insert.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';
import { useApiProcess } from '../../support/processes/processes.ts';
import { passStaleTime } from '../../support/processes/restarted.ts';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/**
 * An API process that dies while it makes a follow-up. The list and the draft are whole or absent.
 * A repeated request makes the draft, and the sweep deletes the list of the dead process.
 */

const engine = await useEngine({}, { worker: false });
const { db } = engine.api;

/** More than one page of the mail that is checked. */
const recipients = 6_000;

beforeEach(async () => {
  await dropContacts(db);
  await sql`delete from campaign`.execute(db);
  await sql`delete from follow_up_list`.execute(db);
  await continueRemovals(db, () => false);
});

/** A sent campaign. Returns its id, and the contact whose mail is checked last. */
async function sentCampaign(): Promise<{ id: string; lastContact: string }> {
  const id = await createCampaign(engine);
  await writeMail(db, (tx) =>
    sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        select ${engine.project.id}, n || ${`-${id}@people.test`}, true
          from generate_series(1, ${recipients}::int) n
        returning id
    )
    insert into email (project_id, contact_id, campaign_id, to_email, subject, from_email,
        message_class, source_type, status, sent_at, due_at, created_at)
      select ${engine.project.id}, id, ${id}, 'x@people.test', 'S', 'a@shop.test', 'MARKETING',
          'CAMPAIGN', 'SENT', now() - interval '1 minute', null,
          now() - row_number() over () * interval '1 second'
        from made`.execute(tx),
  );
  await sql`update campaign set status = 'SENT', frozen_at = now() - interval '1 hour',
    audience_fixed = true where id = ${id}`.execute(db);
  const { rows } = await sql<{ contact: string }>`select contact_id as contact from email
    where campaign_id = ${id} order by created_at limit 1`.execute(db);
  return { id, lastContact: rows[0]!.contact };
}

/** The lists, each with its recipients and drafts. `isKept`: it does not expire. */
async function lists() {
  const { rows } = await sql<{ isKept: boolean; recipients: number; drafts: number }>`
    select expires_at is null as "isKept",
        (select count(*)::int from follow_up_recipient where list_id = list.id) as recipients,
        (select count(*)::int from campaign where follow_up_list = list.id) as drafts
      from follow_up_list list order by id`.execute(db);
  return rows;
}

const whole = { isKept: true, recipients, drafts: 1 };

/** Lets an hour pass, and plays the sweep. */
async function sweepLater(): Promise<void> {
  await sql`update follow_up_list set expires_at = now() - interval '1 minute'
    where expires_at is not null`.execute(db);
  await tasksOf(engine.api, {}).CLEAR_TOKENS_AND_RECEIPTS();
  await continueRemovals(db, () => false);
}

type Campaign = Awaited<ReturnType<typeof sentCampaign>>;

it.each([
  {
    when: 'while it chooses the first recipients',
    hold: () => holdBackAt(db, sql`insert on follow_up_recipient for each row`),
    left: { isKept: false, recipients: 0, drafts: 0 },
  },
  {
    when: 'between two pages of recipients',
    hold: ({ lastContact }: Campaign) =>
      holdBackAt(
        db,
        sql`insert on follow_up_recipient for each row
          when (new.contact_id = ${sql.lit(lastContact)})`,
      ),
    left: { isKept: false, recipients: 5_000, drafts: 0 },
  },
  {
    when: 'as it stores the draft',
    hold: () => holdBackAt(db, sql`insert on campaign for each row`),
    left: { isKept: false, recipients, drafts: 0 },
  },
  { when: 'before it answers', hold: () => holdBackCommits(db, 'campaign'), left: whole },
])(
  'leaves nothing half made when it is killed $when, and a repeat makes it once',
  async ({ hold, left }) => {
    const campaign = await sentCampaign();
    const path = `/campaigns/${campaign.id}/follow-up`;
    const headers = { 'Idempotency-Key': randomUUID() };
    const ask = (api: Pick<typeof engine, 'call'>) =>
      api.call('POST', path, { outcome: 'not_opened' }, headers);
    const isLost = left !== whole;
    const first = await useApiProcess(engine);
    const held = await hold(campaign);
    const lost = ask(first).catch(() => null);
    await held.isReached();
    await first.kill();
    if (isLost) await held.endWaiting();
    await held.release();
    expect(await lost).toBeNull();
    await waitFor(
      'the end of its transaction',
      async () => (await lists())[0]?.drafts === left.drafts,
    );
    expect(await lists()).toEqual([left]);

    if (isLost) await passStaleTime(db, headers['Idempotency-Key']);
    const { status, headers: answered, body } = await ask(engine);
    expect([status, body.data.totalRecipients]).toEqual([201, recipients]);
    expect(answered.get('idempotency-replayed')).toBe(isLost ? null : 'true');
    expect(await lists()).toEqual(isLost ? [left, whole] : [whole]);
    await sweepLater();
    expect(await lists()).toEqual([whole]);
  },
  120_000,
);
