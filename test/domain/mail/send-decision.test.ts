import { describe, expect, it } from 'vitest';
import { capUntil, type DueMail, decideSend } from '../../../domain/mail/send-decision.ts';
import { defaultSendPolicy, type SendPolicy } from '../../../domain/mail/send-policy.ts';
import { weekdays } from '../../../domain/time/zones.ts';

const now = new Date('2026-11-23T12:00:00.000Z');
const hours = (count: number) => new Date(now.getTime() + count * 3_600_000);

const mail: DueMail = {
  source_type: 'CAMPAIGN',
  message_class: 'MARKETING',
  to_email: 'ada@people.test',
  contact_email: 'ada@people.test',
  contact_subscribed: true,
  contact_data: null,
  project_disabled: false,
  sender_gone: false,
  contact_gone: false,
  suppression: null,
  topic_left: false,
  contact_id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  topic_id: null,
  created_at: now,
  scheduled_for: null,
};
const quiet = { quietHours: { from: '11:00', to: '14:00', days: [...weekdays] } };
const full = { caps: [{ max: 1, perDays: 1 }] };
const policyOf = (given: Partial<SendPolicy>): SendPolicy => ({ ...defaultSendPolicy, ...given });
const decide = (given: Partial<DueMail>, policy: Partial<SendPolicy>, counted = [hours(-1)]) =>
  decideSend({ ...mail, ...given }, { policy: policyOf(policy), holdout: null }, counted, now);

const heldQuiet = { kind: 'hold', reason: 'quiet_hours', until: hours(2) };
const withheld = (reason: string) => ({ kind: 'suppress', reason });

describe('of all that is against a message', () => {
  it.each([
    ['a disabled project', { project_disabled: true, sender_gone: true }, 'project_disabled'],
    [
      'a sender that is gone',
      { sender_gone: true, contact_subscribed: false },
      'domain_not_verified',
    ],
    [
      'a contact that has opted out',
      { contact_subscribed: false, topic_left: true },
      'contact_unsubscribed',
    ],
    ['a topic that the contact has left', { topic_left: true }, 'topic_unsubscribed'],
  ])('%s goes before the policy', (_, given, reason) => {
    expect(decide(given, { ...quiet, ...full })).toEqual(withheld(reason));
  });

  it('quiet hours go before caps', () => {
    expect(decide({}, { ...quiet, ...full })).toEqual(heldQuiet);
    expect(decide({}, full)).toEqual(withheld('frequency_cap'));
    expect(decide({}, {})).toEqual({ kind: 'send' });
    expect(decideSend(mail, { policy: null, holdout: null }, [], now)).toEqual({ kind: 'send' });
  });
});

it('suppresses a confirmation mail after the end of its request, and after a complaint', () => {
  const asks = { source_type: 'TRANSACTIONAL', message_class: 'TRANSACTIONAL' };
  const entry = (reason: 'complaint' | 'manual' | 'erased') => ({
    suppression: { reason, scope: 'marketing' as const },
  });
  expect(decide({ ...asks, opt_in_state: 'expired' }, {})).toEqual(withheld('cancelled'));
  expect(decide({ ...asks, ...entry('complaint'), opt_in_state: 'pending' }, {})).toEqual(
    withheld('suppressed'),
  );
  expect(decide({ ...asks, ...entry('manual'), opt_in_state: 'pending' }, {})).toEqual(
    withheld('suppressed'),
  );
  expect(decide({ ...asks, ...entry('erased'), opt_in_state: 'pending' }, {}).kind).toBe('send');
  expect(decide({ ...asks, ...entry('manual') }, {}).kind).toBe('send');
});

it('concerns marketing mail of campaigns and steps to the contact itself', () => {
  const workflow = { source_type: 'WORKFLOW' };
  expect(decide(workflow, quiet)).toEqual(heldQuiet);
  for (const given of [
    { message_class: 'TRANSACTIONAL' },
    { message_class: 'HEADLESS' },
    { source_type: 'TRANSACTIONAL' },
    { ...workflow, to_email: 'team@shop.test' },
  ]) {
    expect(decide(given, { ...quiet, ...full })).toEqual({ kind: 'send' });
  }
});

it("is judged in the contact's zone", () => {
  const at = (timeZone: unknown) => decide({ contact_data: { timeZone } }, quiet);
  expect(at('Etc/GMT-1')).toEqual({ ...heldQuiet, until: hours(1) });
  expect(at('Etc/GMT-6')).toEqual({ kind: 'send' });
  // An invalid time zone is replaced by the project's.
  expect(at('nonsense')).toEqual(heldQuiet);
  expect(at(7)).toEqual(heldQuiet);
});

describe('caps', () => {
  it('have room when the mail that fills them is older than their days', () => {
    const until = (counted: number[], ...caps: [number, number][]) =>
      capUntil(
        caps.map(([max, perDays]) => ({ max, perDays })),
        counted.map(hours),
        now,
      );
    expect(until([], [1, 1])).toBe(null);
    expect(until([-23], [1, 1])).toEqual(hours(1));
    expect(until([-24], [1, 1])).toBe(null);
    expect(until([-1, -23], [2, 1])).toEqual(hours(1));
    expect(until([-1, -25], [2, 1])).toBe(null);
    // More than the cap allows, because they are older than the cap.
    expect(until([-1, -2, -3], [1, 1])).toEqual(hours(23));
    // All caps hold the mail.
    expect(until([-1, -30], [1, 1], [2, 7])).toEqual(hours(7 * 24 - 30));
  });

  it('that delay hold a message back for 30 days after it was first due', () => {
    const delay = { ...full, onCap: 'delay' as const };
    expect(decide({}, delay)).toEqual({ kind: 'hold', reason: 'frequency_cap', until: hours(23) });
    const old = { created_at: hours(-29.5 * 24) };
    expect(decide(old, delay)).toEqual(withheld('frequency_cap'));
    expect(decide({ ...old, scheduled_for: hours(-1) }, delay)).toMatchObject({ kind: 'hold' });
  });
});
