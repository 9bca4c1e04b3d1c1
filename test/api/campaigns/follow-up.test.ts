import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { continueRemovals } from '../../../db/removals/removals.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { fillFollowUpList, insertFollowUpList } from '../../../db/campaigns/follow-ups.ts';
import { writeMail } from '../../support/mail-tables.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';
import { tasksOf } from '../../support/sweep-now.ts';

/** A campaign for the recipients of another one, by what became of their mail. */

const shop = await useShop();
const { call, project } = shop;
const { db } = shop.api;

const hourAgo = () => new Date(Date.now() - 3_600_000);
const sent = {};
const opened = { opened_at: hourAgo(), opens: 1 };
const clicked = { ...opened, clicked_at: hourAgo(), clicks: 1 };
const unsent = { status: 'FAILED', sent_at: null, message_id: null } as const;
const refused = { ...unsent, error: '550 no', refusal: 'recipient_refused' };

/** A sent campaign with one mail of each kind. Returns the contacts by the names of the kinds. */
async function campaignWith(
  mails: Record<string, Parameters<typeof insertTestEmail>[2]>,
  fields: Record<string, unknown> = {},
): Promise<{ id: string; contacts: Record<string, string> }> {
  const made = await call('POST', '/campaigns', {
    name: 'Spring sale',
    subject: 'Hello',
    body: '<p>20% off</p>',
    from: `news@${shop.domain}`,
    audienceType: 'ALL',
  });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  const { id } = made.body.data;
  const contacts: Record<string, string> = {};
  for (const [name, mail] of Object.entries(mails)) {
    const { body } = await call('POST', '/contacts', { email: newAddress() });
    contacts[name] = body.id;
    const to = { projectId: project.id, contactId: body.id, campaignId: id };
    await insertTestEmail(db, to, { sent_at: hourAgo(), ...mail });
  }
  await db
    .updateTable('campaign')
    .set({ status: 'SENT', frozen_at: hourAgo(), audience_fixed: true, ...fields })
    .where('id', '=', id)
    .execute();
  return { id, contacts };
}

const followUp = (id: string, body: object) => call('POST', `/campaigns/${id}/follow-up`, body);

async function made(id: string, body: object) {
  const answer = await followUp(id, body);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.data;
}

/** Sends a follow-up, and returns the names of the contacts who get it. */
async function recipientsOf(id: string, contacts: Record<string, string>): Promise<string[]> {
  expect((await call('POST', `/campaigns/${id}/send`, {})).status).toBe(200);
  while ((await freezeCampaign(db, { projectId: project.id, campaignId: id })).isMore);
  const rows = await db
    .selectFrom('email')
    .select('contact_id')
    .where('campaign_id', '=', id)
    .execute();
  const ids = rows.map((row) => row.contact_id);
  return Object.keys(contacts).filter((name) => ids.includes(contacts[name]!));
}

const countOf = async (table: 'follow_up_list' | 'follow_up_recipient') => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)}`.execute(db);
  return rows[0]!.count;
};

beforeEach(async () => {
  await sql`delete from campaign`.execute(db);
  await sql`delete from follow_up_list`.execute(db);
  await sql`delete from follow_up_recipient`.execute(db);
});

describe('a follow-up', () => {
  it('is for those who did not open, and later opens change nothing', async () => {
    const { id, contacts } = await campaignWith({ ada: sent, bob: sent, cy: opened });
    const draft = await made(id, { outcome: 'not_opened', subject: 'Did you miss it?' });
    expect(draft).toMatchObject({
      name: 'Spring sale (Follow-up)',
      subject: 'Did you miss it?',
      body: '<p>20% off</p>',
      status: 'DRAFT',
      type: 'FOLLOW_UP',
      audienceType: 'FOLLOW_UP',
      segmentId: null,
      totalRecipients: 2,
      followUp: { campaignId: id, outcome: 'not_opened', ignoreMachines: true },
    });
    await writeMail(db, (tx) =>
      tx.updateTable('email').set(opened).where('campaign_id', '=', id).execute(),
    );
    expect(await recipientsOf(draft.id, contacts)).toEqual(['ada', 'bob']);
  });

  it('takes an open by a machine for none, unless it is told to count it', async () => {
    const machine = { ...opened, opened_by_machines: true };
    const { id, contacts } = await campaignWith({ ada: machine, bob: machine, cy: opened });
    // One more open of Bob's mail has no verdict yet: it may be his.
    const { rows } = await sql<{ id: string }>`
      select id from email where contact_id = ${contacts['bob']}`.execute(db);
    await sql`
      insert into engagement (project_id, email_id, at, kind, settle_at)
        values (${project.id}, ${rows[0]!.id}, now(), 'open', now() + interval '5 s')`.execute(db);
    const draft = await made(id, { outcome: 'not_opened' });
    expect(await recipientsOf(draft.id, contacts)).toEqual(['ada']);
    const strict = await followUp(id, { outcome: 'not_opened', ignoreMachines: false });
    expect([strict.status, strict.body.error.code]).toEqual([400, 'CAMPAIGN_NO_RECIPIENTS']);
  });

  const mails: Parameters<typeof campaignWith>[0] = {
    sent,
    opened,
    clicked,
    bounced: { status: 'BOUNCED', bounced_at: hourAgo() },
    complained: { status: 'COMPLAINED', complained_at: hourAgo() },
    refused,
    capped: { ...unsent, error: 'frequency_cap' },
    heldOut: { ...unsent, error: 'held_out' },
    unknown: { ...unsent, error: 'delivery_unknown' },
  };

  it.each([
    ['not_opened', ['sent']],
    ['not_clicked', ['sent', 'opened']],
    ['failed', ['refused']],
    ['not_sent', ['refused', 'capped']],
  ])('with %s goes to %j', async (outcome, expected) => {
    const { id, contacts } = await campaignWith(mails);
    const draft = await made(id, { outcome });
    expect(await recipientsOf(draft.id, contacts)).toEqual(expected);
  });

  it('leaves out who has unsubscribed or was deleted since', async () => {
    const { id, contacts } = await campaignWith({ ada: sent, bob: sent, cy: sent });
    const draft = await made(id, { outcome: 'not_clicked' });
    await call('PATCH', `/contacts/${contacts['ada']}`, { subscribed: false });
    await call('DELETE', `/contacts/${contacts['bob']}`);
    expect(await recipientsOf(draft.id, contacts)).toEqual(['cy']);
  });

  it('is refused before the campaign has finished, and for a foreign one', async () => {
    for (const fields of [
      { status: 'DRAFT', frozen_at: null },
      { status: 'SENDING' },
      { status: 'CANCELLED', frozen_at: null },
    ]) {
      const { id } = await campaignWith({ ada: sent }, fields);
      const { status, body } = await followUp(id, { outcome: 'not_opened' });
      expect([status, body.error.code, body.error.details]).toEqual([
        400,
        'CAMPAIGN_NOT_FINISHED',
        { status: fields.status },
      ]);
    }
    const { id } = await campaignWith({ ada: sent }, { status: 'CANCELLED' });
    expect((await followUp(id, { outcome: 'not_opened' })).status).toBe(201);
    const foreign = await shop.api.request('POST', `/campaigns/${id}/follow-up`, {
      key: shop.other.secretKey,
      body: { outcome: 'not_opened' },
    });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
  });

  it('is refused if it is for no one, and leaves nothing', async () => {
    const { id } = await campaignWith({ ada: opened });
    const { status, body } = await followUp(id, { outcome: 'not_opened' });
    expect([status, body.error.code]).toEqual([400, 'CAMPAIGN_NO_RECIPIENTS']);
    expect(await countOf('follow_up_list')).toBe(0);
  });

  it('refuses all wrong fields at once', async () => {
    const { id } = await campaignWith({ ada: sent });
    const { body } = await followUp(id, { outcome: 'read', ignoreMachines: 1, body: '' });
    expect(errorFields(body)).toEqual([
      'outcome invalid_enum_value',
      'ignoreMachines invalid_type',
      'body too_small',
    ]);
  });

  it('keeps its audience: copies share it, and edits cannot change it', async () => {
    const { id, contacts } = await campaignWith({ ada: sent, bob: clicked });
    const draft = await made(id, { outcome: 'not_clicked', name: 'Again' });
    expect(draft.name).toBe('Again');
    const put = (body: object) => call('PUT', `/campaigns/${draft.id}`, body);
    expect((await put(draft)).body.data).toMatchObject({ audienceType: 'FOLLOW_UP' });
    for (const change of [
      { audienceType: 'ALL' },
      { type: 'ALL' },
      {
        audienceFilter: { operator: 'AND', conditions: [{ field: 'data.a', operator: 'exists' }] },
      },
    ]) {
      const { status, body } = await put(change);
      const field = 'type' in change ? 'type' : 'audienceType';
      expect([status, ...errorFields(body)]).toEqual([422, `${field} not_allowed`]);
    }
    const { body: copy } = await call('POST', `/campaigns/${draft.id}/duplicate`);
    expect(copy.data).toMatchObject({ followUp: draft.followUp, totalRecipients: 1 });
    await call('DELETE', `/campaigns/${id}`);
    await call('DELETE', `/campaigns/${draft.id}`);
    expect(await recipientsOf(copy.data.id, contacts)).toEqual(['ada']);
  });

  it('cannot be made by POST or PUT of a campaign', async () => {
    const { id } = await campaignWith({ ada: sent });
    const given = { name: 'N', subject: 'S', body: 'B', from: `news@${shop.domain}` };
    const created = await call('POST', '/campaigns', { ...given, audienceType: 'FOLLOW_UP' });
    expect(errorFields(created.body)).toEqual(['audienceType invalid_enum_value']);
    const draft = (await call('POST', '/campaigns', { ...given, audienceType: 'ALL' })).body.data;
    const changed = await call('PUT', `/campaigns/${draft.id}`, { audienceType: 'FOLLOW_UP' });
    expect(errorFields(changed.body)).toEqual(['audienceType not_allowed']);
    expect((await call('GET', `/campaigns/${id}`)).body.data).not.toHaveProperty('followUp');
  });

  it('is made once by a repeated request', async () => {
    const { id } = await campaignWith({ ada: sent });
    const key = { 'Idempotency-Key': randomUUID() };
    const body = { outcome: 'not_opened' };
    const first = await call('POST', `/campaigns/${id}/follow-up`, body, key);
    const second = await call('POST', `/campaigns/${id}/follow-up`, body, key);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(await countOf('follow_up_list')).toBe(1);
  });
});

describe('the recipients of a follow-up', () => {
  it('are deleted after the last campaign that has them', async () => {
    const { id } = await campaignWith({ ada: sent });
    const draft = await made(id, { outcome: 'not_opened' });
    const { body: copy } = await call('POST', `/campaigns/${draft.id}/duplicate`);
    for (const [campaign, left] of [
      [draft.id, 1],
      [copy.data.id, 0],
    ] as const) {
      await call('DELETE', `/campaigns/${campaign}`);
      await continueRemovals(db, () => false);
      expect(await countOf('follow_up_recipient')).toBe(left);
    }
  });

  it('are deleted by the sweep if the process died while they were chosen', async () => {
    const { id } = await campaignWith({ ada: sent });
    const { id: listId, asOf } = await insertFollowUpList(db, project.id);
    const given = { campaignId: id, outcome: 'not_opened', ignoreMachines: true, asOf } as const;
    await fillFollowUpList(db, project.id, listId, given);
    const tasks = tasksOf(shop.api, {});
    const sweep = async () => {
      await tasks.CLEAR_TOKENS_AND_RECEIPTS();
      await continueRemovals(db, () => false);
    };
    await sweep();
    expect(await countOf('follow_up_recipient')).toBe(1);
    await sql`update follow_up_list set expires_at = now() - interval '1 minute'`.execute(db);
    await sweep();
    expect(await countOf('follow_up_recipient')).toBe(0);
  });
});

describe('a follow-up of a large campaign', () => {
  it('reads its mail page by page', async () => {
    const { id } = await campaignWith({ ada: sent, bob: opened });
    await writeMail(db, (tx) =>
      sql`
      with made as (
        insert into contact (project_id, email, subscribed)
          select ${project.id}, n || ${`-${id}@people.test`}, true from generate_series(1, 12000) n
          returning id
      )
      insert into email (project_id, contact_id, campaign_id, to_email, subject, from_email,
          message_class, source_type, status, sent_at, due_at, created_at)
        select ${project.id}, id, ${id}, 'x@people.test', 'S', 'a@shop.test', 'MARKETING',
            'CAMPAIGN', 'SENT', now() - interval '1 minute', null, now() - interval '2 minutes'
          from made`.execute(tx),
    );
    const draft = await made(id, { outcome: 'not_opened' });
    expect(draft.totalRecipients).toBe(12_001);
  }, 60_000);
});
