import { describe, expect, it } from 'vitest';
import { exitOf, planMove, type Rest } from '../../../domain/live/move.ts';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import { countsFrom, passOver, placeOf, type StepMark } from '../../../domain/workflow/place.ts';

type Way = [from: string, to: string, branch?: string];

const types: Record<string, Pick<GraphStep, 'type' | 'config'>> = {
  t: { type: 'TRIGGER', config: {} },
  d: { type: 'DELAY', config: { amount: 2, unit: 'days' } },
  w: { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 60 } },
  c: { type: 'CONDITION', config: { field: 'data.x', operator: 'exists' } },
  u: { type: 'UPDATE_CONTACT', config: { updates: { x: 1 } } },
};

/** Builds a graph of these transitions. The first letter of an id is its type. */
function graphOf(ways: Way[], configs: Record<string, Record<string, unknown>> = {}): Graph {
  const ids = [...new Set(ways.flatMap(([from, to]) => [from, to]))];
  return {
    steps: ids.map((id) => {
      const { type, config } = types[id[0]!]!;
      return { id, type, name: id, config: configs[id] ?? config, templateId: null };
    }),
    transitions: ways.map(([fromStepId, toStepId, branch = null], index) => ({
      id: String(index),
      fromStepId,
      toStepId,
      branch,
    })),
  };
}

const mark = (stepId: string, status = 'COMPLETED', more: Partial<StepMark> = {}): StepMark => ({
  stepId,
  status,
  branch: null,
  startedAt: status === 'SCHEDULED' ? null : '2026-01-01T00:00:00.500000Z',
  endedAt: status === 'COMPLETED' || status === 'SKIPPED' ? '2026-01-01T00:00:01.000000Z' : null,
  eventId: null,
  hasClosed: false,
  hasCalled: false,
  hasWaited: false,
  dueAt: null,
  isOver: false,
  ...more,
});

const startedAt = '2026-01-01T00:00:00.000000Z';
const place = (graph: Graph, currentStepId: string, marks: StepMark[]) =>
  placeOf(graph, { currentStepId, startedAt, marks });

describe('where an execution goes on', () => {
  const graph = graphOf([
    ['t', 'd'],
    ['d', 'u'],
    ['u', 'w'],
    ['w', 'u1', 'event'],
    ['w', 'u2', 'timeout'],
  ]);

  it.each<[string, string, StepMark[], string | undefined]>([
    ['behind its trigger', 't', [mark('t')], 'd'],
    ['in its delay', 'd', [mark('t'), mark('d'), mark('u', 'SCHEDULED')], 'd'],
    [
      'behind a delay that is over',
      'd',
      [mark('t'), mark('d', 'COMPLETED', { isOver: true }), mark('u', 'SCHEDULED')],
      'u',
    ],
    ['behind a delay that was skipped', 'd', [mark('d', 'SKIPPED'), mark('u', 'SCHEDULED')], 'u'],
    ['at a step that has failed, or is tried again', 'u', [mark('d'), mark('u', 'RUNNING')], 'u'],
    ['at its wait', 'w', [mark('u'), mark('w', 'WAITING')], 'w'],
    ['on the way that its wait took', 'w', [mark('w', 'COMPLETED', { branch: 'timeout' })], 'u2'],
    ['on the way by which it was skipped', 'w', [mark('w', 'SKIPPED', { branch: 'event' })], 'u1'],
    ['nowhere, behind its last step', 'u1', [mark('u1')], undefined],
  ])('is %s', (_, current, marks, expected) => {
    expect(place(graph, current, marks).step?.id).toBe(expected);
  });

  it('counts events since the end of the step before, or since it is due', () => {
    const marks = [mark('t', 'COMPLETED', { endedAt: startedAt }), mark('u')];
    expect(place(graph, 'u', marks).since).toBe('2026-01-01T00:00:01.000000Z');
    const dueAt = '2026-01-02T00:00:00.000000Z';
    expect(place(graph, 'u', [...marks, mark('w', 'SCHEDULED', { dueAt })])).toMatchObject({
      step: { id: 'w' },
      since: dueAt,
    });
    expect(place(graph, 't', [marks[0]!]).since).toBe(startedAt);
  });

  it('counts events for a wait from what came before it, if no event may be lost', () => {
    const at = (second: number) => `2026-01-01T00:00:0${second}.000000Z`;
    const done = (stepId: string, second: number, more: Partial<StepMark> = {}) =>
      mark(stepId, 'COMPLETED', { startedAt: at(second), endedAt: at(second + 1), ...more });
    const ended = { eventId: 'e', hasWaited: true };
    const wait = done('w', 2, { ...ended, endedAt: '2026-01-01T00:00:02.500000Z' });
    const call = { hasCalled: true };
    const from = (...marks: StepMark[]) => countsFrom([mark('now', 'RUNNING'), ...marks]);
    expect(from(done('t', 1))).toBeNull();
    expect(from(done('u', 4), wait, done('t', 1))).toBe('2026-01-01T00:00:02.500000Z');
    expect(from(done('t', 1), done('d', 3, { hasWaited: true }), wait)).toBeNull();
    expect(from(done('w', 3, { hasWaited: true }), done('u', 4))).toBeNull();
    expect(from(done('h', 3, call), done('u', 4))).toBe(at(3));
    expect(from(done('h', 3, call), done('h1', 4, call))).toBe(at(3));
    expect(from(wait, done('h', 3, call))).toBe('2026-01-01T00:00:02.500000Z');
    expect(from(done('h', 3, call), done('d', 4, { hasWaited: true }))).toBeNull();
    expect(from(mark('h', 'FAILED', { startedAt: at(3), ...call }))).toBeNull();
  });

  it('passes over steps that it has begun, by the way that they took', () => {
    const looped = graphOf([
      ['u', 'c'],
      ['c', 'u1', 'yes'],
      ['c', 'u2', 'no'],
    ]);
    const [u] = looped.steps;
    const at = (marks: StepMark[]) => passOver(looped, u, marks)?.id;
    expect(at([])).toBe('u');
    expect(at([mark('u')])).toBe('c');
    expect(at([mark('u'), mark('c', 'COMPLETED', { branch: 'no' })])).toBe('u2');
    expect(at([mark('u'), mark('c', 'COMPLETED', { branch: 'other' })])).toBeUndefined();
    expect(at([mark('u', 'SCHEDULED')])).toBe('u');
  });
});

describe('the plan of a move', () => {
  const before = graphOf([
    ['t', 'd'],
    ['d', 'u'],
  ]);
  const beganAt = new Date('2026-01-01T00:00:00Z');
  const scope = {
    now: new Date('2026-01-02T00:00:00Z'),
    contact: {
      email: 'ada@people.test',
      subscribed: true,
      createdAt: beganAt,
      updatedAt: beganAt,
      data: { due: '2026-01-01T12:00:00Z' },
    },
    context: null,
    zones: { timeZone: 'Asia/Tokyo', contactTimeZoneField: null },
  };
  const inDelay = {
    currentStepId: 'd',
    marks: [mark('t'), mark('d'), mark('u', 'SCHEDULED')],
    rest: { kind: 'delay', beganAt } as Rest,
  };

  it('keeps the end of a delay whose config is the same, and names what comes next', () => {
    const after = graphOf([
      ['t', 'd'],
      ['d', 'u2'],
      ['u2', 'u'],
    ]);
    expect(planMove([before, after], inDelay, {}, scope)).toEqual({
      currentStepId: 'd',
      renamed: [],
      scheduledStepId: 'u2',
    });
  });

  it('counts the end of a delay anew from its beginning', () => {
    const after = graphOf([['t', 'd']], { d: { amount: 1, unit: 'minutes' } });
    expect(planMove([before, after], inDelay, {}, scope)).toEqual({
      currentStepId: 'd',
      renamed: [],
      scheduledStepId: null,
      delay: {
        kind: 'rest',
        until: new Date('2026-01-01T00:01:00Z'),
        output: { delayAmount: 1, delayUnit: 'minutes', resumeAt: '2026-01-01T00:01:00.000Z' },
      },
    });
  });

  it('counts a time of day from the beginning, and reads a date anew', () => {
    const moved = (config: Record<string, unknown>) =>
      planMove(
        [
          before,
          graphOf(
            [
              ['t', 'd'],
              ['d', 'u'],
            ],
            { d: config },
          ),
        ],
        inDelay,
        {},
        scope,
      )!;
    expect(moved({ until: { time: '10:00' } }).delay).toMatchObject({
      until: new Date('2026-01-01T01:00:00Z'),
    });
    const passed = moved({ untilField: 'data.due' });
    expect(passed).toMatchObject({ delay: { kind: 'past' }, scheduledStepId: 'u' });
    expect(exitOf(passed)).toBeNull();
    const ended = moved({ untilField: 'data.due', ifPast: 'exit' });
    expect(ended).toMatchObject({ delay: { kind: 'past' }, scheduledStepId: null });
    expect(exitOf(ended)).toBe('date_past');
    const later = { untilField: 'data.due', offset: { amount: 1, unit: 'days' }, ifPast: 'exit' };
    expect(exitOf(moved(later))).toBeNull();
  });

  it('lets a wait wait for what the other version says', () => {
    const waits = graphOf([['t', 'w']]);
    const other = graphOf([['t', 'w']], { w: { eventName: 'clicked' } });
    const standing = {
      currentStepId: 'w',
      marks: [mark('t'), mark('w', 'WAITING')],
      rest: { kind: 'wait', beganAt } as Rest,
    };
    expect(planMove([waits, other], standing, {}, scope)).toEqual({
      currentStepId: 'w',
      renamed: [],
      wait: {
        expected: { eventName: 'clicked', where: null, since: 'step' },
        expiresAt: null,
      },
    });
    expect(planMove([waits, waits], standing, {}, scope)).toEqual({
      currentStepId: 'w',
      renamed: [],
    });
  });

  it('renames what the mapping says, of the steps it has begun', () => {
    const after = graphOf([
      ['t', 'd9'],
      ['d9', 'u9'],
    ]);
    expect(planMove([before, after], inDelay, { d: 'd9', u: 'u9' }, scope)).toMatchObject({
      currentStepId: 'd9',
      renamed: [{ from: 'd', to: 'd9' }],
      scheduledStepId: 'u9',
    });
  });

  it('is none where its step has no counterpart, or one that it has begun before', () => {
    expect(planMove([before, graphOf([['t', 'u']])], inDelay, {}, scope)).toBeNull();
    expect(planMove([before, before], inDelay, { d: 'u' }, scope)).toBeNull();
    const twice = graphOf([
      ['t', 'd'],
      ['d', 'd2'],
      ['d2', 'u'],
    ]);
    const second = {
      ...inDelay,
      currentStepId: 'd2',
      marks: [mark('t'), mark('d'), mark('d2')],
    };
    expect(planMove([twice, twice], second, { d2: 'd' }, scope)).toBeNull();
    const after = graphOf([['t', 'd9']]);
    expect(planMove([twice, after], second, { d: 'd9', d2: 'd9' }, scope)).toBeNull();
  });

  it('does not count what was to come when its run was ended', () => {
    const marks = [mark('t'), mark('d'), mark('u', 'SKIPPED', { startedAt: null })];
    expect(planMove([before, before], { ...inDelay, marks }, {}, scope)).toMatchObject({
      scheduledStepId: 'u',
    });
  });

  it('passes over what it has begun', () => {
    const after = graphOf([
      ['t', 'd'],
      ['d', 'u1'],
      ['u1', 'u2'],
    ]);
    const marks = [mark('t'), mark('u1'), mark('d')];
    expect(planMove([after, after], { ...inDelay, marks }, {}, scope)).toMatchObject({
      scheduledStepId: 'u2',
    });
  });
});
