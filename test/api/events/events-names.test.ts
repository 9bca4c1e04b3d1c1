import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { foldEventTally } from '../../../db/transactions/events/delete-events.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { dropContacts } from '../../support/mail-tables.ts';

const shop = await useShop();
afterEach(() => sql`truncate event, event_tally, segment, workflow cascade`.execute(shop.api.db));

const get = async (path: string) => (await shop.call('GET', path)).body;
const path = (name: string) => `/events/${encodeURIComponent(name)}`;

async function trackTimes(event: string, times: number, email = newAddress()): Promise<void> {
  for (let n = 0; n < times; n++) await shop.track({ email, event });
}

/** Inserts events with a time in the past. */
const insertAt = (name: string, at: string, times = 1) =>
  sql`insert into event (project_id, name, created_at)
    select ${shop.project.id}, ${name}, ${at}::timestamptz
    from generate_series(1, ${times}::int)`.execute(shop.api.db);

async function createWaitingWorkflow(eventName: string): Promise<string> {
  const { body: workflow } = await shop.call('POST', '/workflows', {
    name: 'Waits',
    eventName: 'begin',
  });
  const made = await shop.call('POST', `/workflows/${workflow.id}/steps`, {
    type: 'WAIT_FOR_EVENT',
    name: 'Wait',
    config: { eventName, timeout: 60 },
  });
  expect(made.status).toBe(201);
  return workflow.id as string;
}

async function createSegment(field: string): Promise<{ id: string; condition: object }> {
  const condition = { logic: 'AND', groups: [{ filters: [{ field, operator: 'triggered' }] }] };
  const { id } = await shop.api.db
    .insertInto('segment')
    .values({
      project_id: shop.project.id,
      name: 'Segment',
      type: 'DYNAMIC',
      condition: JSON.stringify(condition),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, condition };
}

describe('GET /events/names and /events/stats', () => {
  it('list the most frequent first, also names of the system', async () => {
    await trackTimes('a', 3);
    await trackTimes('b', 1);
    expect(await get('/events/stats')).toEqual([
      { name: 'a', count: 3 },
      { name: 'b', count: 1 },
    ]);
    await insertAt('email.open', new Date().toISOString(), 4);
    expect(await get('/events/names')).toEqual({ eventNames: ['email.open', 'a', 'b'] });
  });

  it('answer an event that was just recorded, before and after the counts are folded', async () => {
    for (let count = 1; count <= 3; count++) {
      await trackTimes('now', 1);
      expect(await get('/events/stats')).toEqual([{ name: 'now', count }]);
      await foldEventTally(shop.api.db);
      expect(await get('/events/stats')).toEqual([{ name: 'now', count }]);
    }
  });

  it('order equal counts by name, letter by letter', async () => {
    for (const name of ['b', 'B', 'a']) await trackTimes(name, 1);
    expect((await get('/events/names')).eventNames).toEqual(['B', 'a', 'b']);
  });

  it('see nothing of another project', async () => {
    await trackTimes('mine', 1);
    const read = (of: string) => shop.api.request('GET', of, { key: shop.other.secretKey });
    expect((await read('/events/names')).body).toEqual({ eventNames: [] });
    expect((await read('/events/stats')).body).toEqual([]);
  });
});

describe('GET /events/stats', () => {
  it('counts both ends of a period, to the millisecond', async () => {
    const times = [
      '2026-03-01T10:00:00.000Z',
      '2026-03-01T23:59:59.999Z',
      '2026-03-02T00:00:00.000Z',
      '2026-03-03T12:00:00.000Z',
      '2026-03-04T00:00:00.000Z',
      '2026-03-04T08:00:00.000Z',
    ];
    for (const at of times) await insertAt('e', at);
    const count = async (start: string, end: string) =>
      (await get(`/events/stats?startDate=${start}&endDate=${end}`))[0]?.count ?? 0;
    expect(await count(times[0]!, times[5]!)).toBe(6);
    expect(await count(times[1]!, times[4]!)).toBe(4);
    expect(await count('2026-03-01T10:00:00.001Z', '2026-03-04T07:59:59.999Z')).toBe(4);
    expect(await count('2026-03-03T12:00:00Z', '2026-03-03T12:00:00Z')).toBe(1);
    expect(await count('2026-03-03T12:00:00.001Z', '2026-03-03T13:00:00Z')).toBe(0);
    expect(await count('2026-03-02', '2026-03-04')).toBe(3);
    expect(await count('2026-03-03T14:00:00%2B02:00', '2026-03-03T12:00:00Z')).toBe(1);
  });

  it('covers the last 30 days by default, or the 30 before the end', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    await insertAt('old', ago(31));
    await insertAt('new', ago(29));
    expect(await get('/events/stats')).toEqual([{ name: 'new', count: 1 }]);
    expect(await get(`/events/stats?endDate=${ago(30)}`)).toEqual([{ name: 'old', count: 1 }]);
    expect(await get(`/events/stats?startDate=${ago(40)}`)).toHaveLength(2);
  });

  it.each([
    ['startDate=2026-03-02&endDate=2026-03-01', 'startDate custom'],
    ['startDate=2026-02-30', 'startDate invalid_date'],
    ['endDate=soon', 'endDate invalid_date'],
    ['endDate=2026-03-01T10:00:00', 'endDate invalid_date'],
    ['startDate=', 'startDate invalid_date'],
  ])('refuses ?%s', async (query, fault) => {
    const answer = await shop.call('GET', `/events/stats?${query}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });
});

describe('GET /events/{eventName}/usage', () => {
  const unused = { usedInSegments: [], usedInWorkflows: [], usedInCampaigns: [], canDelete: true };

  it('counts events and their contacts', async () => {
    const email = newAddress();
    await trackTimes('a/b c', 2, email);
    await trackTimes('a/b c', 1);
    await insertAt('a/b c', '2020-01-01T00:00:00Z');
    const counted = { ...unused, totalCount: 4, uniqueContacts: 2 };
    expect(await get('/events/a%2Fb%20c/usage')).toEqual(counted);
    expect(await get('/events/nothing/usage')).toEqual({
      ...unused,
      totalCount: 0,
      uniqueContacts: 0,
    });
  });

  it('follows contacts that are deleted', async () => {
    const [gone, stays] = [newAddress(), newAddress()];
    for (const email of [gone, stays]) await trackTimes('seen', 2, email);
    await dropContacts(shop.api.db, sql<boolean>`email = ${gone}`);
    expect(await get('/events/seen/usage')).toMatchObject({ totalCount: 2, uniqueContacts: 1 });
    await dropContacts(shop.api.db, sql<boolean>`email = ${stays}`);
    expect(await get('/events/names')).toEqual({ eventNames: [] });
  });

  it('lists the workflows and segments that name it', async () => {
    const { body: triggered } = await shop.call('POST', '/workflows', {
      name: 'Triggered',
      eventName: 'vip.joined',
    });
    const waitingId = await createWaitingWorkflow('vip.joined');
    const { body: left } = await shop.call('POST', '/workflows', { name: 'Zero' });
    const exitRules = [
      { eventName: 'other', reason: '' },
      { eventName: 'vip.joined', reason: 'vip' },
    ];
    await shop.call('PATCH', `/workflows/${left.id}`, { exitRules });
    const segment = await createSegment('event.vip.joined');
    await createSegment('event.vip');
    expect(await get(`${path('vip.joined')}/usage`)).toEqual({
      usedInSegments: [{ ...segment, name: 'Segment' }],
      usedInWorkflows: [
        { id: triggered.id, name: 'Triggered' },
        { id: waitingId, name: 'Waits' },
        { id: left.id, name: 'Zero' },
      ],
      usedInCampaigns: [],
      totalCount: 0,
      uniqueContacts: 0,
      canDelete: false,
    });
  });

  it('says that an event of the system cannot be deleted', async () => {
    expect(await get('/events/email.open/usage')).toMatchObject({ canDelete: false });
  });
});

describe('DELETE /events/{eventName}', () => {
  const remove = (name: string) => shop.call('DELETE', path(name));

  it('deletes the events of that name alone', async () => {
    await trackTimes('free', 3);
    await trackTimes('Free', 1);
    const { status, body } = await remove('free');
    expect([status, body]).toEqual([200, { deletedCount: 3 }]);
    expect(await get('/events/names')).toEqual({ eventNames: ['Free'] });
    expect((await remove('free')).body).toEqual({ deletedCount: 0 });
  });

  it.each(['names', 'stats', 'track', 'contact', 'a/b c', '100%', 'é?&#', "x'y"])(
    'deletes %s',
    async (name) => {
      await trackTimes(name, 2);
      expect(await get('/events/names')).toEqual({ eventNames: [name] });
      expect((await remove(name)).body).toEqual({ deletedCount: 2 });
    },
  );

  it.each(['email.open', 'email.anything', 'contact.subscribed', 'segment.vip.exit'])(
    'refuses %s with 400 RESERVED_EVENT',
    async (name) => {
      await insertAt(name, '2026-01-01T00:00:00Z');
      expect(refusal(await remove(name))).toEqual([400, 'RESERVED_EVENT']);
      expect((await get('/events/names')).eventNames).toEqual([name]);
    },
  );

  it('refuses what a workflow or a segment uses with 409 EVENT_IN_USE, and names them', async () => {
    await shop.call('POST', '/workflows', { name: 'Triggered', eventName: 'begun' });
    await createWaitingWorkflow('awaited');
    const { id } = await createSegment('event.filtered');
    for (const name of ['begun', 'awaited', 'filtered']) await trackTimes(name, 1);
    for (const name of ['begun', 'awaited']) {
      const answer = await remove(name);
      expect(refusal(answer)).toEqual([409, 'EVENT_IN_USE']);
      expect(answer.body.error.details.usedInWorkflows).toHaveLength(1);
    }
    const answer = await remove('filtered');
    expect(answer.body.error.details.usedInSegments).toMatchObject([{ id, name: 'Segment' }]);
    expect((await get('/events/names')).eventNames).toHaveLength(3);
  });

  it('takes more than one transaction’s worth', async () => {
    await insertAt('many', '2026-01-01T00:00:00Z', 20_001);
    await insertAt('many', '2026-01-02T00:00:00Z', 4);
    expect((await remove('many')).body).toEqual({ deletedCount: 20_005 });
    await foldEventTally(shop.api.db);
    const { rows } = await sql`select from event_tally`.execute(shop.api.db);
    expect(rows).toEqual([]);
  });

  it('leaves an event that a run has still to read', async () => {
    const email = newAddress();
    const tracked = await shop.track({ email, event: 'claimed' });
    const workflowId = await createWaitingWorkflow('other');
    await shop.call('PATCH', `/workflows/${workflowId}`, { enabled: true });
    const { body: execution } = await shop.call('POST', `/workflows/${workflowId}/executions`, {
      contactId: tracked.body.data.contact,
    });
    await sql`with step as (
        insert into step_execution (project_id, execution_id, step_id, status)
          values (${shop.project.id}, ${execution.id}, ${randomUUID()}, 'WAITING') returning id)
      insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name,
          event_id)
        select id, ${shop.project.id}, ${execution.id}, ${tracked.body.data.contact}, 'claimed',
          ${tracked.body.data.event} from step`.execute(shop.api.db);
    await trackTimes('claimed', 1);
    expect((await remove('claimed')).body).toEqual({ deletedCount: 1 });
    await shop.api.db.deleteFrom('wait').execute();
    expect((await remove('claimed')).body).toEqual({ deletedCount: 1 });
  });

  it('deletes nothing of another project', async () => {
    await trackTimes('mine', 1);
    const answer = await shop.api.request('DELETE', '/events/mine', { key: shop.other.secretKey });
    expect(answer.body).toEqual({ deletedCount: 0 });
    expect((await get('/events/names')).eventNames).toEqual(['mine']);
  });
});
