import { describe, expect, it } from 'vitest';
import { chooseEffects, type WaitCandidate } from '../../../domain/workflow/event-effects.ts';
import { closingReason, digestResult } from '../../../domain/workflow/steps/digest.ts';

describe('an event that digests may take', () => {
  const at = new Date(0);
  const contact = {
    email: 'a@x.example',
    subscribed: true,
    createdAt: at,
    updatedAt: at,
    data: {},
  };
  const events = new Map([['e', { data: { n: 1, order: 'A' }, contact }]]);
  const digest = (id: string, more: object = {}, of: object = {}): WaitCandidate => ({
    id,
    eventId: 'e',
    where: null,
    context: null,
    digest: {
      workflowId: 'w',
      stepId: 's',
      isOfTrigger: true,
      key: null,
      executionKey: null,
      ...of,
    },
    ...more,
  });
  const start = { workflowId: 'w', eventId: 'e', where: null, executionKey: null };
  const chosen = (waits: WaitCandidate[]) => {
    const { digests, starts } = chooseEffects({ waits, starts: [start] }, events);
    return [digests.map(({ id }) => id), starts.length];
  };

  it('is taken by the first of a step, and by each step, and starts nothing then', () => {
    const other = digest('other step', {}, { stepId: 't' });
    expect(chosen([digest('first'), digest('second'), other])).toEqual([
      ['first', 'other step'],
      0,
    ]);
    expect(chosen([])).toEqual([[], 1]);
  });

  it('is taken by none whose conditions or key it does not meet', () => {
    const where = [{ field: 'event.n', operator: 'greaterThan', value: 1 } as const];
    const ofKey = (key: string | null) => digest('keyed', {}, { executionKey: 'event.order', key });
    expect(chosen([digest('none', { where })])).toEqual([[], 1]);
    expect(chosen([ofKey('B')])).toEqual([[], 1]);
    expect(chosen([ofKey(null)])).toEqual([[], 1]);
    expect(chosen([ofKey('A')])).toEqual([['keyed'], 0]);
  });

  it('starts another workflow all the same', () => {
    expect(chosen([digest('first', {}, { workflowId: 'another' })])).toEqual([['first'], 1]);
  });
});

describe('a digest', () => {
  const open = { max: 3, isFirst: false };

  it('closes by its first event, at its maximum, or at its end', () => {
    expect(closingReason(open, { count: 2, isOver: false })).toBeNull();
    expect(closingReason(open, { count: 4, isOver: true })).toBe('max');
    expect(closingReason(open, { count: 0, isOver: true })).toBe('time');
    expect(closingReason({ max: null, isFirst: true }, { count: 1, isOver: false })).toBe('first');
  });

  const at = new Date('2027-01-01T10:00:00Z');
  const event = (index: number, data: object | null = null) => ({
    id: `${index}`,
    name: 'commented',
    at: new Date(at.getTime() + index),
    data: data as Record<string, unknown> | null,
  });
  const closed = (events: ReturnType<typeof event>[], count = events.length) =>
    digestResult({
      eventName: 'commented',
      count,
      closedBy: 'time',
      closedAt: at,
      firstAt: events[0]?.at ?? null,
      lastAt: events.at(-1)?.at ?? null,
      events,
    });

  it('leaves its events in the context, with those left out counted', () => {
    const { output, context } = closed([event(0, { n: 1 }), event(1)], 3);
    expect(output).toEqual({
      eventName: 'commented',
      count: 3,
      closedBy: 'time',
      closedAt: '2027-01-01T10:00:00.000Z',
      firstAt: '2027-01-01T10:00:00.000Z',
      lastAt: '2027-01-01T10:00:00.001Z',
    });
    expect(context.digest).toEqual({
      count: 3,
      events: [
        { id: '0', name: 'commented', at: '2027-01-01T10:00:00.000Z', data: { n: 1 } },
        { id: '1', name: 'commented', at: '2027-01-01T10:00:00.001Z', data: null },
      ],
      truncated: true,
    });
  });

  it('leaves at most 100 events and 32 KB of them', () => {
    const many = Array.from({ length: 150 }, (_, index) => event(index));
    expect(closed(many).context.digest).toMatchObject({ count: 150, truncated: true });
    expect(closed(many).context.digest.events.length).toBe(100);
    expect(closed(many.slice(0, 100)).context.digest.truncated).toBe(false);
    const large = Array.from({ length: 20 }, (_, index) =>
      event(index, { text: 'ü'.repeat(1000) }),
    );
    const { events, truncated } = closed(large).context.digest;
    expect([events.length, truncated]).toEqual([15, true]);
    expect(Buffer.byteLength(JSON.stringify(events))).toBeLessThanOrEqual(32 * 1024);
    expect(closed([event(0, { text: 'x'.repeat(40_000) })]).context.digest.events).toEqual([]);
  });

  it('without events leaves none', () => {
    expect(closed([])).toMatchObject({
      output: { count: 0, firstAt: null, lastAt: null },
      context: { digest: { count: 0, events: [], truncated: false } },
    });
  });
});
