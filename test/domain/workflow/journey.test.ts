import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import { transitionFault, branchesOf } from '../../../domain/workflow/graph-rules.ts';
import { type StepType, stepModules } from '../../../domain/workflow/steps/registry.ts';
import { begin, type Command, decide, type Outcome } from '../../../domain/workflow/decide.ts';
import { waitOutcome } from '../../support/histories/virtual-execution.ts';

type Doing = Exclude<Command, { do: 'complete' | 'stop' }>;

const types: StepType[] = [
  'SEND_EMAIL',
  'DELAY',
  'WAIT_FOR_EVENT',
  'CONDITION',
  'WEBHOOK',
  'UPDATE_CONTACT',
  'EXIT',
];

/** Random graphs, built by the rules of the API. */
const graphs: fc.Arbitrary<Graph> = fc
  .record({
    steps: fc.array(fc.constantFrom(...types), { maxLength: 25 }),
    ways: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { maxLength: 80 }),
  })
  .map(({ steps, ways }) => {
    const graph: Graph = {
      steps: (['TRIGGER', ...steps] as StepType[]).map((type, index) => ({
        id: `s${index}`,
        type,
        name: `${type} ${index}`,
        config: {},
        templateId: null,
      })),
      transitions: [],
    };
    for (const [index, [a, b, c]] of ways.entries()) {
      const from = graph.steps[a % graph.steps.length]!;
      const to = graph.steps[b % graph.steps.length]!;
      const choices = branchChoicesOf(from);
      const branch = choices[c % choices.length]!;
      if (transitionFault(graph, from, to, branch)) continue;
      graph.transitions.push({ id: `t${index}`, fromStepId: from.id, toStepId: to.id, branch });
    }
    return graph;
  });

/** Returns the branches that a transition from the step may name; null: none. */
function branchChoicesOf(step: GraphStep): (string | null)[] {
  const branches = branchesOf(step);
  return stepModules[step.type].ways === 'branches' ? branches : [null, ...branches];
}

/** Returns a possible outcome of a command; `choice` selects it. */
function answer(command: Doing, choice: number): Outcome {
  if (command.do === 'sleep' || command.do === 'await') return { kind: 'resumed' };
  if (command.do === 'settle') return waitOutcome(choice % 2 === 0 ? 'EVENT' : 'TIMEOUT');
  if (choice % 17 === 0) return { kind: 'closed' };
  switch (command.step.type) {
    case 'EXIT':
      return { kind: 'exited' };
    case 'DELAY':
      return { kind: 'resting', until: '2026-11-21T08:30:00.000Z' };
    case 'WAIT_FOR_EVENT':
      return choice % 3 === 0 ? waitOutcome('EVENT') : { kind: 'waiting', until: null };
    case 'CONDITION': {
      const branches = branchesOf(command.step);
      return { kind: 'branch', branch: branches[choice % branches.length]! };
    }
    default:
      return { kind: 'done' };
  }
}

/** Runs a graph to its end. Returns every command, also the last one. */
function walk(graph: Graph, choices: number[], from: Command = begin(graph), at = 0) {
  const path: Command[] = [from];
  for (let command = from; 'step' in command; path.push(command)) {
    if (path.length > 500) throw new Error('The journey does not end.');
    const choice = choices[(at + path.length - 1) % choices.length]!;
    command = decide(graph, command, answer(command, choice));
  }
  return path;
}

const choicesOf = fc.array(fc.nat(1000), { minLength: 1, maxLength: 60 });

describe('every journey', () => {
  it('ends', () => {
    fc.assert(
      fc.property(graphs, choicesOf, (graph, choices) => {
        expect(['complete', 'stop']).toContain(walk(graph, choices).at(-1)!.do);
      }),
      { numRuns: 500 },
    );
  });

  it('visits no step twice', () => {
    fc.assert(
      fc.property(graphs, choicesOf, (graph, choices) => {
        const visited = walk(graph, choices).flatMap((command) =>
          command.do === 'run' ? [command.step.id] : [],
        );
        expect(new Set(visited).size).toBe(visited.length);
      }),
      { numRuns: 500 },
    );
  });

  it('only takes ways of its graph, by the branch that was chosen', () => {
    fc.assert(
      fc.property(graphs, choicesOf, (graph, choices) => {
        const visited = walk(graph, choices).flatMap((command) =>
          command.do === 'run' ? [command.step.id] : [],
        );
        for (const [index, to] of visited.entries()) {
          const from = visited[index - 1] ?? 's0';
          const way = graph.transitions.some(
            (transition) => transition.fromStepId === from && transition.toStepId === to,
          );
          expect(way).toBe(true);
        }
      }),
    );
  });

  it('takes the same way when it is replayed from any point', () => {
    fc.assert(
      fc.property(graphs, choicesOf, fc.nat(), (graph, choices, cut) => {
        const whole = walk(graph, choices);
        const at = cut % whole.length;
        expect([...whole.slice(0, at), ...walk(graph, choices, whole[at], at)]).toEqual(whole);
      }),
    );
  });
});

describe('the way after a wait', () => {
  const graph = (...ways: [branch: string | null, to: string][]): Graph => ({
    steps: ['wait', 'a', 'b'].map((id) => ({
      id,
      type: id === 'wait' ? 'WAIT_FOR_EVENT' : 'EXIT',
      name: id,
      config: {},
      templateId: null,
    })),
    transitions: ways.map(([branch, to]) => ({
      id: to,
      fromStepId: 'wait',
      toStepId: to,
      branch,
    })),
  });
  const next = (given: Graph, result: 'EVENT' | 'TIMEOUT') => {
    const command = decide(given, { do: 'settle', step: given.steps[0]! }, waitOutcome(result));
    return 'step' in command ? command.step.id : command.do;
  };

  it('is the one of its outcome, else the one without, else the end', () => {
    const both = graph(['event', 'a'], ['timeout', 'b']);
    expect([next(both, 'EVENT'), next(both, 'TIMEOUT')]).toEqual(['a', 'b']);
    const mixed = graph(['event', 'a'], [null, 'b']);
    expect([next(mixed, 'EVENT'), next(mixed, 'TIMEOUT')]).toEqual(['a', 'b']);
    const half = graph(['event', 'a']);
    expect([next(half, 'EVENT'), next(half, 'TIMEOUT')]).toEqual(['a', 'complete']);
  });
});
