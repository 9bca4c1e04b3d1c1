import { describe, expect, it } from 'vitest';
import {
  type Holdout,
  type HoldableMail,
  isHeldOut,
  liftOf,
} from '../../../domain/holdout/holdout.ts';
import { decideSend, type DueMail } from '../../../domain/mail/send-decision.ts';
import { defaultSendPolicy } from '../../../domain/mail/send-policy.ts';
import { weekdays } from '../../../domain/time/zones.ts';

const now = new Date('2026-11-23T12:00:00.000Z');
const contactId = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
const holdoutOf = (given: Partial<Holdout>): Holdout => ({
  percent: 20,
  scope: 'marketing',
  endsAt: null,
  slotOf: () => 0,
  ...given,
});

describe('a hold-out', () => {
  const held = (given: Partial<Holdout>, mail: Partial<HoldableMail> = {}) =>
    isHeldOut({ contact_id: contactId, topic_id: null, ...mail }, holdoutOf(given), now);

  it.each([
    [20, 1_999, true],
    [20, 2_000, false],
    [0.01, 0, true],
    [0.01, 1, false],
    // 10,000 slots times 0.29 percent is 28.999… in floating point.
    [0.29, 28, true],
    [0.29, 29, false],
    [0, 0, false],
  ])('of %s percent holds out slot %i: %s', (percent, slot, expected) => {
    expect(held({ percent, slotOf: () => slot })).toBe(expected);
  });

  it('ends at its end', () => {
    expect(held({ endsAt: new Date(now.getTime() + 1) })).toBe(true);
    expect(held({ endsAt: now })).toBe(false);
  });

  it('concerns only mail of its topics or workflows', () => {
    const [news, welcome] = ['topic-1', 'workflow-1'];
    const ofTopic = { scope: { topicIds: [news] } };
    const ofWorkflow = { scope: { workflowIds: [welcome] } };
    expect([held(ofTopic), held(ofTopic, { topic_id: news })]).toEqual([false, true]);
    expect(held(ofTopic, { topic_id: 'topic-2', workflow_id: welcome })).toBe(false);
    expect([held(ofWorkflow), held(ofWorkflow, { workflow_id: welcome })]).toEqual([false, true]);
    expect(held(ofWorkflow, { topic_id: news, workflow_id: null })).toBe(false);
  });
});

it.each([
  [4, 5, 25],
  [5, 4, -20],
  [4, 0, -100],
  [0, 4, null],
  [0, 0, null],
])('has a lift from %s to %s percent of %s', (heldOut, reached, lift) => {
  expect(liftOf(heldOut, reached)).toBe(lift);
});

describe('mail of a contact that is held out', () => {
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
    contact_id: contactId,
    topic_id: null,
    created_at: now,
    scheduled_for: null,
  };
  const quietHours = { from: '11:00', to: '14:00', days: [...weekdays] };
  const policy = { ...defaultSendPolicy, quietHours, caps: [{ max: 1, perDays: 1 }] };
  const decide = (given: Partial<DueMail>) =>
    decideSend({ ...mail, ...given }, { policy, holdout: holdoutOf({}) }, [now], now);

  it('is not sent, before quiet hours and caps are considered', () => {
    const heldOut = { kind: 'suppress', reason: 'held_out' };
    expect(decide({})).toEqual(heldOut);
    expect(decide({ source_type: 'WORKFLOW' })).toEqual(heldOut);
    expect(decideSend(mail, { policy: null, holdout: holdoutOf({}) }, [], now)).toEqual(heldOut);
  });

  it.each([
    [{ project_disabled: true }, 'project_disabled'],
    [{ sender_gone: true }, 'domain_not_verified'],
    [{ contact_subscribed: false }, 'contact_unsubscribed'],
    [{ topic_left: true }, 'topic_unsubscribed'],
    [{ suppression: { reason: 'manual', scope: 'all' } as const }, 'suppressed'],
  ])('has another reason first: %j', (given, reason) => {
    expect(decide(given)).toEqual({ kind: 'suppress', reason });
  });

  it.each([
    { message_class: 'TRANSACTIONAL' },
    { message_class: 'HEADLESS' },
    { source_type: 'TRANSACTIONAL' },
    { source_type: 'WORKFLOW', to_email: 'team@shop.test' },
  ])('is sent if the send policy does not concern it: %j', (given) => {
    expect(decide(given)).toEqual({ kind: 'send' });
  });
});
