import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { signalStalledCampaigns } from '../../../db/campaigns/campaigns.ts';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import { countMoments } from '../../../db/reads/campaign-moments.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';

/** When the messages of a campaign with a local time are due. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
beforeEach(async () => {
  ({ id: projectId } = await api.createProject(cookie));
});

const localTime = '2027-07-01T09:00';
const zones = ['Asia/Tokyo', 'europe/berlin', 'UTC', 'America/New_York'];
/** The instants of these local times. */
const moments = ['00:00', '07:00', '09:00', '13:00'].map((at) => `2027-07-01T${at}:00.000Z`);

/** Inserts contacts, each in the next zone. */
const insertContacts = (count: number) =>
  sql`
  insert into contact (project_id, email, subscribed, data, created_at)
    select ${projectId}, 'no' || n || '@people.test', true,
        jsonb_build_object('timeZone', (${zones}::text[])[n % 4 + 1]),
        now() - interval '1 day' + make_interval(secs => n)
      from generate_series(1, ${count}::int) n`.execute(db);

/** Schedules a campaign for the earliest time, that of Berlin. */
async function scheduled(late: 'send' | 'skip') {
  const at = new Date(moments[1]!);
  const fields = {
    status: 'SCHEDULED',
    scheduled_for: at,
    local_time: localTime,
  };
  return insertTestCampaign(db, projectId, { ...fields, late });
}
async function started(late: 'send' | 'skip') {
  const campaignId = await scheduled(late);
  await startCampaign(db, { id: campaignId, project_id: projectId, local_time: localTime });
  return campaignId;
}
const freeze = (campaignId: string) => freezeCampaign(db, { projectId, campaignId });

/** Returns how many messages are due at each time, and the number of their chunks. */
async function dueOf(campaignId: string) {
  const { rows } = await sql<{ at: Date; chunks: number; messages: number }>`
    select due_at as at, count(*)::int as chunks, sum(cardinality(email_ids))::int as messages
      from campaign_chunk where campaign_id = ${campaignId} group by 1 order by 1`.execute(db);
  return rows.map(({ at, ...counts }) => ({
    at: at.getTime() <= Date.now() ? 'now' : at.toISOString(),
    ...counts,
  }));
}

describe('the messages of a campaign with a local time', () => {
  it('are in chunks that are due at their moments, page after page', async () => {
    await insertContacts(5_100);
    const campaignId = await started('send');
    expect(await freeze(campaignId)).toEqual({ isMore: true });
    expect(await freeze(campaignId)).toEqual({ isMore: false });
    expect(await dueOf(campaignId)).toEqual(
      moments.map((at) => ({ at, chunks: 25 + 1, messages: 1275 })),
    );
    const { rows } = await sql`
      select scheduled_for as at, count(*)::int as count, count(due_at)::int as dues
        from email where campaign_id = ${campaignId} and status = 'PENDING'
        group by 1 order by 1`.execute(db);
    expect(rows).toEqual(moments.map((at) => ({ at: new Date(at), count: 1275, dues: 0 })));
  });

  it('fail when they are late and to be skipped', async () => {
    await insertContacts(8);
    const campaignId = await started('skip');
    await freeze(campaignId);
    expect(await dueOf(campaignId)).toEqual(
      moments.slice(1).map((at) => ({ at, chunks: 1, messages: 2 })),
    );
    const failed = await db
      .selectFrom('email')
      .select(['error', 'scheduled_for'])
      .where('campaign_id', '=', campaignId)
      .where('status', '=', 'FAILED')
      .execute();
    const late = { error: 'late', scheduled_for: new Date(moments[0]!) };
    expect(failed).toEqual([late, late]);
  });
});

it('a campaign that waits for a moment is left alone by the sweep, until one has come', async () => {
  await insertContacts(4);
  const id = await started('send');
  await freeze(id);
  await db.deleteFrom('outbox').execute();
  /** Returns true if the sweep signals the campaign ten minutes after the last look at it. */
  async function isFound() {
    const long = new Date(Date.now() - 600_000);
    await db.updateTable('campaign').set({ reconciled_at: long }).where('id', '=', id).execute();
    await signalStalledCampaigns(db, 10_000);
    const { rows } = await sql`
      delete from outbox where run_id = ${`campaign-${id}`} returning run_id`.execute(db);
    return rows.length > 0;
  }
  expect(await isFound()).toBe(false);
  await sql`update campaign_chunk set due_at = now() - interval '1 minute' where campaign_id = ${id}
    and due_at = ${moments[2]}::timestamptz`.execute(db);
  expect(await isFound()).toBe(true);
});

it('the audience is counted, and its moments found, in one read', async () => {
  await insertContacts(40);
  await sql`update contact set data = '{"timeZone": 7}' where email = 'no4@people.test'`.execute(
    db,
  );
  const given = { projectId, kind: { messageClass: 'MARKETING', topicId: null } } as const;
  const audience = { type: 'ALL', segmentId: null, condition: null, listId: null } as const;
  const policy = { timeZone: 'Etc/GMT+12', contactTimeZoneField: 'data.timeZone' };
  const found = await countMoments(db, { ...given, audience }, { localTime, policy });
  expect(found.total).toBe(40);
  expect([...found.moments].toSorted((one, other) => one - other)).toEqual(
    [...moments, '2027-07-01T21:00:00.000Z'].map((at) => Date.parse(at)),
  );
});
