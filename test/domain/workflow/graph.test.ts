import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  autoConnectLeaf,
  enablingProblems,
  pruning,
  type Removal,
  splicing,
  transitionFault,
  branchesOf,
} from '../../../domain/workflow/graph-rules.ts';
import {
  findStep,
  type Graph,
  type GraphStep,
  reachableFrom,
  stepAfter,
} from '../../../domain/workflow/graph.ts';
import { stepTypes, type StepType, stepModules } from '../../../domain/workflow/steps/registry.ts';

/** Builds a graph from step ids with their types, and transitions like `a>b` or `c:yes>d`. */
function graphOf(types: Record<string, StepType>, ...ways: string[]): Graph {
  return {
    steps: Object.entries(types).map(([id, type]) => ({
      id,
      type,
      name: id,
      config: {},
      templateId: null,
    })),
    transitions: ways.map((way) => {
      const [from = '', toStepId = ''] = way.split('>');
      const [fromStepId = '', branch = null] = from.split(':');
      return { id: way, fromStepId, toStepId, branch };
    }),
  };
}

function step(graph: Graph, id: string): GraphStep {
  const found = findStep(graph, id);
  if (!found) throw new Error(`no step ${id}`);
  return found;
}

/** Returns the graph after a removal, as the database performs it. */
function withRemoval(graph: Graph, { stepIds, relinked }: Removal): Graph {
  const gone = new Set(stepIds);
  const target = new Map(relinked.map(({ transitionId, toStepId }) => [transitionId, toStepId]));
  return {
    steps: graph.steps.filter(({ id }) => !gone.has(id)),
    transitions: graph.transitions
      .map((way) => ({ ...way, toStepId: target.get(way.id) ?? way.toStepId }))
      .filter(({ fromStepId, toStepId }) => !gone.has(fromStepId) && !gone.has(toStepId)),
  };
}

const types = {
  t: 'TRIGGER',
  a: 'DELAY',
  b: 'DELAY',
  c: 'CONDITION',
  w: 'WAIT_FOR_EVENT',
  x: 'EXIT',
} as const;

describe('a new transition', () => {
  it.each([
    ['leads to itself', 'a', 'a', null, 'TRANSITION_SELF'],
    ['leads from EXIT to itself', 'x', 'x', null, 'TRANSITION_SELF'],
    ['leads from EXIT', 'x', 'a', null, 'TRANSITION_FROM_EXIT'],
    ['leads from EXIT to TRIGGER', 'x', 't', null, 'TRANSITION_FROM_EXIT'],
    ['leads to TRIGGER though its start has a way', 'a', 't', null, 'TRANSITION_TO_TRIGGER'],
    ['is the second way out', 'a', 'x', null, 'TRANSITION_EXISTS'],
    ['is the second way of a branch', 'c', 'x', 'yes', 'TRANSITION_BRANCH_EXISTS'],
    ['is the second way of an outcome', 'w', 'x', 'timeout', 'TRANSITION_BRANCH_EXISTS'],
    ['closes a loop', 'b', 'a', null, 'TRANSITION_LOOP'],
    ['closes a loop over a branch', 'c', 'a', 'no', 'TRANSITION_LOOP'],
    ['is another branch', 'c', 'x', 'no', null],
    ['is another outcome', 'w', 'x', 'event', null],
    ['has no outcome beside one that has', 'w', 'x', null, null],
    ['is a second way in', 'w', 'b', 'event', null],
  ] as const)('that %s', (_, from, to, branch, expected) => {
    const graph = graphOf(types, 't>a', 'a>b', 'b>c', 'c:yes>x', 'w:timeout>x');
    // Removes the transition of b where the loop must be the only fault.
    if (expected === 'TRANSITION_LOOP' && from === 'b') graph.transitions.splice(2, 1);
    expect(transitionFault(graph, step(graph, from), step(graph, to), branch)).toBe(expected);
  });

  it('is refused for the way that exists before the loop it would close', () => {
    const graph = graphOf(types, 'a>b', 'b>x');
    expect(transitionFault(graph, step(graph, 'b'), step(graph, 'a'), null)).toBe(
      'TRANSITION_EXISTS',
    );
  });
});

describe('the way on', () => {
  const graph = graphOf(types, 'c:yes>a', 'w:event>a', 'w>b', 'a>x');

  it.each([
    ['c', 'yes', 'a'],
    ['c', 'no', undefined],
    ['w', 'event', 'a'],
    ['w', 'timeout', 'b'],
    ['a', null, 'x'],
    ['x', null, undefined],
  ] as const)('of %s after %s is %s', (from, branch, expected) => {
    expect(stepAfter(graph, from, branch)?.id).toBe(expected);
  });
});

describe('the branches of a condition', () => {
  it('are yes and no, or its own and default', () => {
    expect(branchesOf({ type: 'CONDITION', config: { field: 'data.a' } })).toEqual(['yes', 'no']);
    const config = { mode: 'multi', branches: [{ id: 'p' }, { id: 'q' }] };
    expect(branchesOf({ type: 'CONDITION', config })).toEqual(['p', 'q', 'default']);
  });
});

describe('the step a new one is linked to', () => {
  it.each([
    ['the trigger of an empty workflow', graphOf({ t: 'TRIGGER' }), 't'],
    ['the newest of two leaves', graphOf(types, 't>c', 'c:yes>a', 'c:no>b'), 'b'],
    ['no condition and no exit', graphOf(types, 't>c', 'c:yes>x'), undefined],
    [
      'no step that cannot be reached',
      graphOf({ t: 'TRIGGER', a: 'DELAY', b: 'DELAY' }, 't>a'),
      'a',
    ],
    ['nothing without a trigger', graphOf({ a: 'DELAY' }), undefined],
  ])('is %s', (_, graph, expected) => {
    expect(autoConnectLeaf(graph)?.id).toBe(expected);
  });
});

describe('removing a step', () => {
  const graph = graphOf(types, 't>c', 'c:yes>a', 'c:no>w', 'a>b', 'b>x', 'w:event>x');

  it('takes what hangs on it only', () => {
    expect(pruning(graph, 'a').stepIds.sort()).toEqual(['a', 'b']);
    expect(pruning(graph, 'c').stepIds.sort()).toEqual(['a', 'b', 'c', 'w', 'x']);
  });

  it('leaves what a step outside the journey leads to', () => {
    const island = graphOf(
      { t: 'TRIGGER', a: 'DELAY', b: 'DELAY', u: 'DELAY' },
      't>a',
      'a>b',
      'u>b',
    );
    expect(pruning(island, 'a').stepIds).toEqual(['a']);
  });

  it('by splicing links what led to it to its successor, branches kept', () => {
    expect(withRemoval(graph, splicing(graph, step(graph, 'a'))!).transitions).toContainEqual({
      id: 'c:yes>a',
      fromStepId: 'c',
      toStepId: 'b',
      branch: 'yes',
    });
    expect(splicing(graph, step(graph, 'x'))).toEqual({ stepIds: ['x'], relinked: [] });
  });

  it('by splicing is refused where ways part', () => {
    const waiting = graphOf(types, 'w:event>a', 'w:timeout>b');
    expect(splicing(graph, step(graph, 'c'))).toBeNull();
    expect(splicing(waiting, step(waiting, 'w'))).toBeNull();
    expect(splicing(graph, step(graph, 'w'))?.relinked).toEqual([
      { transitionId: 'c:no>w', toStepId: 'x' },
    ]);
  });
});

describe('enabling', () => {
  const event: { type: string; eventName: string | null } = { type: 'EVENT', eventName: 'e' };
  const noTemplates = new Map<string, { hasSender: boolean; isMarketing: boolean }>();
  const fields = (graph: Graph, trigger = event, templates = noTemplates) =>
    enablingProblems(graph, trigger, templates).map(({ field }) => field);

  it('accepts a graph that can run, with unreachable steps', () => {
    expect(fields(graphOf({ t: 'TRIGGER', a: 'DELAY', b: 'DELAY' }, 't>a'))).toEqual([]);
  });

  it('reports an EVENT trigger without event and a trigger without successor', () => {
    const graph = graphOf({ t: 'TRIGGER' });
    const unnamed = { type: 'EVENT', eventName: null };
    expect(fields(graph, unnamed)).toEqual(['triggerConfig', 'steps.t']);
    expect(fields(graph, { ...unnamed, type: 'MANUAL' })).toEqual(['steps.t']);
  });

  it('reports mail without template, with a deleted one, or without sender', () => {
    const graph = graphOf(
      { t: 'TRIGGER', m: 'SEND_EMAIL', n: 'SEND_EMAIL', o: 'SEND_EMAIL' },
      't>m',
    );
    step(graph, 'n').templateId = 'gone';
    step(graph, 'o').templateId = 'known';
    expect(
      fields(graph, event, new Map([['known', { hasSender: false, isMarketing: false }]])),
    ).toEqual(['steps.m', 'steps.n', 'steps.o']);
    expect(
      fields(graph, event, new Map([['known', { hasSender: true, isMarketing: false }]])),
    ).toEqual(['steps.m', 'steps.n']);
  });

  it('reports a condition without ways and every way of a branch it lost', () => {
    const graph = graphOf(types, 't>c', 'c:p>a', 'c:q>b', 'c:default>x');
    const { config } = step(graph, 'c');
    Object.assign(config, { mode: 'multi', branches: [{ id: 'r' }] });
    expect(fields(graph)).toEqual(['steps.c', 'steps.c']);
    Object.assign(config, { branches: [{ id: 'p' }, { id: 'q' }] });
    expect(fields(graph)).toEqual([]);
    expect(fields(graphOf(types, 't>c'))).toEqual(['steps.c']);
  });
});

/* Random edits against plain, slow definitions of the rules. */

type RandomEdit =
  | { do: 'add'; type: StepType; connect: boolean }
  | { do: 'link'; from: number; to: number; branch: string | null }
  | { do: 'remove'; at: number; splice: boolean };

const exampleOf = (type: StepType) => stepModules[type].examples[0]?.config ?? {};

const knownBranches = stepTypes.flatMap((type) => branchesOf({ type, config: exampleOf(type) }));

const randomEdit: fc.Arbitrary<RandomEdit> = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    type: fc.constantFrom(...stepTypes.filter((type) => type !== 'TRIGGER')),
    connect: fc.boolean(),
  }),
  fc.record({
    do: fc.constant('link' as const),
    from: fc.nat(20),
    to: fc.nat(20),
    branch: fc.constantFrom(null, ...knownBranches),
  }),
  fc.record({ do: fc.constant('remove' as const), at: fc.nat(20), splice: fc.boolean() }),
);

/** Returns the branches that a transition from the step may name; null: none. */
function choicesOf(step: GraphStep): (string | null)[] {
  const branches = branchesOf(step);
  return stepModules[step.type].ways === 'branches' ? branches : [null, ...branches];
}

let made = 0;

function edited(graph: Graph, edit: RandomEdit): Graph {
  const at = (index: number) => graph.steps[index % graph.steps.length]!;
  const way = (from: GraphStep, to: GraphStep, branch: string | null) => ({
    id: `way${made++}`,
    fromStepId: from.id,
    toStepId: to.id,
    branch,
  });
  if (edit.do === 'add') {
    const { type } = edit;
    const config = exampleOf(type);
    const added = { id: `s${made++}`, type, name: '', config, templateId: null };
    const leaf = edit.connect ? autoConnectLeaf(graph) : undefined;
    return {
      steps: [...graph.steps, added],
      transitions: [...graph.transitions, ...(leaf ? [way(leaf, added, null)] : [])],
    };
  }
  if (edit.do === 'link') {
    const [from, to, branch] = [at(edit.from), at(edit.to), edit.branch];
    const allowed =
      choicesOf(from).includes(branch) && transitionFault(graph, from, to, branch) === null;
    if (!allowed) return graph;
    return { ...graph, transitions: [...graph.transitions, way(from, to, branch)] };
  }
  const gone = at(edit.at);
  if (gone.type === 'TRIGGER') return graph;
  const removal = edit.splice ? splicing(graph, gone) : pruning(graph, gone.id);
  return removal ? withRemoval(graph, removal) : graph;
}

const randomGraph = fc
  .array(randomEdit, { maxLength: 40 })
  .map((edits) => edits.reduce(edited, graphOf({ t: 'TRIGGER' })));

/** Returns true if repeatedly removing steps without incoming transitions removes all. */
function hasNoLoop({ steps, transitions }: Graph): boolean {
  let left = steps.map(({ id }) => id);
  for (;;) {
    const led = new Set(
      transitions.filter((way) => left.includes(way.fromStepId)).map((way) => way.toStepId),
    );
    const next = left.filter((id) => led.has(id));
    if (next.length === 0) return true;
    if (next.length === left.length) return false;
    left = next;
  }
}

describe('whatever the edits', () => {
  it('there is one trigger, no loop, no open end and one way for each branch', () => {
    fc.assert(
      fc.property(randomGraph, (graph) => {
        const { steps, transitions } = graph;
        expect(steps.filter(({ type }) => type === 'TRIGGER')).toHaveLength(1);
        expect(hasNoLoop(graph)).toBe(true);
        const ways = transitions.map((way) => `${way.fromStepId} ${way.branch}`);
        expect(new Set(ways).size).toBe(ways.length);
        for (const way of transitions) {
          const [from, to] = [step(graph, way.fromStepId), step(graph, way.toStepId)];
          expect(from.type).not.toBe('EXIT');
          expect(to.type).not.toBe('TRIGGER');
          expect(choicesOf(from)).toContain(way.branch);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('a transition is refused exactly by the rules as they are written', () => {
    fc.assert(
      fc.property(randomGraph, fc.nat(20), fc.nat(20), fc.nat(2), (graph, i, j, k) => {
        const { steps, transitions } = graph;
        const [from, to] = [steps[i % steps.length]!, steps[j % steps.length]!];
        const branches = branchesOf(from);
        const branch = branches[k % branches.length]!;
        const broken = [
          from === to && 'TRANSITION_SELF',
          from.type === 'EXIT' && 'TRANSITION_FROM_EXIT',
          to.type === 'TRIGGER' && 'TRANSITION_TO_TRIGGER',
          transitions.some((way) => way.fromStepId === from.id && way.branch === branch) &&
            (branch === null ? 'TRANSITION_EXISTS' : 'TRANSITION_BRANCH_EXISTS'),
          !hasNoLoop({
            steps,
            transitions: [
              ...transitions,
              { id: 'new', fromStepId: from.id, toStepId: to.id, branch },
            ],
          }) && 'TRANSITION_LOOP',
        ].filter((code) => code !== false);
        expect(transitionFault(graph, from, to, branch)).toBe(broken[0] ?? null);
      }),
      { numRuns: 500 },
    );
  });

  it('removing a step takes exactly the steps all of whose ways in are removed', () => {
    fc.assert(
      fc.property(randomGraph, fc.nat(20), (graph, i) => {
        const gone = graph.steps[i % graph.steps.length]!;
        const removed = new Set([gone.id]);
        for (let before = 0; before !== removed.size;) {
          before = removed.size;
          for (const { id } of graph.steps) {
            const waysIn = graph.transitions.filter((way) => way.toStepId === id);
            const lost = waysIn.every((way) => removed.has(way.fromStepId));
            if (waysIn.length > 0 && lost) removed.add(id);
          }
        }
        expect(new Set(pruning(graph, gone.id).stepIds)).toEqual(removed);
      }),
      { numRuns: 500 },
    );
  });

  it('splicing a step leaves every other step as reachable as before', () => {
    fc.assert(
      fc.property(randomGraph, fc.nat(20), (graph, i) => {
        const gone = graph.steps[i % graph.steps.length]!;
        const removal = gone.type === 'TRIGGER' ? null : splicing(graph, gone);
        if (!removal) return;
        const after = withRemoval(graph, removal);
        const others = (of: Graph) =>
          [...reachableFrom(of, 't')].filter((id) => id !== gone.id).sort();
        expect(others(after)).toEqual(others(graph));
      }),
      { numRuns: 300 },
    );
  });
});
