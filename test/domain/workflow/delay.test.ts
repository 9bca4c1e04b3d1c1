import { describe, expect, it } from 'vitest';
import { delayEnd, type DelayScope, fixedDelay } from '../../../domain/workflow/steps/delay.ts';
import type { StepConfig } from '../../../domain/workflow/steps/registry.ts';

// A Monday.
const beganAt = new Date('2026-11-23T10:00:00.000Z');

function end(config: StepConfig<'DELAY'>, given: Partial<DelayScope> & { data?: object } = {}) {
  const { data = {}, ...scope } = given;
  return delayEnd(config, {
    beganAt,
    now: beganAt,
    contact: {
      email: 'ada@people.test',
      subscribed: true,
      createdAt: new Date('2026-11-23T09:00:00.000Z'),
      updatedAt: beganAt,
      data: { ...data },
    },
    context: null,
    zones: { timeZone: 'Europe/Berlin', contactTimeZoneField: 'data.timeZone' },
    ...scope,
  });
}

const rest = (output: object) => ({ kind: 'rest', output });

describe('a delay of a length', () => {
  it('is over that long after its beginning', () => {
    const config = { amount: 2, unit: 'days' } as const;
    const output = { delayAmount: 2, delayUnit: 'days' };
    expect(fixedDelay(config)).toEqual({ ms: 172_800_000, output });
    const resumeAt = '2026-11-25T10:00:00.000Z';
    expect(end(config)).toEqual({
      kind: 'rest',
      until: new Date(resumeAt),
      output: { ...output, resumeAt },
    });
  });
});

describe('a delay until a time of day', () => {
  const all = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

  it('goes by the clock of the contact, else of the project, else of the zone it names', () => {
    const until = { time: '12:00' };
    expect(end({ until }, { data: { timeZone: 'Asia/Tokyo' } })).toMatchObject(
      rest({
        untilTime: '12:00',
        untilDays: all,
        timeZone: 'Asia/Tokyo',
        resumeAt: '2026-11-24T03:00:00.000Z',
      }),
    );
    expect(end({ until }, { data: { timeZone: 'nonsense' } })).toMatchObject(
      rest({ timeZone: 'Europe/Berlin', resumeAt: '2026-11-23T11:00:00.000Z' }),
    );
    expect(
      end({ until: { ...until, timeZone: 'utc' } }, { data: { timeZone: 'Asia/Tokyo' } }),
    ).toMatchObject(rest({ timeZone: 'utc', resumeAt: '2026-11-23T12:00:00.000Z' }));
  });

  it('is strictly later, on one of its days', () => {
    const at = (until: { time: string; days?: ('mon' | 'wed')[] }) =>
      end({ until: { ...until, timeZone: 'UTC' } }).output['resumeAt'];
    expect(at({ time: '10:00' })).toBe('2026-11-24T10:00:00.000Z');
    expect(at({ time: '10:00:01' })).toBe('2026-11-23T10:00:01.000Z');
    expect(at({ time: '10:00', days: ['wed'] })).toBe('2026-11-25T10:00:00.000Z');
    expect(at({ time: '10:00', days: ['mon'] })).toBe('2026-11-30T10:00:00.000Z');
  });
});

describe('a delay until a date', () => {
  const config = {
    untilField: 'contact.data.due',
    offset: { amount: -1, unit: 'hours' },
    ifPast: 'exit',
  } as const;
  const past = (exitReason: string | null, fieldValue: unknown) => ({
    kind: 'past',
    exitReason,
    output: { untilField: 'contact.data.due', fieldValue, resumeAt: null, past: true },
  });

  it('is over at the date with its offset', () => {
    const due = '2026-11-23T12:00:00+01:00';
    expect(end({ ...config, offset: undefined }, { data: { due } })).toEqual({
      kind: 'rest',
      until: new Date('2026-11-23T11:00:00.000Z'),
      output: {
        untilField: 'contact.data.due',
        fieldValue: due,
        resumeAt: '2026-11-23T11:00:00.000Z',
        past: false,
      },
    });
    expect(end(config, { data: { due: '2026-11-24' } })).toMatchObject({
      until: new Date('2026-11-23T23:00:00.000Z'),
    });
  });

  it.each([
    ['date_past', '2026-11-23T11:00:00Z'],
    ['date_past', '2020-01-01'],
    ['date_missing', 'soon'],
    ['date_missing', 20_270_101],
    ['date_missing', null],
    ['date_missing', '2036-11-21'],
  ])('is %s for %j', (reason, due) => {
    expect(end(config, { data: { due } })).toEqual(past(reason, due));
    expect(end({ ...config, ifPast: undefined }, { data: { due } })).toEqual(past(null, due));
  });

  it('reads the contact or the context', () => {
    expect(end(config)).toEqual(past('date_missing', null));
    const untilField = 'event.trial.ends';
    const context = { trial: { ends: '2026-12-01' } };
    expect(end({ untilField }, { context })).toMatchObject({
      until: new Date('2026-12-01T00:00:00.000Z'),
    });
    const created = {
      untilField: 'contact.createdAt',
      offset: { amount: 2, unit: 'hours' },
    } as const;
    expect(end(created)).toMatchObject(
      rest({ fieldValue: '2026-11-23T09:00:00.000Z', resumeAt: '2026-11-23T11:00:00.000Z' }),
    );
  });
});
