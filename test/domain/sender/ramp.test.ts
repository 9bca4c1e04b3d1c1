import { describe, expect, it } from 'vitest';
import {
  capOfDay,
  daysPassed,
  judgeRamp,
  type OpenRamp,
  type RampedMail,
  type RampPeriod,
  RampRooms,
} from '../../../domain/sender/ramp.ts';

describe('the limit of a day', () => {
  it('grows by the factor, rounded down', () => {
    const caps = (startPerDay: number, factor: number) =>
      [1, 2, 3, 4].map((day) => capOfDay({ startPerDay, factor }, day));
    expect(caps(200, 1.5)).toEqual([200, 300, 450, 675]);
    expect(caps(3, 2)).toEqual([3, 6, 12, 24]);
    expect(caps(1, 1.5)).toEqual([1, 1, 2, 3]);
    expect(caps(7, 1)).toEqual([7, 7, 7, 7]);
  });
});

describe('days', () => {
  const endsAt = new Date('2026-11-22T08:00:00.000Z');
  const after = (seconds: number) => new Date(endsAt.getTime() + seconds * 1000);

  it('pass at their end, also those of a time when everything was down', () => {
    expect(daysPassed(endsAt, 86_400, after(-1))).toBe(0);
    expect(daysPassed(endsAt, 86_400, after(0))).toBe(1);
    expect(daysPassed(endsAt, 86_400, after(86_399))).toBe(1);
    expect(daysPassed(endsAt, 86_400, after(3 * 86_400))).toBe(4);
    expect(daysPassed(endsAt, 10, after(25))).toBe(3);
  });

  it('do not pass without an end', () => {
    expect(daysPassed(null, 86_400, after(1_000_000))).toBe(0);
  });
});

describe('the threshold', () => {
  const period = (number: number, day: number, sent: number, bounced = 0, complained = 0) => ({
    number,
    day,
    sent,
    bounced,
    complained,
  });
  const judge = (
    periods: readonly RampPeriod[],
    given: { day?: number; judgedFrom?: number; complaintRate?: number; bounceRate?: number } = {},
  ) => {
    const { day = 1, judgedFrom = 1, bounceRate = 20, complaintRate = null } = given;
    return judgeRamp({ bounceRate, complaintRate, minSent: 5 }, { day, judgedFrom, periods });
  };

  it('stops at the rate of bounces, and not below', () => {
    expect(judge([period(1, 1, 10, 1)])).toBeNull();
    expect(judge([period(1, 1, 10, 2)])).toEqual({ stoppedFor: 'bounces', rate: 20 });
  });

  it('stops at the rate of complaints', () => {
    const rates = { complaintRate: 0.1, bounceRate: 100 };
    expect(judge([period(1, 1, 1001, 0, 1)], rates)).toBeNull();
    expect(judge([period(1, 1, 1000, 0, 1)], rates)).toEqual({
      stoppedFor: 'complaints',
      rate: 0.1,
    });
  });

  it('waits for the smallest number of messages', () => {
    expect(judge([period(1, 1, 4, 4)])).toBeNull();
    expect(judge([period(1, 1, 5, 5)])).toEqual({ stoppedFor: 'bounces', rate: 100 });
  });

  it('counts this day and the two before', () => {
    const periods = [period(1, 1, 100, 90), period(2, 2, 10), period(3, 3, 10), period(4, 4, 10)];
    expect(judge(periods.slice(0, 3), { day: 3 })).toMatchObject({ rate: 75 });
    expect(judge(periods, { day: 4 })).toBeNull();
  });

  it('counts anew after a resume', () => {
    expect(judge([period(1, 1, 10, 5), period(2, 1, 10, 1)], { judgedFrom: 2 })).toBeNull();
  });

  it('of 0 percent stops at the first report', () => {
    expect(judge([period(1, 1, 10)], { bounceRate: 0 })).toBeNull();
    expect(judge([period(1, 1, 10, 1)], { bounceRate: 0 })).toMatchObject({ rate: 10 });
  });
});

describe('mail', () => {
  const soon = new Date('2026-11-22T08:00:00.000Z');
  const later = new Date('2026-11-23T08:00:00.000Z');
  const news = { senderDomain: 'news.test', providerId: null, isTransactional: false };
  const shop = { ...news, senderDomain: 'shop.test' };
  const ramp = (id: string, given: object = {}) => ({
    id,
    providerId: null,
    domain: 'news.test',
    over: 'hold' as OpenRamp['over'],
    room: 1 as number | null,
    until: soon,
    ...given,
  });
  const decide = (mail: readonly RampedMail[], ramps: readonly OpenRamp[]) => {
    const rooms = new RampRooms(ramps);
    return mail.map((one) => {
      const full = rooms.holding(one);
      return full ? `held by ${full.id}` : rooms.take(one).map(({ id }) => id);
    });
  };

  it('passes in order while there is room', () => {
    expect(decide([news, news, news], [ramp('a', { room: 2 })])).toEqual([
      ['a'],
      ['a'],
      'held by a',
    ]);
  });

  it('of another domain is not counted', () => {
    expect(decide([shop, news], [ramp('a')])).toEqual([[], ['a']]);
  });

  it('of another provider is not counted', () => {
    const other = ramp('other', { providerId: 'b', room: 0 });
    const both = ramp('both', { providerId: 'default', room: 1 });
    expect(decide([news, news, { ...news, providerId: 'b' }], [other, both])).toEqual([
      ['both'],
      'held by both',
      'held by other',
    ]);
  });

  it('that is transactional takes room, and passes without', () => {
    const receipt = { ...news, isTransactional: true };
    expect(decide([receipt, news, receipt], [ramp('a')])).toEqual([['a'], 'held by a', ['a']]);
  });

  it('waits for all ramps, and is shown the one that ends last', () => {
    const wide = ramp('wide', { domain: null, room: 0, until: later });
    expect(decide([news, shop], [ramp('narrow', { room: 0 }), wide])).toEqual([
      'held by wide',
      'held by wide',
    ]);
  });

  it('that one ramp holds takes no room of another', () => {
    const wide = ramp('wide', { domain: null, room: 1 });
    expect(decide([news, shop], [ramp('narrow', { room: 0 }), wide])).toEqual([
      'held by narrow',
      ['wide'],
    ]);
  });

  it('waits for a ramp that does not run', () => {
    expect(decide([news], [ramp('paused', { room: null })])).toEqual(['held by paused']);
  });

  it('goes to the next provider if each full ramp says so', () => {
    const next = { over: 'next', room: 0 };
    const isPassedOver = (ramps: readonly OpenRamp[], mail: RampedMail = news) =>
      new RampRooms(ramps).isPassedOver(mail);
    expect(isPassedOver([ramp('a', next)])).toBe(true);
    expect(isPassedOver([ramp('a', next), ramp('b')])).toBe(true);
    expect(isPassedOver([ramp('a', next), ramp('b', { room: 0 })])).toBe(false);
    expect(isPassedOver([ramp('a', { over: 'next' })])).toBe(false);
    expect(isPassedOver([ramp('a', next)], { ...news, isTransactional: true })).toBe(false);
  });
});
