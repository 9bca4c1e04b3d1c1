import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { signalStalledCampaigns } from '../../../db/campaigns/campaigns.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';

const api = await useApi();
const { db } = api;
const { id: projectId } = await api.createProject((await api.signUp()).cookie);
const hourAgo = new Date(Date.now() - 3_600_000);

const campaign = (fields: object) =>
  insertTestCampaign(db, projectId, { frozen_at: hourAgo, reconciled_at: hourAgo, ...fields });

const chunkOf = (campaignId: string) =>
  sql`insert into campaign_chunk (campaign_id, project_id, email_ids)
    values (${campaignId}, ${projectId}, array[${randomUUID()}::uuid])`.execute(db);

async function lookedAt(id: string): Promise<string> {
  const { rows } = await sql<{ at: string }>`
    select reconciled_at::text as at from campaign where id = ${id}`.execute(db);
  return rows[0]!.at;
}

async function isSignalled(id: string): Promise<boolean> {
  const { rows } = await sql`
    delete from outbox where run_id = ${`campaign-${id}`} returning run_id`.execute(db);
  return rows.length > 0;
}

it('signals a cancelled campaign until its mail is suppressed, and never looks at it again', async () => {
  const id = await campaign({ status: 'CANCELLED' });
  await chunkOf(id);
  expect(await signalStalledCampaigns(db, 10)).toBe(1);
  expect(await isSignalled(id)).toBe(true);
  expect(await signalStalledCampaigns(db, 10)).toBe(0);
  await sql`delete from campaign_chunk where campaign_id = ${id}`.execute(db);
  await sql`update campaign set reconciled_at = ${hourAgo} where id = ${id}`.execute(db);
  expect(await signalStalledCampaigns(db, 10)).toBe(1);
  expect([await isSignalled(id), await lookedAt(id)]).toEqual([false, 'infinity']);
});

it('signals a campaign behind many that have nothing to do', async () => {
  const resting = await Promise.all(
    [1, 2, 3].map(() => campaign({ status: 'CANCELLED', reconciled_at: new Date(0) })),
  );
  const scheduled = await campaign({
    status: 'SCHEDULED',
    frozen_at: null,
    scheduled_for: new Date(Date.now() + 3_600_000),
    reconciled_at: new Date(0),
  });
  const lost = await campaign({ status: 'SENDING' });
  while ((await signalStalledCampaigns(db, 2)) === 2);
  expect(await Promise.all([...resting, scheduled, lost].map(isSignalled))).toEqual([
    ...resting.map(() => false),
    false,
    true,
  ]);
});

it('signals a campaign whose mail is held, when a retry of failed mail is due', async () => {
  const retry = JSON.stringify({ reasons: ['billing_limit'], after: null, retried: 1 });
  const inAnHour = new Date(Date.now() + 3_600_000);
  const held = (retry_look_at: Date) =>
    campaign({ status: 'SENDING', audience_fixed: true, retry, retry_look_at });
  const [due, later] = [await held(hourAgo), await held(inAnHour)];
  await Promise.all([due, later].map(chunkOf));
  await sql`update campaign_chunk set due_at = ${inAnHour}
    where campaign_id in (${due}, ${later})`.execute(db);
  while ((await signalStalledCampaigns(db, 10)) === 10);
  expect([await isSignalled(due), await isSignalled(later)]).toEqual([true, false]);
});
