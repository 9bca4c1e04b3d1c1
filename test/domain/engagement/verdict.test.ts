import { describe, expect, it } from 'vitest';
import { type Engagement, judgeMail } from '../../../domain/engagement/verdict.ts';
import { randomOf } from '../../support/random.ts';

const delivered = new Date('2026-11-27T08:00:00Z');
const request = (seconds: number, given: Partial<Engagement> = {}): Engagement => ({
  kind: 'click',
  at: new Date(delivered.getTime() + seconds * 1000),
  client: 'a',
  signs: [],
  linkId: 'one',
  linkCount: 1,
  ...given,
});
const rulesOf = (...all: Engagement[]) =>
  judgeMail(all, delivered).map((one) => one && (one.rule ?? one.verdict));

describe('the verdict on a click', () => {
  it('is a machine’s less than two seconds after the delivery', () => {
    expect(rulesOf(request(1.999), request(2))).toEqual(['too_fast', 'human']);
  });

  it('is a machine’s up to a minute from a HEAD request of the same client', () => {
    const head = request(100, { kind: 'head' });
    expect(rulesOf(head, request(160), request(160.001), request(40), request(39.999))).toEqual([
      null,
      'head_request',
      'human',
      'head_request',
      'human',
    ]);
    expect(rulesOf(head, request(101, { client: 'b' }))).toEqual([null, 'human']);
  });

  it('does not match requests without a client', () => {
    const head = request(100, { kind: 'head', client: null });
    expect(rulesOf(head, request(100, { client: null, signs: ['no_agent'] }))).toEqual([
      null,
      'no_agent',
    ]);
  });

  it('is by the first rule that applies', () => {
    const signs = ['known_agent', 'known_network', 'no_agent'] as const;
    expect(rulesOf(request(1, { signs }))).toEqual(['known_agent']);
    expect(rulesOf(request(1, { signs: ['no_agent'] }))).toEqual(['too_fast']);
  });

  it('counts the acceptance while no delivery is reported, and nothing without both', () => {
    expect(judgeMail([request(1)], null)).toEqual([{ verdict: 'human', rule: null }]);
  });
});

describe('all links within five seconds', () => {
  const click = (seconds: number, linkId: string, linkCount = 3) =>
    request(seconds, { linkId, linkCount, client: linkId });

  it('are a machine’s, also if several clients ask for them', () => {
    expect(rulesOf(click(10, 'one'), click(12, 'two'), click(15, 'three'))).toEqual(
      Array.from({ length: 3 }, () => 'all_links'),
    );
    expect(rulesOf(click(10, 'one'), click(12, 'two'), click(15.001, 'three'))).toEqual(
      Array.from({ length: 3 }, () => 'human'),
    );
  });

  it('count links that are asked for by HEAD', () => {
    const head = request(11, { kind: 'head', linkId: 'two', linkCount: 2, client: 'other' });
    expect(rulesOf(click(10, 'one', 2), head)).toEqual(['all_links', null]);
  });

  it('leave clicks before and after alone, and mails with one link', () => {
    const burst = [click(100, 'one'), click(101, 'two'), click(102, 'three')];
    expect(rulesOf(click(90, 'one'), ...burst, click(110, 'two'))).toEqual([
      'human',
      'all_links',
      'all_links',
      'all_links',
      'human',
    ]);
    expect(rulesOf(click(10, 'one', 1), click(11, 'one', 1))).toEqual(['human', 'human']);
  });
});

describe('the verdict on an open', () => {
  const open = (seconds: number, signs: Engagement['signs'], client = 'a') =>
    request(seconds, { kind: 'open', signs, client, linkId: null, linkCount: 0 });

  it('is a machine’s by a proxy that loads images unread, and by any soon after the delivery', () => {
    expect(rulesOf(open(500, ['prefetcher']), open(9.9, ['proxy']), open(10, ['proxy']))).toEqual([
      'prefetch_proxy',
      'prefetch_proxy',
      'image_proxy',
    ]);
  });

  it('does not need time', () => {
    expect(rulesOf(open(0.1, []))).toEqual(['human']);
  });
});

describe('judging in steps', () => {
  it('finds every machine that is found by judging all at once', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomOf(seed);
      const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
      const all = Array.from({ length: 12 }, () =>
        request(Math.round(random() * 80_000) / 1000, {
          kind: pick(['open', 'click', 'click', 'head'] as const),
          client: pick(['a', 'b', 'c']),
          linkId: pick(['one', 'two', 'three']),
          linkCount: 3,
          signs: pick([[], [], [], ['proxy' as const], ['known_agent' as const]]),
        }),
      );
      const whole = judgeMail(all, delivered);
      const known: Engagement[] = [];
      const machines = new Set<Engagement>();
      for (const one of all.toSorted(() => random() - 0.5)) {
        known.push(one);
        // As the transaction does: only what is near the request that is settled.
        const near = known.filter(({ at }) => Math.abs(at.getTime() - one.at.getTime()) <= 65_000);
        for (const [index, found] of judgeMail(near, delivered).entries())
          if (found?.verdict === 'machine') machines.add(near[index]!);
      }
      expect(machines).toEqual(
        new Set(all.filter((_, index) => whole[index]?.verdict === 'machine')),
      );
    }
  });
});
