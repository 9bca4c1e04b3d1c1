import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { graphAfter, smallDifference } from '../../../../domain/workflow/versions/difference.ts';
import type { Graph } from '../../../../domain/workflow/graph.ts';

/** Graphs of a few hundred steps, some of which differ between graphs. */
const graphs = fc
  .record({
    kept: fc.uniqueArray(fc.integer({ min: 0, max: 399 }), { minLength: 300, maxLength: 400 }),
    changed: fc.uniqueArray(fc.integer({ min: 0, max: 399 }), { maxLength: 5 }),
    reason: fc.option(fc.string(), { nil: undefined }),
  })
  .map(({ kept, changed, reason }): Graph => {
    const numbers = kept.toSorted((one, other) => one - other);
    const id = (number: number) => `id-${String(number).padStart(3, '0')}`;
    return {
      steps: numbers.map((number) => ({
        id: id(number),
        type: 'EXIT',
        name: changed.includes(number) ? 'Changed' : 'As it was',
        config: {},
        templateId: null,
      })),
      transitions: numbers.slice(1).map((number, index) => ({
        id: id(number),
        fromStepId: id(numbers[index]!),
        toStepId: id(number),
        branch: null,
      })),
      ...(reason !== undefined && { exitRules: [{ eventName: 'e', reason }] }),
    };
  });

const byId = ({ steps, transitions, ...rest }: Graph) => ({
  ...rest,
  steps: new Map(steps.map((step) => [step.id, step])),
  transitions: new Map(transitions.map((way) => [way.id, way])),
});

describe('a graph that is stored as a difference', () => {
  it('is read as it was drawn', () => {
    let differences = 0;
    fc.assert(
      fc.property(graphs, graphs, (whole, graph) => {
        const near = { ...graph, steps: [...graph.steps], transitions: whole.transitions };
        for (const drawn of [graph, near, { ...whole, exitRules: graph.exitRules ?? [] }]) {
          const difference = smallDifference(whole, drawn);
          if (!difference) continue;
          differences += 1;
          const stored = JSON.parse(JSON.stringify({ whole, difference }));
          expect(byId(graphAfter(stored))).toEqual(byId(drawn));
        }
      }),
      { numRuns: 50 },
    );
    expect(differences).toBeGreaterThan(20);
  });

  it('keeps the order of its steps, a new one at the end', () => {
    const [whole] = fc.sample(graphs, 1);
    const last = { ...whole!.steps[0]!, id: 'id-999' };
    const drawn = { ...whole!, steps: [...whole!.steps.slice(1), last] };
    const difference = smallDifference(whole!, drawn);
    expect(graphAfter({ whole: whole!, difference }).steps).toEqual(drawn.steps);
  });

  it('is stored whole where it is small, or mostly another', () => {
    const [whole] = fc.sample(graphs, 1);
    const renamed = whole!.steps.map((step) => ({ ...step, name: 'Other' }));
    expect(smallDifference(whole!, { ...whole!, steps: renamed })).toBeNull();
    const small = { ...whole!, steps: whole!.steps.slice(0, 20), transitions: [] };
    expect(smallDifference(small, { ...small, exitRules: [] })).toBeNull();
  });
});
