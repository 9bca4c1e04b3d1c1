import { describe, expect, it } from 'vitest';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import { begin, type Command, decide, type Outcome } from '../../../domain/workflow/decide.ts';
import { outcomeOf, thirtyDays } from '../../support/histories/virtual-execution.ts';
import { waitOutcome } from '../../support/histories/virtual-execution.ts';

/** A world with its own clock, in which months take no time. */
interface World {
  startedAt: string;
  data: Record<string, unknown>;
  /** Events by name, with the days after the start at which they come. */
  events: { name: string; day: number }[];
}

const dayMs = 86_400_000;

/** Runs a graph in such a world. Returns the steps with the day on which each began. */
function simulate(graph: Graph, world: World): string[] {
  const start = Date.parse(world.startedAt);
  let now = start;
  const path: string[] = [];
  let command: Command = begin(graph);
  while ('step' in command) {
    if (command.do === 'run') path.push(`${command.step.name} on day ${(now - start) / dayMs}`);
    const outcome = perform(command, world, start, now);
    now = outcome.now;
    command = decide(graph, command, outcome.outcome);
  }
  path.push(command.do === 'stop' ? command.status : 'COMPLETED');
  return path;
}

function perform(
  command: Extract<Command, { step: GraphStep }>,
  world: World,
  start: number,
  now: number,
): { outcome: Outcome; now: number } {
  const { step } = command;
  if (command.do === 'sleep')
    return { outcome: { kind: 'resumed' }, now: Date.parse(command.until) };
  const event = world.events
    .map(({ name, day }) => ({ name, at: start + day * dayMs }))
    .find(({ name, at }) => name === step.config['eventName'] && at > now);
  if (command.do === 'await') {
    const until = command.until === null ? Number.POSITIVE_INFINITY : Date.parse(command.until);
    return { outcome: { kind: 'resumed' }, now: Math.min(event?.at ?? until, until) };
  }
  if (command.do === 'settle') {
    // The wait ends at `now`, by an event or by its timeout.
    const came = world.events.some(
      ({ name, day }) => name === step.config['eventName'] && start + day * dayMs === now,
    );
    return { outcome: waitOutcome(came ? 'EVENT' : 'TIMEOUT'), now };
  }
  return { outcome: outcomeOf(step, world.data, now), now };
}

describe('a journey of thirty days', () => {
  const startedAt = '2026-11-21T08:30:00.000Z';

  it('waits to the end where nothing comes', () => {
    expect(simulate(thirtyDays, { startedAt, data: {}, events: [] })).toEqual([
      'Welcome on day 0',
      'Week on day 0',
      'Tips on day 7',
      'Bought? on day 7',
      'Nine days on day 21',
      'Pro? on day 30',
      'End on day 30',
      'EXITED',
    ]);
  });

  it('goes on at the event that counts, not at an earlier one', () => {
    const events = [
      { name: 'bought', day: 3 },
      { name: 'bought', day: 10 },
    ];
    expect(simulate(thirtyDays, { startedAt, data: { plan: 'pro' }, events })).toEqual([
      'Welcome on day 0',
      'Week on day 0',
      'Tips on day 7',
      'Bought? on day 7',
      'Thanks on day 10',
      'Nine days on day 10',
      'Pro? on day 19',
      'Call on day 19',
      'COMPLETED',
    ]);
  });

  it('crosses a leap day and a change of clocks by elapsed time', () => {
    const path = simulate(thirtyDays, {
      startedAt: '2028-02-20T00:00:00.000Z',
      data: {},
      events: [],
    });
    expect(path.at(-2)).toBe('End on day 30');
  });
});
