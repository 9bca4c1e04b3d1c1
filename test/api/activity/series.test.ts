import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { useActivityShop } from '../../support/projects/activity-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

const activity = await useActivityShop();
const { shop, insertEmail, insertCampaign, insertExecution } = activity;
afterEach(() => activity.clear());

const call = (query: string) => shop.call('GET', `/analytics/series${query}`);
const get = async (query: string) => (await call(query)).body;
const foreign = (path: string, key = shop.other.secretKey) =>
  shop.api.request('GET', `/analytics/series${path}`, { key });

const zero = {
  sent: 0,
  delivered: 0,
  opens: 0,
  clicks: 0,
  humanOpens: 0,
  humanClicks: 0,
  bounces: 0,
  complaints: 0,
  unsubscribes: 0,
  conversions: 0,
  value: 0,
};

type Point = typeof zero & { at: string };

/** Returns the points of a series that are not zero. */
async function counted(query: string): Promise<Partial<Point>[]> {
  const { points } = await get(query);
  return points.flatMap(({ at, ...counts }: Point) => {
    const some = Object.entries(counts).filter(([, count]) => count !== 0);
    return some.length === 0 ? [] : [{ at, ...Object.fromEntries(some) }];
  });
}

const day = (text: string) => `2026-${text}T00:00:00.000Z`;

describe('GET /analytics/series', () => {
  it('answers a zero for each day without mail, both ends included', async () => {
    expect(await get('?startDate=2026-11-01&endDate=2026-11-03')).toEqual({
      interval: 'day',
      timeZone: 'UTC',
      points: ['11-01', '11-02', '11-03'].map((at) => ({ at: day(at), ...zero })),
    });
  });

  it('counts conversions and their value at the time of the event', async () => {
    const campaignId = await insertCampaign();
    const sent = { status: 'SENT', sent_at: day('03-01'), campaign_id: campaignId };
    const templateId = randomUUID();
    const mail = await insertEmail({ ...sent, template_id: templateId });
    const other = await insertEmail({ status: 'SENT', sent_at: day('03-01') });
    const convert = (emailId: string, owner: string, at: string, value: string) =>
      shop.api.db
        .insertInto('conversion')
        .values({
          event_id: randomUUID(),
          project_id: shop.project.id,
          owner_id: owner,
          email_id: emailId,
          value,
          at,
        })
        .execute();
    await convert(mail, campaignId, day('03-02'), '12.5');
    await convert(mail, campaignId, '2026-03-02T23:59:59.999Z', '0.1');
    await convert(mail, campaignId, day('03-03'), '-2');
    await convert(other, randomUUID(), day('03-03'), '7');
    const own = [
      { at: day('03-01'), sent: 1 },
      { at: day('03-02'), conversions: 2, value: 12.6 },
      { at: day('03-03'), conversions: 1, value: -2 },
    ];
    const march = 'startDate=2026-03-01&endDate=2026-03-04';
    expect(await counted(`?campaignId=${campaignId}&${march}`)).toEqual(own);
    const { body } = await shop.call('POST', '/templates', {
      name: 'T',
      subject: 'S',
      body: 'B',
      from: `a@${shop.domain}`,
      type: 'MARKETING',
    });
    await shop.api.db
      .updateTable('email')
      .set({ template_id: body.id })
      .where('id', '=', mail)
      .execute();
    expect(await counted(`?templateId=${body.id}&${march}`)).toEqual(own);
    expect(await counted(`?${march}`)).toMatchObject([
      { sent: 2 },
      { conversions: 2 },
      { conversions: 2, value: 5 },
    ]);
  });

  it('covers the last 30 days by default, in the zone of the send policy', async () => {
    await shop.call('PUT', '/send-policy', { timeZone: 'Europe/Kyiv' });
    const { timeZone, points } = await get('');
    expect([timeZone, points.length]).toEqual(['Europe/Kyiv', 30]);
    const { points: march } = await get('?endDate=2026-04-10');
    expect([march.length, march[0].at, march.at(-1).at]).toEqual([
      30,
      '2026-03-11T22:00:00.000Z',
      '2026-04-09T21:00:00.000Z',
    ]);
    await shop.call('PUT', '/send-policy', { timeZone: 'UTC' });
  });

  it('counts each mail once for each kind, on the day of its first', async () => {
    await insertEmail({
      status: 'OPENED',
      sent_at: '2026-03-01T10:00:00Z',
      delivered_at: '2026-03-01T10:00:01Z',
      opened_at: '2026-03-02T09:00:00Z',
      clicked_at: '2026-03-04T09:00:00Z',
      human_opened_at: '2026-03-02T09:30:00Z',
      human_clicked_at: '2026-03-04T09:30:00Z',
      unsubscribed_at: '2026-03-04T10:00:00Z',
      opens: 7,
      clicks: 3,
    });
    await insertEmail({ status: 'BOUNCED', sent_at: day('03-02'), bounced_at: day('03-02') });
    await insertEmail({
      status: 'COMPLAINED',
      sent_at: '2026-03-04T23:59:59.999Z',
      complained_at: '2026-03-04T23:59:59.999Z',
    });
    expect(await counted('?startDate=2026-03-01&endDate=2026-03-04')).toEqual([
      { at: day('03-01'), sent: 1, delivered: 1 },
      { at: day('03-02'), sent: 1, opens: 1, humanOpens: 1, bounces: 1 },
      { at: day('03-04'), sent: 1, clicks: 1, humanClicks: 1, complaints: 1, unsubscribes: 1 },
    ]);
  });

  it('counts days of 23 and 25 hours in their zone', async () => {
    for (const sentAt of ['2026-03-28T22:00:00Z', '2026-03-29T20:59:59Z', '2026-03-29T21:00:00Z'])
      await insertEmail({ status: 'SENT', sent_at: sentAt });
    const kyiv = 'timeZone=Europe/Kyiv';
    const { points } = await get(`?${kyiv}&startDate=2026-03-29&endDate=2026-03-30`);
    expect(points).toEqual([
      { ...zero, at: '2026-03-28T22:00:00.000Z', sent: 2 },
      { ...zero, at: '2026-03-29T21:00:00.000Z', sent: 1 },
    ]);
    const hours = async (date: string) =>
      (await get(`?${kyiv}&interval=hour&startDate=${date}&endDate=${date}`)).points.length;
    expect([await hours('2026-03-29'), await hours('2026-10-25')]).toEqual([23, 25]);
  });

  it('takes times as they are: what happened before or after is not counted', async () => {
    for (const minute of ['09:14', '09:15', '09:59', '10:15', '10:16'])
      await insertEmail({ status: 'SENT', sent_at: `2026-03-01T${minute}:00Z` });
    const range = 'startDate=2026-03-01T09:15:00Z&endDate=2026-03-01T10:15:00Z';
    expect(await counted(`?interval=hour&${range}`)).toEqual([
      { at: '2026-03-01T09:00:00.000Z', sent: 2 },
      { at: '2026-03-01T10:00:00.000Z', sent: 1 },
    ]);
    expect(await counted(`?interval=minute&${range}`)).toHaveLength(3);
    expect(await counted(`?${range}`)).toEqual([{ at: day('03-01'), sent: 3 }]);
  });

  it('counts the mail of one campaign from its start to the last that happened', async () => {
    const campaignId = await insertCampaign({
      status: 'SENT',
      frozen_at: '2026-03-01T09:00:30Z',
      sent_at: '2026-03-01T09:01:00Z',
    });
    const of = { source_type: 'CAMPAIGN', campaign_id: campaignId, status: 'OPENED' };
    await insertEmail({
      ...of,
      sent_at: '2026-03-01T09:00:40Z',
      opened_at: '2026-03-01T09:03:10Z',
    });
    await insertEmail({ status: 'SENT', sent_at: '2026-03-01T09:00:40Z' });
    const path = `?campaignId=${campaignId}&interval=minute`;
    const minute = (at: number) => `2026-03-01T09:0${at}:00.000Z`;
    expect((await get(path)).points).toEqual([
      { ...zero, at: minute(0), sent: 1 },
      { ...zero, at: minute(1) },
      { ...zero, at: minute(2) },
      { ...zero, at: minute(3), opens: 1 },
    ]);
    expect((await get(`${path}&startDate=2026-03-01T09:02:00Z`)).points).toHaveLength(2);
    expect((await get(`${path}&startDate=2026-03-02`)).points).toEqual([]);
    expect(refusal(await foreign(path))).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
  });

  it('answers no points for a campaign that has not begun', async () => {
    const campaignId = await insertCampaign({ status: 'DRAFT' });
    expect((await get(`?campaignId=${campaignId}`)).points).toEqual([]);
  });

  it('counts the mail of a template, a workflow or one of its steps', async () => {
    const templateId = await shop.createTemplate();
    const steps = [{ id: randomUUID() }, { id: randomUUID() }];
    const executionId = await insertExecution({}, steps);
    const { workflow_id: workflowId } = await shop.api.db
      .selectFrom('execution')
      .select('workflow_id')
      .where('id', '=', executionId)
      .executeTakeFirstOrThrow();
    for (const step of [...steps, steps[1]!])
      await insertEmail({
        source_type: 'WORKFLOW',
        workflow_step_id: step.id,
        status: 'SENT',
        sent_at: '2026-03-01T09:00:00Z',
        template_id: step === steps[0] ? templateId : null,
      });
    const total = async (owner: string) => {
      const [point] = await counted(`?${owner}&startDate=2026-03-01&endDate=2026-03-01`);
      return point?.sent;
    };
    expect(await total(`templateId=${templateId}`)).toBe(1);
    expect(await total(`workflowId=${workflowId}`)).toBe(3);
    expect(await total(`workflowId=${workflowId}&stepId=${steps[1]!.id}`)).toBe(2);
    const other = async (query: string) => refusal(await foreign(query));
    expect(await other(`?templateId=${templateId}`)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    expect(await other(`?workflowId=${workflowId}`)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    expect(refusal(await call(`?workflowId=${workflowId}&stepId=${randomUUID()}`))).toEqual([
      404,
      'STEP_NOT_FOUND',
    ]);
  });

  it('shows nothing to other projects, and refuses a public key', async () => {
    await insertEmail({ status: 'SENT', sent_at: '2026-03-01T09:00:00Z' });
    const range = '?startDate=2026-03-01&endDate=2026-03-01';
    expect((await foreign(range)).body.points).toEqual([{ at: day('03-01'), ...zero }]);
    expect(refusal(await foreign(range, shop.project.publicKey))).toEqual([401, 'INVALID_API_KEY']);
  });

  it('answers 1,000 points and refuses 1,001', async () => {
    const minutes = (end: string) =>
      call(`?interval=minute&startDate=2026-03-01T00:00:00Z&endDate=2026-03-01T${end}:00Z`);
    expect((await minutes('16:39')).body.points).toHaveLength(1000);
    expect(refusal(await minutes('16:40'))).toEqual([422, 'VALIDATION_ERROR', 'interval too_big']);
    expect(refusal(await call('?startDate=0001-01-01&endDate=9999-12-31'))).toEqual([
      422,
      'VALIDATION_ERROR',
      'interval too_big',
    ]);
  });

  it('counts in the first and the last year that a date can have', async () => {
    const ends = async (date: string, zone: string) =>
      (await get(`?timeZone=${zone}&startDate=${date}&endDate=${date}`)).points.length;
    expect(await ends('0001-01-01', 'Asia/Tokyo')).toBe(1);
    expect(await ends('9999-12-31', 'America/New_York')).toBe(1);
  });

  const [one, two] = [randomUUID(), randomUUID()];
  it.each([
    ['?interval=week', 'interval invalid_enum_value'],
    ['?timeZone=Mars/X', 'timeZone invalid_string'],
    ['?startDate=2026-02-30', 'startDate invalid_date'],
    ['?startDate=2026-03-02&endDate=2026-03-01', 'startDate custom'],
    ['?startDate=2026-03-02&endDate=2026-03-01T23:00:00Z', 'startDate custom'],
    [`?campaignId=${one}&templateId=${two}`, 'templateId not_allowed'],
    [`?workflowId=${one}&campaignId=${two}`, 'workflowId not_allowed'],
    [`?stepId=${one}`, 'workflowId required'],
    ['?campaignId=1', 'campaignId invalid_string'],
  ])('refuses %s', async (query, problem) => {
    expect(refusal(await call(query))).toEqual([422, 'VALIDATION_ERROR', problem]);
  });

  it('reports all problems of a query at once', async () => {
    const query = '?interval=week&startDate=2026-03-02&endDate=2026-03-01&stepId=1&timeZone=x';
    const [, , ...problems] = refusal(await call(query));
    expect(problems.toSorted()).toEqual([
      'interval invalid_enum_value',
      'startDate custom',
      'stepId invalid_string',
      'timeZone invalid_string',
    ]);
  });
});
