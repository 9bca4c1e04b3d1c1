import { describe, expect, it } from 'vitest';
import { reasonOfOutcome } from '../../../domain/campaign/campaign.ts';
import { campaignOutcomes, type CampaignTally } from '../../../domain/outcomes/tally.ts';
import { outcomeOf, outcomeOfFailure, reasonCodes } from '../../../domain/outcomes/outcome.ts';

const now = new Date('2026-11-25T12:00:00Z');
const later = new Date('2026-11-25T13:00:00Z');
const waiting = {
  status: 'PENDING',
  scheduled_for: null,
  retry_at: null,
  hold_reason: null,
  held_until: null,
  error: null,
  refusal: null,
  campaign_status: 'SENDING',
  is_unsettled: false,
};

describe('the outcome of a message', () => {
  it.each([
    [{}, 'pending', 'queued'],
    [{ status: 'SENDING' }, 'pending', 'queued'],
    [{ status: 'SENDING', is_unsettled: true }, 'unknown', 'delivery_unsettled'],
    [{ campaign_status: 'PAUSED' }, 'pending', 'campaign_paused'],
    [{ campaign_status: 'PAUSED', is_unsettled: true }, 'unknown', 'delivery_unsettled'],
    [{ scheduled_for: later }, 'pending', 'schedule'],
    [{ scheduled_for: now }, 'pending', 'queued'],
    [{ retry_at: later, error: '450 Later.' }, 'pending', 'retry'],
    [{ held_until: later, hold_reason: 'quiet_hours' }, 'held', 'quiet_hours'],
    [{ held_until: later, hold_reason: 'frequency_cap' }, 'held', 'frequency_cap'],
    [
      { held_until: later, hold_reason: 'quiet_hours', campaign_status: 'PAUSED' },
      'pending',
      'campaign_paused',
    ],
    [{ status: 'FAILED', error: 'frequency_cap' }, 'withheld', 'frequency_cap'],
    [{ status: 'FAILED', error: 'delivery_unknown' }, 'unknown', 'delivery_unknown'],
    // The provider's text may be any word.
    [
      { status: 'FAILED', error: 'cancelled', refusal: 'provider_refused' },
      'failed',
      'provider_refused',
    ],
    [
      { status: 'FAILED', error: '550 No', refusal: 'recipient_refused' },
      'failed',
      'recipient_refused',
    ],
    [{ status: 'BOUNCED', error: '550 No' }, 'sent', null],
    [{ status: 'DELIVERED', held_until: later, hold_reason: 'quiet_hours' }, 'sent', null],
  ])('of %o is %s, %s', (given, outcome, reasonCode) => {
    expect(outcomeOf({ ...waiting, ...given }, now)).toEqual({ outcome, reasonCode });
  });

  it('of each code that a failed message has is that of the code', () => {
    for (const outcome of ['failed', 'withheld'] as const) {
      for (const code of reasonCodes[outcome]) {
        expect(outcomeOfFailure(code)).toEqual({ outcome, reasonCode: code });
        expect(reasonOfOutcome(outcome)).toBe(outcome === 'failed' ? 'refused' : 'withheld');
      }
    }
  });
});

describe('the outcomes of a campaign', () => {
  const tally: CampaignTally = {
    status: 'SENDING',
    totalRecipients: 100,
    made: 90,
    sent: 20,
    failures: [
      { code: 'recipient_refused', count: 3, sent: 0 },
      { code: 'provider_refused', count: 2, sent: 1 },
      { code: 'late', count: 5, sent: 0 },
      { code: 'delivery_unknown', count: 1, sent: 0 },
    ],
    held: { quiet_hours: 4, frequency_cap: 2, warm_up: 0, operator: 0 },
    unsettled: 1,
    scheduled: 10,
    retrying: 7,
    testing: null,
  };

  it.each(['SENDING', 'PAUSED', 'CANCELLED'])('add up while it is %s', (status) => {
    const { outcomes, reasons } = campaignOutcomes({ ...tally, status });
    const sum = (numbers: object) => Object.values(numbers).reduce((one, other) => one + other, 0);
    expect(sum(outcomes)).toBe(100);
    expect(sum(reasons)).toBe(100 - outcomes.sent);
    // One accepted message was rejected afterwards.
    expect(outcomes).toMatchObject({ sent: 19, failed: 5, unknown: 2 });
    expect(outcomes.held).toBe(status === 'PAUSED' ? 0 : 6);
    expect(outcomes.withheld).toBe(status === 'CANCELLED' ? 15 : 5);
  });
});
