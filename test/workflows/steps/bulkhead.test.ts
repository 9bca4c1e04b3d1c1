import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBulkhead } from '../../../activities/steps/bulkhead.ts';

/** Takes all slots that a project gets. Returns functions that release them. */
function fill(bulkhead: ReturnType<typeof createBulkhead>, project: string) {
  const taken: (() => void)[] = [];
  for (;;) {
    const slot = bulkhead.enter(project);
    if ('retryMs' in slot) return { taken, retryMs: slot.retryMs };
    taken.push(() => slot.leave());
  }
}

describe('the slots of a worker', () => {
  it('are left to others: half beside one that hangs, a third beside two', () => {
    const bulkhead = createBulkhead(12);
    expect(fill(bulkhead, 'first').taken).toHaveLength(6);
    expect(fill(bulkhead, 'second').taken).toHaveLength(3);
    expect(fill(bulkhead, 'third').taken).toHaveLength(2);
    expect(fill(bulkhead, 'fourth').taken).toHaveLength(1);
    expect(fill(bulkhead, 'fifth').taken).toHaveLength(0);
  });

  it('can be one', () => {
    const bulkhead = createBulkhead(1);
    const { taken } = fill(bulkhead, 'first');
    expect(taken).toHaveLength(1);
    expect(fill(bulkhead, 'second').taken).toHaveLength(0);
    taken[0]?.();
    expect(fill(bulkhead, 'second').taken).toHaveLength(1);
  });

  it('are never more than there are, and free for who has none while any is free', () => {
    const step = fc.record({ project: fc.nat(4), isLeaving: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (slots, steps) => {
        const bulkhead = createBulkhead(slots);
        const taken = new Map<number, { leave(): void }[]>();
        const used = () => [...taken.values()].flat().length;
        for (const { project, isLeaving } of steps) {
          const own = taken.get(project) ?? [];
          taken.set(project, own);
          if (isLeaving) {
            own.pop()?.leave();
            continue;
          }
          const free = slots - used();
          const slot = bulkhead.enter(String(project));
          expect('leave' in slot).toBe(own.length < free);
          if ('leave' in slot) own.push(slot);
        }
        expect(used()).toBeLessThanOrEqual(slots);
      }),
    );
  });
});

describe('who is refused a slot', () => {
  it('returns when its turn is likely to come', () => {
    let now = 0;
    const bulkhead = createBulkhead(20, () => now);
    const { taken } = fill(bulkhead, 'slow');
    // Calls of ten seconds, ten at once, so one ends each second.
    for (let round = 0; round < 20; round += 1) {
      now += 10_000;
      for (const leave of taken.splice(0, taken.length - 1)) leave();
      taken.push(...fill(bulkhead, 'slow').taken);
    }
    const retries = Array.from({ length: 30 }, () => {
      const slot = bulkhead.enter('slow');
      return 'retryMs' in slot ? slot.retryMs : 0;
    });
    const pauses = retries.slice(1).map((ms, index) => ms - retries[index]!);
    for (const pause of pauses) expect(pause).toBeGreaterThan(900);
    for (const pause of pauses) expect(pause).toBeLessThan(1_100);
  });

  it('is asked to wait longer the longer those before it hang', () => {
    let now = 0;
    const bulkhead = createBulkhead(20, () => now);
    const { taken } = fill(bulkhead, 'hangs');
    const pause = () => {
      const [first, second] = [bulkhead.enter('hangs'), bulkhead.enter('hangs')];
      return 'retryMs' in first && 'retryMs' in second && second.retryMs - first.retryMs;
    };
    for (let turn = 0; turn < 10; turn += 1) bulkhead.enter('hangs');
    expect(pause()).toBe(100);
    now = 5_000;
    expect(pause()).toBe(1_000);
    for (const leave of taken.splice(0, 9)) leave();
    expect(fill(bulkhead, 'hangs').taken).toHaveLength(9);
  });

  it('waits half a second at least and a minute at most', () => {
    const bulkhead = createBulkhead(2, () => 0);
    expect(fill(bulkhead, 'a project').retryMs).toBe(1_000);
    for (let count = 0; count < 100; count += 1) bulkhead.enter('a project');
    expect(bulkhead.enter('a project')).toEqual({ retryMs: 60_000 });
    expect(fill(bulkhead, 'another').taken).toHaveLength(1);
    expect(bulkhead.enter('a third')).toEqual({ retryMs: 500 });
  });
});
