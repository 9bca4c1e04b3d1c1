import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startCampaign } from '../../../../db/transactions/mail/advance-campaign.ts';
import { claimCampaignEmails } from '../../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../../db/transactions/mail/freeze-audience.ts';
import type { DeliveryOutcome } from '../../../../db/transactions/mail/attempts.ts';
import { recordDeliveryOutcomes } from '../../../../db/transactions/mail/record-outcomes.ts';
import { useApi } from '../../../support/api.ts';
import { chunkOrigin, insertTestCampaign } from '../../../support/projects/mails.ts';
import { recordStatements } from '../../../support/statements.ts';
import { dropContacts, writeMail } from '../../../support/mail-tables.ts';

/** Chunks of which all, or nearly all, messages were accepted. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
let campaignId: string;

beforeEach(async () => {
  ({ id: projectId } = await api.createProject(cookie));
  campaignId = '';
});

/** Starts a campaign to three contacts, and claims their messages. */
async function claimed() {
  if (campaignId === '') {
    await sql`insert into contact (project_id, email, subscribed)
      select ${projectId}, 'no' || n || '@people.test', true from generate_series(1, 3) n`.execute(
      db,
    );
  }
  campaignId = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
  await startCampaign(db, { id: campaignId, project_id: projectId, local_time: null });
  await freezeCampaign(db, { projectId, campaignId });
  const attemptId = randomUUID();
  const claim = { campaignId, attemptId, max: 50, leaseSeconds: 60 };
  const { emails } = (await claimCampaignEmails(db, projectId, claim))!;
  const record = (outcomes: DeliveryOutcome[]) =>
    recordDeliveryOutcomes(db, {
      projectId,
      attemptIds: [attemptId],
      claimed: emails,
      outcomes,
      campaign: { id: campaignId, pauseOnFailures: 0, chunk: chunkOrigin(attemptId) },
    });
  return { emails, record, ids: emails.map(({ id }) => id) };
}

type Accepted = Extract<DeliveryOutcome, { kind: 'accepted' }>;

const accepted = (emailId: string, other: Partial<Accepted> = {}): Accepted => ({
  emailId,
  kind: 'accepted',
  messageId: `${emailId}@smtp`,
  delivered: true,
  content: { subject: 'Hi Ada', bodyTemplate: 'letter', values: ['Ada', 'é'] },
  ...other,
});

/** Counts the uses of the short statement. */
const isShort = ({ text }: { text: string }) => text.includes('as accepted(id uuid');

/** Returns the messages without values that differ for each. */
async function rows() {
  const { rows: found } = await sql<Record<string, unknown>>`
    select to_jsonb(email) - '{id,contact_id,campaign_id,to_email,message_id,created_at,updated_at,due_at,sent_at,delivered_at,handed_over_at}'::text[]
          || jsonb_build_object('own', message_id = id || '@smtp', 'sent', sent_at is not null,
            'delivered', delivered_at is not null, 'handedOver', handed_over_at) as row
      from email where campaign_id = ${campaignId} order by id`.execute(db);
  return found.map(({ row }) => row);
}

async function counts() {
  const { rows: found } = await sql`
    select sent_count, delivered_count, refused_in_row,
        (select count(*)::int from campaign_chunk where campaign_id = campaign.id) as chunks,
        (select coalesce(jsonb_object_agg(name, count), '{}') from (
          select name, sum(count)::int as count from event_tally
            where project_id = ${projectId} group by name) tally) as tally
      from campaign where id = ${campaignId}`.execute(db);
  return found[0];
}

const both = { 'email.sent': 3, 'email.delivery': 3 };

describe('a chunk whose messages were all accepted', () => {
  it('is recorded as the general statements record it, by shorter ones', async () => {
    const asked = recordStatements();
    const first = await claimed();
    await db
      .updateTable('campaign')
      .set({ refused_in_row: 2 })
      .where('id', '=', campaignId)
      .execute();
    asked.take();
    await first.record(first.ids.map((id) => accepted(id)));
    expect(asked.take().filter(isShort)).toHaveLength(1);
    const [short, shortCounts] = [await rows(), await counts()];
    expect(short).toHaveLength(3);
    expect(shortCounts).toEqual({
      sent_count: 3,
      delivered_count: 3,
      refused_in_row: 0,
      chunks: 0,
      tally: both,
    });
    // In two parts, which the short statement does not accept.
    const second = await claimed();
    asked.take();
    await second.record(second.ids.slice(0, 1).map((id) => accepted(id)));
    await second.record(second.ids.slice(1).map((id) => accepted(id)));
    expect(asked.take().filter(isShort)).toEqual([]);
    expect(await rows()).toEqual(short);
    expect(await counts()).toEqual({
      ...(shortCounts as object),
      tally: { 'email.sent': 6, 'email.delivery': 6 },
    });
  });

  it('is SENT where the provider reports deliveries, and each id finds its message', async () => {
    const { ids, record } = await claimed();
    await record(ids.map((id) => accepted(id, { delivered: false, messageId: `ses-${id}` })));
    expect(await rows()).toMatchObject(
      ids.map(() => ({ status: 'SENT', sent: true, delivered: false, derived_events: 1 })),
    );
    expect(await counts()).toMatchObject({ delivered_count: 0, tally: { 'email.sent': 3 } });
    const { emails } = await claimed();
    expect(emails).toHaveLength(3);
  });

  it('is billed once', async () => {
    await db
      .updateTable('project')
      .set({ customer: 'cus_1' })
      .where('id', '=', projectId)
      .execute();
    const { ids, record } = await claimed();
    const outcomes = ids.map((id) => accepted(id));
    await record(outcomes);
    // Repeats the commit, as after a lost response.
    await record(outcomes);
    const reports = await db
      .selectFrom('usage_report')
      .select(['email_id', 'customer', 'units'])
      .where('email_id', 'in', ids)
      .orderBy('email_id')
      .execute();
    expect(reports).toEqual(ids.map((id) => ({ email_id: id, customer: 'cus_1', units: 1 })));
    expect(await counts()).toMatchObject({ sent_count: 3, delivered_count: 3, tally: both });
  });
});

describe('a chunk that is not as usual', () => {
  it('is recorded whole when one message is gone with its contact', async () => {
    const { emails, ids, record } = await claimed();
    await dropContacts(db, sql<boolean>`contact.id = ${emails[0]!.contact_id}`);
    await record(ids.map((id) => accepted(id)));
    expect((await rows()).map((row) => (row as { status: string }).status)).toEqual([
      'DELIVERED',
      'DELIVERED',
    ]);
    expect(await counts()).toMatchObject({ sent_count: 3, delivered_count: 3, chunks: 0 });
  });

  it('keeps what faster feedback has said', async () => {
    const { ids, record } = await claimed();
    await writeMail(db, (tx) =>
      sql`update email set status = 'OPENED', sent_at = now(), opened_at = now()
      where id = ${ids[1]}`.execute(tx),
    );
    await record(ids.map((id) => accepted(id)));
    expect((await rows()).map((row) => (row as { status: string }).status)).toEqual([
      'DELIVERED',
      'OPENED',
      'DELIVERED',
    ]);
    expect(await counts()).toMatchObject({ chunks: 0 });
  });

  it('stores the events that begin a workflow', async () => {
    await sql`insert into workflow (project_id, name, trigger_event_name, enabled)
      values (${projectId}, 'w', 'email.sent', true)`.execute(db);
    const { ids, record } = await claimed();
    await record(ids.map((id) => accepted(id)));
    const events = await db
      .selectFrom('event')
      .select(['name', 'email_id'])
      .where('project_id', '=', projectId)
      .where('name', 'like', 'email.%')
      .orderBy('email_id')
      .execute();
    expect(events).toEqual(ids.map((id) => ({ name: 'email.sent', email_id: id })));
    expect(await counts()).toMatchObject({ sent_count: 3, tally: both });
  });

  const unlike: Record<string, (outcome: Accepted) => DeliveryOutcome> = {
    'a refusal': ({ emailId }) => ({ emailId, kind: 'refused', error: 'No such mailbox' }),
    'a whole body': (outcome) => ({ ...outcome, content: { subject: 'Hi', body: '<p>Hi</p>' } }),
    'another body template': (outcome) => ({
      ...outcome,
      content: { subject: 'Hi', bodyTemplate: 'other', values: [] },
    }),
    'a text that cannot be stored': (outcome) => ({
      ...outcome,
      content: { subject: 'Hi \0', bodyTemplate: 'letter', values: ['\ud800'] },
    }),
    'headers of its own': (outcome) => ({
      ...outcome,
      content: { ...outcome.content!, headers: [{ name: 'X-Ours', value: '1' }] },
    }),
  };
  it.each(Object.keys(unlike))('is recorded by the general statements: %s', async (name) => {
    const asked = recordStatements();
    const { ids, record } = await claimed();
    asked.take();
    await record(
      ids.map((id, index) => (index === 1 ? unlike[name]!(accepted(id)) : accepted(id))),
    );
    expect(asked.take().filter(isShort)).toEqual([]);
    const sent = name === 'a refusal' ? 2 : 3;
    expect(await counts()).toMatchObject({ sent_count: sent, delivered_count: sent, chunks: 0 });
  });
});
