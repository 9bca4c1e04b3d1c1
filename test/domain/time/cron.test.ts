import { describe, expect, it } from 'vitest';
import { nextInstants, parseCron, plannedInstants } from '../../../domain/time/cron.ts';

function next(cron: string, timeZone: string, after: string, count = 1) {
  return plannedInstants({ cron, timeZone }, new Date(after), count).map((at) => at.toISOString());
}

function fault(text: string) {
  const parsed = parseCron(text);
  return 'code' in parsed ? parsed.code : null;
}

describe('a cron text', () => {
  it.each([
    '0 9 * * *',
    '  0   9 * *  mon-fri ',
    '*/15 * * * *',
    '0,15,30,45 0-23 * JAN-dec 7',
    '5 4 * * 5-7',
    '0 0 1-31/2 * *',
    '0 0 29 2 *',
    '0 9 * * SUN-Sat',
    '00 09 01 01 *',
  ])('%s is read', (text) => {
    expect(fault(text)).toBeNull();
  });

  it.each([
    ['', 'invalid_string'],
    ['@daily', 'invalid_string'],
    ['0 9 * *', 'invalid_string'],
    ['0 0 9 * * *', 'invalid_string'],
    ['0\t9 * * *', 'invalid_string'],
    ['60 9 * * *', 'invalid_string'],
    ['0 24 * * *', 'invalid_string'],
    ['0 9 0 * *', 'invalid_string'],
    ['0 9 * 13 *', 'invalid_string'],
    ['0 9 * * 8', 'invalid_string'],
    ['0 9 L * *', 'invalid_string'],
    ['0 9 ? * *', 'invalid_string'],
    ['0 9 * * fri-sun', 'invalid_string'],
    ['0 9 * * mon#1', 'invalid_string'],
    ['0 5/2 * * *', 'invalid_string'],
    ['*/0 * * * *', 'invalid_string'],
    ['0 9,, * * *', 'invalid_string'],
    ['0 0 1 * 1', 'invalid_string'],
    ['0 0 */2 * 1', 'invalid_string'],
    ['0 0 31 2 *', 'custom'],
    ['0 0 30,31 feb *', 'custom'],
    ['*/10 * * * *', 'too_small'],
    ['* * * * *', 'too_small'],
    ['0,55 0,23 * * *', 'too_small'],
    [`${'0,'.repeat(50)}0 9 * * *`, 'too_big'],
  ])('%s is refused: %s', (text, code) => {
    expect(fault(text)).toBe(code);
  });

  it.each([
    ['99 9 * * *', 'The minute "99" is not valid. It can be 0 to 59;'],
    ['0 9 * 13 *', 'The month "13" is not valid. It can be 1 to 12, or jan to dec;'],
    ['0 9 * *', 'Must have five parts, not 4:'],
  ])('%s names what is wrong', (text, beginning) => {
    expect(parseCron(text)).toMatchObject({ message: expect.stringContaining(beginning) });
  });
});

describe('the planned instants', () => {
  it('are strictly later, by the days of the zone', () => {
    expect(next('0 9 * * mon', 'UTC', '2026-11-23T09:00:00.000Z', 2)).toEqual([
      '2026-11-30T09:00:00.000Z',
      '2026-12-07T09:00:00.000Z',
    ]);
    expect(next('30 0 24 11 *', 'Asia/Tokyo', '2026-11-23T00:00:00.000Z')).toEqual([
      '2026-11-23T15:30:00.000Z',
    ]);
    expect(next('0 9 * * 0', 'UTC', '2026-11-23T00:00:00.000Z')).toEqual(
      next('0 9 * * 7', 'UTC', '2026-11-23T00:00:00.000Z'),
    );
    expect(next('0 0 29 2 *', 'UTC', '2097-01-01T00:00:00.000Z')).toEqual([
      '2104-02-29T00:00:00.000Z',
    ]);
  });

  it('leave no time out in a gap, and count one that comes twice once', () => {
    expect(next('30 2 28 3 *', 'Europe/Berlin', '2026-11-23T00:00:00.000Z')).toEqual([
      '2027-03-28T01:00:00.000Z',
    ]);
    expect(next('30 2 31 10 *', 'Europe/Berlin', '2026-11-23T00:00:00.000Z')).toEqual([
      '2027-10-31T00:30:00.000Z',
    ]);
    const first = '2027-10-31T00:30:00.000Z';
    expect(next('30 2 * * *', 'Europe/Berlin', first)).toEqual(['2027-11-01T01:30:00.000Z']);
  });

  it('are one where a gap makes them one', () => {
    const cron = parseCron('0,20,40 2,3 28 3 *');
    if ('code' in cron) throw new Error(cron.message);
    const found = nextInstants(cron, 'Europe/Berlin', new Date('2027-03-01T00:00:00Z'), 3);
    expect(found.map((at) => at.toISOString())).toEqual([
      '2027-03-28T01:00:00.000Z',
      '2027-03-28T01:20:00.000Z',
      '2027-03-28T01:40:00.000Z',
    ]);
  });

  it('are none without a cron or a zone', () => {
    expect(plannedInstants({ timeZone: 'UTC' }, new Date(), 5)).toEqual([]);
    expect(plannedInstants({ cron: '0 9 * * *' }, new Date(), 5)).toEqual([]);
  });
});
