import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import { findReportedMessages } from '../../../db/transactions/mail/reports.ts';
import { transact } from '../../../db/database.ts';
import { registerWait } from '../../../db/workflows/executions/waits.ts';
import type { StepVisit } from '../../../db/workflows/executions/steps.ts';
import { useApi } from '../../support/api.ts';
import { insertClaimedEmail, insertTestCampaign } from '../../support/projects/mails.ts';

/** Events of campaign mail, which are derived from its rows. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
let key: string;
let campaignId: string;
let contactId: string;

beforeEach(async () => {
  ({ id: projectId, secretKey: key } = await api.createProject(cookie));
  campaignId = await insertTestCampaign(db, projectId);
  contactId = await newContact();
});

const get = async (path: string) => (await api.request('GET', path, { key })).body;

async function newContact(): Promise<string> {
  const body = { email: `${randomUUID()}@people.test`, subscribed: true };
  return (await api.request('POST', '/contacts', { key, body })).body.id;
}

/** Inserts a message of the campaign that the provider has accepted. Returns its id. */
async function sent(given: { delivered?: boolean } = {}): Promise<string> {
  const ids = { projectId, contactId, campaignId };
  const { emailId, attempt } = await insertClaimedEmail(db, ids);
  const { delivered = true } = given;
  const outcomes = [{ emailId, kind: 'accepted' as const, messageId: `m-${emailId}`, delivered }];
  await recordDeliveryOutcomes(db, { ...attempt, outcomes });
  return emailId;
}

/** Puts the contact's execution at a new step. */
async function newVisit(): Promise<StepVisit> {
  const { rows } = await sql<{ execution_id: string; step_id: string }>`
    with made as (
      insert into workflow (project_id, name, trigger_event_name)
        values (${projectId}, 'w', 'other') returning id
    ), version as (
      insert into workflow_version (workflow_id, version, project_id, graph)
        select id, 1, ${projectId}, '{}' from made
    ), execution as (
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id)
        select ${projectId}, id, 1, 'w', ${contactId} from made returning id
    )
    insert into step_execution (project_id, execution_id, step_id, status)
      select ${projectId}, id, gen_random_uuid(), 'RUNNING' from execution
      returning execution_id, id as step_id`.execute(db);
  const [row] = rows;
  return {
    execution: { id: row!.execution_id, project_id: projectId, contact_id: contactId },
    stepExecution: { id: row!.step_id },
  } as StepVisit;
}

const storedNames = async () => {
  const rows = await db
    .selectFrom('event')
    .select('name')
    .where('contact_id', '=', contactId)
    .where('name', 'like', 'email.%')
    .orderBy('recorded_at')
    .execute();
  return rows.map(({ name }) => name);
};
const shownNames = async () => {
  const { events } = await get(`/events/contact/${contactId}`);
  return events
    .map(({ name }: { name: string }) => name)
    .filter((name: string) => name.startsWith('email.'));
};

/** A wait without a timeout for any event of its name. */
const anyEvent = { lookBack: 'step' as const, where: null, expiresAt: null };

describe('the events of a message of a campaign', () => {
  it('are listed with all others, although they are not stored', async () => {
    const emailId = await sent();
    expect(await storedNames()).toEqual([]);
    expect(await shownNames()).toEqual(['email.delivery', 'email.sent']);
    const email = await get(`/emails/${emailId}`);
    const contact = await get(`/contacts/${contactId}`);
    for (const [eventName, time] of [
      ['email.sent', { sentAt: email.sentAt }],
      ['email.delivery', { deliveredAt: email.deliveredAt }],
    ] as const) {
      const { events } = await get(`/events?eventName=${eventName}`);
      expect(events).toMatchObject([
        {
          name: eventName,
          contactId,
          emailId,
          contact: { email: contact.email },
          data: { subject: 'Hi Ada', campaignId, emailId, messageId: `m-${emailId}`, ...time },
        },
      ]);
    }
    const { events } = await get('/events?limit=2');
    expect(events.map(({ name }: { name: string }) => name)).toEqual([
      'email.delivery',
      'email.sent',
    ]);
  });

  it('have the same data as stored ones', async () => {
    await sent();
    const [derived] = (await get('/events?eventName=email.delivery')).events;
    const { id } = await db
      .insertInto('workflow')
      .values({ project_id: projectId, name: 'Exits' })
      .returning('id')
      .executeTakeFirstOrThrow();
    for (const event_name of ['email.sent', 'email.delivery'])
      await db
        .insertInto('exit_event')
        .values({ project_id: projectId, event_name, workflow_id: id })
        .execute();
    contactId = await newContact();
    await sent();
    expect(await storedNames()).toEqual(['email.sent', 'email.delivery']);
    const [stored] = (await get('/events?eventName=email.delivery')).events;
    expect(Object.keys(derived).toSorted()).toEqual(Object.keys(stored).toSorted());
    expect(Object.keys(derived.data).toSorted()).toEqual(Object.keys(stored.data).toSorted());
  });
  afterEach(() => db.deleteFrom('workflow').where('project_id', '=', projectId).execute());

  it('count, until their contact is deleted', async () => {
    await sent();
    const names = ['email.delivery', 'email.sent'];
    const listed = async () =>
      (await get('/events/names')).eventNames.filter((name: string) => name.startsWith('email.'));
    const counted = async () => {
      const { rows } = await sql<{ name: string; count: number }>`
        select name, sum(count)::int as count from event_tally
          where project_id = ${projectId} and name like 'email.%'
          group by name having sum(count) <> 0 order by name`.execute(db);
      return rows.map(({ name, count }) => [name, count]);
    };
    expect((await listed()).toSorted()).toEqual(names);
    expect(await counted()).toEqual(names.map((name) => [name, 1]));
    expect(await get('/events/email.sent/usage')).toMatchObject({
      totalCount: 1,
      uniqueContacts: 1,
    });
    expect(await get('/events/stats')).toContainEqual({ name: 'email.sent', count: 1 });
    await api.request('DELETE', `/contacts/${contactId}`, { key });
    expect(await listed()).toEqual([]);
    expect(await counted()).toEqual([]);
  });

  it('are found by conditions', async () => {
    await sent({ delivered: false });
    const members = async (field: string, operator: string) => {
      const condition = { logic: 'AND', groups: [{ filters: [{ field, operator }] }] };
      const body = { name: randomUUID(), type: 'DYNAMIC', condition };
      const { body: segment } = await api.request('POST', '/segments', { key, body });
      return (await get(`/segments/${segment.id}/contacts`)).total;
    };
    expect(await members('event.email.sent', 'triggered')).toBe(1);
    expect(await members('event.email.delivery', 'triggered')).toBe(0);
    expect(await members('event.email.sent', 'notTriggered')).toBe(0);
  });

  it('are kept when the provider gives the message up', async () => {
    const emailId = await sent({ delivered: false });
    await transact(db, async (tx) => {
      const [report] = await findReportedMessages(tx, [
        {
          emailId,
          messageId: null,
          feedback: [{ kind: 'rejection', at: new Date(), text: 'Virus.' }],
          acceptedAt: null,
          receipt: null,
        },
      ]);
      await recordFeedback(tx, [report!], { judge: null });
    });
    expect((await get(`/emails/${emailId}`)).status).toBe('FAILED');
    expect(await shownNames()).toEqual(['email.sent']);
    expect(await storedNames()).toEqual(['email.sent']);
    const { rows } = await sql<{ count: number }>`select sum(count)::int as count from event_tally
      where project_id = ${projectId} and name = 'email.sent'`.execute(db);
    expect(rows).toEqual([{ count: 1 }]);
  });
});

describe('the events of a message of a campaign are stored', () => {
  it('where an enabled workflow begins with them', async () => {
    const body = { name: 'Delivered', triggerType: 'EVENT', eventName: 'email.delivery' };
    const { body: workflow } = await api.request('POST', '/workflows', { key, body });
    await sent();
    expect(await storedNames()).toEqual([]);
    await sql`update workflow set enabled = true where id = ${workflow.id}`.execute(db);
    await sql`insert into workflow_version (workflow_id, version, project_id, graph)
      values (${workflow.id}, 1, ${projectId}, '{}') on conflict do nothing`.execute(db);
    contactId = await newContact();
    await sent();
    expect(await storedNames()).toEqual(['email.delivery']);
    expect(await shownNames()).toEqual(['email.delivery', 'email.sent']);
    const { rows } = await sql`select from execution where contact_id = ${contactId}`.execute(db);
    expect(rows.length).toBe(1);
  });

  it('where a wait is open, which they end', async () => {
    const wait = { ...anyEvent, eventName: 'email.sent', since: new Date().toISOString() };
    const visit = await newVisit();
    expect(await transact(db, (tx) => registerWait(tx, visit, wait))).toBeNull();
    await sent();
    expect(await storedNames()).toEqual(['email.sent']);
    const { rows } = await sql<{ event_id: string | null }>`
      select event_id from wait where contact_id = ${contactId}`.execute(db);
    expect(rows).toEqual([{ event_id: expect.any(String) }]);
    contactId = await newContact();
    await sent();
    expect(await storedNames()).toEqual([]);
  });
});

it('a wait that is registered after its event was derived ends at once', async () => {
  const since = new Date().toISOString();
  const emailId = await sent();
  const visit = await newVisit();
  const wait = { ...anyEvent, eventName: 'email.delivery', since };
  const found = await transact(db, (tx) => registerWait(tx, visit, wait));
  expect(found).toMatchObject({ name: 'email.delivery', data: { emailId } });
  const later = { ...wait, since: new Date(Date.now() + 1_000).toISOString() };
  expect(await transact(db, (tx) => registerWait(tx, visit, later))).toBeNull();
});
