import { describe, expect, it } from 'vitest';
import { type Candidate, chooseDue, type Unit } from '../../../domain/subscription/choice.ts';
import {
  batchBody,
  batchFit,
  eventOfDelivery,
  requestBody,
  secretNamesOf,
  withSecrets,
} from '../../../domain/subscription/request.ts';
import { sampleEvent } from '../../../domain/subscription/sample.ts';
import {
  askedWaitMs,
  holdMs,
  probeWaitMs,
  type RequestOutcome,
  retryWaitMs,
  withAttempt,
} from '../../../domain/subscription/schedule.ts';

const now = new Date('2026-11-21T08:00:00Z');
const outcome = (statusCode: number | null, retryAfter: string | null = null): RequestOutcome => ({
  statusCode,
  error: statusCode === null ? 'timeout' : null,
  retryAfter,
  text: null,
});

describe('the schedule', () => {
  const given = { retrySeconds: [5, 30], now, random: 0 };

  it('waits as it says, and a tenth more at most', () => {
    expect(retryWaitMs(1, outcome(500), given)).toBe(5_000);
    expect(retryWaitMs(2, outcome(null), { ...given, random: 1 })).toBe(33_000);
    expect(retryWaitMs(3, outcome(500), given)).toBeNull();
    expect(retryWaitMs(1, outcome(410), given)).toBeNull();
  });

  it('is lengthened by Retry-After, to an hour at most, and never shortened', () => {
    expect(retryWaitMs(1, outcome(500, '60'), given)).toBe(60_000);
    expect(retryWaitMs(2, outcome(500, '1'), given)).toBe(30_000);
    expect(retryWaitMs(1, outcome(500, '86400'), given)).toBe(3_600_000);
    expect(askedWaitMs(outcome(500, 'Sat, 21 Nov 2026 08:01:00 GMT'), now)).toBe(60_000);
    expect(askedWaitMs(outcome(500, 'Sat, 21 Nov 2026 07:00:00 GMT'), now)).toBe(0);
  });

  it('holds the whole subscription for 429 and 503 alone', () => {
    expect(holdMs(outcome(429, '60'), now)).toBe(60_000);
    expect(holdMs(outcome(503, '60'), now)).toBe(60_000);
    expect(holdMs(outcome(500, '60'), now)).toBe(0);
  });

  it('probes after its first four waits, the last one again and again', () => {
    const by = { retrySeconds: [5, 30, 120, 600, 3_600], now, random: 0 };
    const waits = [0, 1, 2, 3, 4, 50].map((failed) => probeWaitMs(failed, outcome(500), by));
    expect(waits).toEqual([5_000, 30_000, 120_000, 600_000, 600_000, 600_000]);
    expect(probeWaitMs(7, outcome(500), given)).toBe(30_000);
    expect(probeWaitMs(0, outcome(500, '60'), given)).toBe(60_000);
  });

  it('keeps the last 20 attempts', () => {
    const attempt = (ms: number) => ({ at: '', statusCode: 500, error: null, ms });
    const many = Array.from({ length: 20 }, (_, ms) => attempt(ms));
    expect(withAttempt(many, attempt(20)).map(({ ms }) => ms)).toEqual(
      Array.from({ length: 20 }, (_, ms) => ms + 1),
    );
  });
});

describe('the choice', () => {
  let number = 0;
  const one = (contactId: string | null, isRetry = false): Candidate => {
    number += 1;
    return { eventId: `e${number}`, contactId, isRetry, batchId: null, isAlone: false };
  };
  const sent = (...deliveries: Candidate[]): Unit => ({
    deliveries,
    isRetry: deliveries.some(({ isRetry }) => isRetry),
    batchId: null,
  });
  const free = (places: number, max = 1) => ({ places, max });
  const units = (...given: Parameters<typeof chooseDue>) =>
    chooseDue(...given).map(({ deliveries }) => deliveries);

  it('has one of a contact under way', () => {
    const [first, second, other] = [one('a'), one('a'), one('b')];
    expect(units([first, second, other], [], free(10))).toEqual([[first], [other]]);
    expect(units([second, other], [sent(first)], free(9))).toEqual([[other]]);
    expect(units([first], [sent(first)], free(9))).toEqual([]);
  });

  it('does not count events without a contact as of one', () => {
    const many = [one(null), one(null)];
    expect(units(many, [], free(10))).toEqual(many.map((each) => [each]));
  });

  it('gives retries five places while new ones wait, and all that are left over', () => {
    const retries = Array.from({ length: 10 }, (_, at) => one(`r${at}`, true));
    const fresh = Array.from({ length: 10 }, (_, at) => one(`f${at}`));
    const chosen = chooseDue([...retries, ...fresh], [], free(10));
    expect(chosen.filter(({ isRetry }) => isRetry)).toHaveLength(5);
    expect(chosen).toHaveLength(10);
    const five = retries.slice(0, 5).map((each) => sent(each));
    expect(units([...retries, ...fresh], five, free(5))).toEqual(
      fresh.slice(0, 5).map((each) => [each]),
    );
    expect(chooseDue([...retries, ...fresh.slice(0, 2)], [], free(10))).toHaveLength(10);
    expect(units(retries, [], free(10))).toEqual(retries.map((each) => [each]));
    expect(chooseDue(retries, [], free(0))).toEqual([]);
  });

  it('fills batches in order, all of a contact in one of them', () => {
    const [a1, b1, a2, c1, b2] = [one('a'), one('b'), one('a'), one('c'), one('b')];
    expect(units([a1, b1, a2, c1, b2], [], free(10, 3))).toEqual([[a1, b1, a2], [c1]]);
    expect(units([a1, b1, a2, c1, b2], [], free(1, 2))).toEqual([[a1, b1]]);
    expect(units([a1, b1, a2, c1, b2], [sent(one('b'))], free(9, 100))).toEqual([[a1, a2, c1]]);
  });

  it('sends a batch that has failed as it was, and what was taken apart alone', () => {
    const again = (contact: string, batchId: string | null): Candidate => ({
      ...one(contact, true),
      batchId,
      isAlone: batchId === null,
    });
    const [a1, b1, c1, d1] = [again('a', 'x'), again('b', 'x'), again('c', null), one('d')];
    const [a2, c2] = [one('a'), one('c')];
    const all = [a1, b1, c1, d1, a2, c2];
    expect(chooseDue(all, [], free(10, 100))).toMatchObject([
      { deliveries: [a1, b1], batchId: 'x' },
      { deliveries: [c1], batchId: null },
      { deliveries: [d1], batchId: null },
    ]);
    // The batch waits while one of its contacts is busy, and so do later ones of the other
    // contacts.
    expect(units(all, [sent(one('b'))], free(9, 100))).toEqual([[c1], [d1]]);
  });
});

describe('the request', () => {
  it('names its event and its subscription', () => {
    expect(eventOfDelivery('e_s', 's')).toBe('e');
    for (const other of ['e', 'e_x', 'e_s_s', '']) expect(eventOfDelivery(other, 's')).toBeNull();
  });

  it('of a batch has as many events as its bytes allow, and one at least', () => {
    const items = ['"ä"', '"b"', '"c"'];
    const bytes = (count: number) => Buffer.byteLength(batchBody(items.slice(0, count)));
    for (const count of [1, 2, 3]) {
      expect(batchFit(items, bytes(count))).toBe(count);
      expect(batchFit(items, bytes(count) - 1)).toBe(Math.max(1, count - 1));
    }
    expect(JSON.parse(batchBody(items))).toEqual({ type: 'batch', events: ['ä', 'b', 'c'] });
  });

  it('has secrets in place of their names', () => {
    const headers = { A: 'Bearer {{secret.ONE}} {{ secret.TWO }}', B: '{{secret.ONE}}' };
    expect(secretNamesOf(Object.values(headers))).toEqual(['ONE', 'TWO']);
    expect(withSecrets(headers, new Map([['ONE', '1']]))).toEqual({ A: 'Bearer 1 ', B: '1' });
  });

  it('of a test says so, with what events of the system always have', () => {
    const ids = { eventId: 'e', contactId: 'c', emailId: 'm', projectId: 'p', now };
    const names = ['email.sent', 'email.delivery', 'email.open', 'email.click', 'email.bounce'];
    for (const name of [...names, 'email.complaint', 'email.received']) {
      const { event, contact } = sampleEvent(name, ids);
      expect(JSON.parse(requestBody(event, contact, true))).toMatchObject({
        test: true,
        type: name,
        timestamp: now.toISOString(),
        data: { emailId: 'm', contact: { id: 'c', email: 'sample@example.com' } },
      });
      expect(event.data).not.toEqual({});
    }
    expect(sampleEvent('segment.x.entry', ids).event.data).toHaveProperty('segmentName');
    expect(sampleEvent('contact.subscribed', ids).event.data).toHaveProperty('source');
    expect(sampleEvent('anything', ids).event).toMatchObject({ data: {}, emailId: null });
  });
});
