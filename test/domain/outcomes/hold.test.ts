import { describe, expect, it } from 'vitest';
import { dateOf, holdOf } from '../../../domain/outcomes/hold.ts';

const now = new Date('2026-11-23T12:00:00.000Z');
const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
const mail = {
  status: 'PENDING',
  scheduled_for: null,
  retry_at: null,
  hold_reason: null,
  held_until: null,
};

describe('what holds a message back', () => {
  it.each([
    ['nothing', {}, null],
    ['its time', { scheduled_for: at(5) }, { reason: 'schedule', until: at(5) }],
    ['a time that has come', { scheduled_for: at(0) }, null],
    ['the pause after an attempt', { retry_at: at(1) }, { reason: 'retry', until: at(1) }],
    [
      'the last of several',
      { scheduled_for: at(1), retry_at: at(2) },
      { reason: 'retry', until: at(2) },
    ],
    [
      'a later time',
      { scheduled_for: at(3), retry_at: at(2) },
      { reason: 'schedule', until: at(3) },
    ],
    [
      'what of the send policy held it back',
      { scheduled_for: at(1), hold_reason: 'frequency_cap', held_until: at(2) },
      { reason: 'frequency_cap', until: at(2) },
    ],
    ['nothing after a hold', { hold_reason: 'quiet_hours', held_until: at(-1) }, null],
    ['nothing, once it is being sent', { status: 'SENDING', scheduled_for: at(5) }, null],
  ])('is %s', (_, given, hold) => {
    expect(holdOf({ ...mail, ...given }, now)).toEqual(hold);
  });
});

it('dates mail that was to wait when it is handed over, other mail when it was accepted', () => {
  expect(dateOf({ created_at: at(-60), scheduled_for: at(-1), held_until: null }, now)).toEqual(
    now,
  );
  expect(dateOf({ created_at: at(-60), scheduled_for: null, held_until: at(-1) }, now)).toEqual(
    now,
  );
  expect(dateOf({ created_at: at(-60), scheduled_for: null, held_until: null }, now)).toEqual(
    at(-60),
  );
});
