import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { useActivityShop } from '../../support/projects/activity-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

const { shop, insertEmail, clear } = await useActivityShop();
afterEach(clear);

const get = async (path: string) => (await shop.call('GET', `/analytics/${path}`)).body;
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

const insertEvents = (name: string, at: Date, times: number, projectId = shop.project.id) =>
  sql`insert into event (project_id, name, created_at)
    select ${projectId}, ${name}, ${at} from generate_series(1, ${times}::int)`.execute(
    shop.api.db,
  );

async function insertCampaign(given: object): Promise<string> {
  const { id } = await shop.api.db
    .insertInto('campaign')
    .values({
      project_id: shop.project.id,
      name: 'Campaign',
      subject: 'Hello',
      body: 'b',
      from_email: 'a@x.example',
      audience_type: 'ALL',
      message_class: 'MARKETING',
      ...given,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

const sent = (counts: [sent: number, opened: number, clicked: number], at = new Date()) => ({
  status: 'SENT',
  sent_at: at,
  sent_count: counts[0],
  opened_count: counts[1],
  clicked_count: counts[2],
});

describe('GET /analytics/timeseries', () => {
  const zero = { emails: 0, opens: 0, clicks: 0, bounces: 0, delivered: 0 };

  it('answers a zero for each day without mail, both ends included', async () => {
    expect(await get('timeseries?startDate=2026-11-01&endDate=2026-11-07')).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((day) => ({ date: `2026-11-0${day}`, ...zero })),
    );
    expect(
      await get('timeseries?startDate=2026-03-01T20:00:00Z&endDate=2026-03-02T01:00:00%2B02:00'),
    ).toEqual([{ date: '2026-03-01', ...zero }]);
  });

  it('covers the last 30 days by default', async () => {
    const days = await get('timeseries');
    expect(days).toHaveLength(30);
    expect(days[0].date).toBe(daysAgo(29).toISOString().slice(0, 10));
    expect(days.at(-1).date).toBe(new Date().toISOString().slice(0, 10));
    expect(await get('timeseries?endDate=2026-03-30')).toHaveLength(30);
  });

  it('answers 90 days and refuses 91', async () => {
    expect(await get('timeseries?startDate=2026-01-01&endDate=2026-03-31')).toHaveLength(90);
    const answer = await shop.call(
      'GET',
      '/analytics/timeseries?startDate=2026-01-01&endDate=2026-04-01',
    );
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', 'startDate too_big']);
  });

  it('counts the days of a zone, also those of 23 and 25 hours', async () => {
    const sentAt = [
      '2026-03-28T21:59:59.999Z',
      '2026-03-28T22:00:00.000Z',
      '2026-03-29T20:59:59.999Z',
      '2026-03-29T21:00:00.000Z',
      '2026-10-24T21:00:00.000Z',
      '2026-10-25T21:59:59.999Z',
      '2026-10-25T22:00:00.000Z',
    ];
    for (const at of sentAt) await insertEmail({ status: 'SENT', sent_at: at });
    const emailsOn = async (start: string, end: string) =>
      (await get(`timeseries?timeZone=Europe/Kyiv&startDate=${start}&endDate=${end}`)).map(
        ({ date, emails }: { date: string; emails: number }) => [date, emails],
      );
    expect(await emailsOn('2026-03-28', '2026-03-30')).toEqual([
      ['2026-03-28', 1],
      ['2026-03-29', 2],
      ['2026-03-30', 1],
    ]);
    expect(await emailsOn('2026-10-25', '2026-10-26')).toEqual([
      ['2026-10-25', 2],
      ['2026-10-26', 1],
    ]);
    // A time means its whole day in the zone.
    expect(await emailsOn('2026-03-29T20:59:59Z', '2026-03-29T21:00:00Z')).toEqual([
      ['2026-03-29', 2],
      ['2026-03-30', 1],
    ]);
  });

  it('names each day once where midnight is skipped', async () => {
    const query = 'timeZone=Africa/Cairo&startDate=2026-04-23&endDate=2026-04-25';
    const days = await get(`timeseries?${query}`);
    expect(days.map(({ date }: { date: string }) => date)).toEqual([
      '2026-04-23',
      '2026-04-24',
      '2026-04-25',
    ]);
  });

  it('covers the last 30 days of a zone by default', async () => {
    const days = await get('timeseries?timeZone=Pacific/Kiritimati');
    expect(days).toHaveLength(30);
    const inKiritimati = new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10);
    expect(days.at(-1).date).toBe(inKiritimati);
  });

  it('answers the first and last days that a time can be on', async () => {
    const dates = async (query: string) =>
      (await get(`timeseries?${query}`)).map(({ date }: { date: string }) => date);
    const first = 'startDate=0001-01-01T00:00:00Z&endDate=0001-01-01T00:00:00Z';
    const last = 'startDate=9999-12-31T23:00:00Z&endDate=9999-12-31T23:00:00Z';
    expect(await dates(`timeZone=America/New_York&${first}`)).toEqual(['0000-12-31']);
    expect(await dates(`timeZone=Asia/Tokyo&${last}`)).toEqual(['+010000-01-01']);
  });

  it('refuses what is no zone, together with a wrong date', async () => {
    const answer = await shop.call('GET', '/analytics/timeseries?timeZone=%2B02:00&startDate=x');
    expect(refusal(answer).toSorted()).toEqual([
      422,
      'VALIDATION_ERROR',
      'startDate invalid_date',
      'timeZone invalid_string',
    ]);
  });
});

describe('GET /analytics/top-events', () => {
  it('compares with as many days before', async () => {
    const trends = { more: [4, 2], new: [3, 0], less: [1, 2], gone: [0, 5] };
    for (const [name, [now, before]] of Object.entries(trends)) {
      await insertEvents(name, daysAgo(3), now!);
      await insertEvents(name, daysAgo(33), before!);
    }
    await insertEvents('more', daysAgo(90), 7);
    await insertEvents('foreign', daysAgo(3), 7, shop.other.id);
    expect(await get('top-events')).toEqual([
      { name: 'more', count: 4, trend: 100 },
      { name: 'new', count: 3, trend: 100 },
      { name: 'less', count: 1, trend: -50 },
    ]);
    expect(await get('top-events?limit=1')).toHaveLength(1);
  });

  it('counts whole days', async () => {
    await insertEvents('a', new Date('2026-03-02T00:00:00.000Z'), 3);
    await insertEvents('a', new Date('2026-03-02T23:59:59.999Z'), 1);
    await insertEvents('a', new Date('2026-03-01T23:59:59.999Z'), 3);
    await insertEvents('a', new Date('2026-02-28T23:59:59.999Z'), 9);
    expect(await get('top-events?startDate=2026-03-02&endDate=2026-03-02')).toEqual([
      { name: 'a', count: 4, trend: 33 },
    ]);
  });
});

describe('GET /analytics/top-campaigns', () => {
  it('sorts by the metric that is asked for', async () => {
    const [many, opened, clicked] = [
      await insertCampaign(sent([100, 20, 1])),
      await insertCampaign(sent([10, 8, 2])),
      await insertCampaign(sent([4, 3, 3])),
    ];
    const order = async (metric: string) =>
      (await get(`top-campaigns${metric}`)).map(({ id }: { id: string }) => id);
    expect(await order('')).toEqual([many, opened, clicked]);
    expect(await order('?metric=sentCount')).toEqual([many, opened, clicked]);
    expect(await order('?metric=clickedCount')).toEqual([clicked, opened, many]);
    expect(await order('?metric=openRate')).toEqual([opened, clicked, many]);
    expect(await order('?metric=clickRate')).toEqual([clicked, opened, many]);
    expect(await order('?metric=clickRate&limit=1')).toEqual([clicked]);
    expect((await get('top-campaigns?metric=clickRate'))[0]).toEqual({
      id: clicked,
      name: 'Campaign',
      subject: 'Hello',
      sentCount: 4,
      openedCount: 3,
      clickedCount: 3,
      openRate: 75,
      clickRate: 75,
    });
  });

  it('lists what was sent in the range only, with rates of 0 when nothing was', async () => {
    await insertCampaign({ status: 'DRAFT' });
    await insertCampaign(sent([1, 1, 1], daysAgo(31)));
    const empty = await insertCampaign(sent([0, 0, 0]));
    expect(await get('top-campaigns')).toMatchObject([{ id: empty, openRate: 0, clickRate: 0 }]);
  });
});

describe('GET /analytics/campaign-stats', () => {
  it('counts campaigns by where they stand and averages those that were sent', async () => {
    await insertCampaign({ status: 'DRAFT' });
    await insertCampaign({ status: 'SCHEDULED' });
    await insertCampaign({ status: 'SENDING', sent_count: 2, opened_count: 2 });
    await insertCampaign({ status: 'PAUSED', paused_reason: 'requested' });
    await insertCampaign({ status: 'CANCELLED' });
    await insertCampaign(sent([3, 1, 0]));
    await insertCampaign(sent([2, 1, 1]));
    await insertCampaign(sent([0, 0, 0]));
    expect(await get('campaign-stats')).toEqual({
      total: 8,
      active: 3,
      completed: 3,
      averageOpenRate: 41.7,
      averageClickRate: 25,
    });
  });

  it('answers zeros without campaigns', async () => {
    expect(await get('campaign-stats')).toEqual({
      total: 0,
      active: 0,
      completed: 0,
      averageOpenRate: 0,
      averageClickRate: 0,
    });
  });
});

describe('analytics', () => {
  it.each([
    ['timeseries?startDate=2026-02-30', 'startDate invalid_date'],
    ['timeseries?startDate=2026-03-02&endDate=2026-03-01', 'startDate custom'],
    ['top-campaigns?limit=51', 'limit too_big'],
    ['top-campaigns?metric=bounceRate', 'metric invalid_enum_value'],
    ['top-events?limit=21', 'limit too_big'],
    ['top-events?limit=0', 'limit too_small'],
    ['campaign-stats?endDate=never', 'endDate invalid_date'],
  ])('refuses %s', async (path, fault) => {
    const answer = await shop.call('GET', `/analytics/${path}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });
});
