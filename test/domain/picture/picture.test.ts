import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ExecutionState,
  pictureOfExecution,
  pictureOfGraph,
  type StepDone,
} from '../../../domain/picture/graph-picture.ts';
import { type Area, type Drawing, layOut } from '../../../domain/picture/layout.ts';
import { svgOf } from '../../../domain/picture/svg.ts';
import { cut, textWidth, wrapped } from '../../../domain/picture/text.ts';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import type { StepType } from '../../../domain/workflow/steps/registry.ts';
import { requireXml } from '../../support/svg.ts';

type Way = [from: number, to: number, branch?: string];

/** Builds a graph of steps `s0`, `s1`, …, from their names and transitions. */
function graphOf(names: readonly string[], ways: readonly Way[], types: StepType[] = []): Graph {
  const steps = names.map((name, index): GraphStep => {
    const type = types[index] ?? (index === 0 ? 'TRIGGER' : 'DELAY');
    return { id: `s${index}`, type, name, config: {}, templateId: null };
  });
  const transitions = ways.map(([from, to, branch = null], index) => ({
    id: `t${index}`,
    fromStepId: `s${from}`,
    toStepId: `s${to}`,
    branch,
  }));
  return { steps, transitions };
}

const about = { name: 'Onboarding', subtitle: 'Version 1' };
const draw = (graph: Graph) => layOut(pictureOfGraph(graph, about, null));
const count = (length: number) => Array.from({ length }, (_, index) => index);

/** Any graph without loops. */
const anyGraph = fc
  .integer({ min: 1, max: 40 })
  .chain((steps) =>
    fc.tuple(
      fc.array(fc.string({ unit: 'binary', maxLength: 100 }), {
        minLength: steps,
        maxLength: steps,
      }),
      fc.array(
        fc.tuple(fc.nat(steps - 1), fc.nat(steps - 1), fc.constantFrom('yes', 'no', undefined)),
        { maxLength: 60 },
      ),
    ),
  )
  .map(([names, ways]) =>
    graphOf(
      names,
      ways.flatMap(([one, other, branch]): Way[] =>
        one === other
          ? []
          : [[Math.min(one, other), Math.max(one, other), ...(branch ? [branch] : [])] as Way],
      ),
    ),
  );

function overlaps(one: Area, other: Area): boolean {
  return (
    Math.abs(one.x - other.x) < (one.width + other.width) / 2 &&
    Math.abs(one.y - other.y) < (one.height + other.height) / 2
  );
}

function areasOf({ boxes, lines }: Drawing): Area[] {
  return [...boxes, ...lines.flatMap(({ label }) => label ?? [])];
}

describe('the picture of a graph', () => {
  it('has every step and branch in a place of its own, inside of the picture', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const drawing = draw(graph);
        const areas = areasOf(drawing);
        expect(drawing.boxes).toHaveLength(graph.steps.length);
        const named = drawing.boxes.flatMap(({ references }) => references);
        expect(drawing.lines.length + named.length).toBe(graph.transitions.length);
        for (const [index, area] of areas.entries()) {
          expect(area.x - area.width / 2).toBeGreaterThanOrEqual(0);
          expect(area.x + area.width / 2).toBeLessThanOrEqual(drawing.width);
          expect(area.y + area.height / 2).toBeLessThanOrEqual(drawing.height);
          expect(areas.slice(index + 1).filter((other) => overlaps(area, other))).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is XML whatever the names are', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => requireXml(svgOf(draw(graph)))),
      { numRuns: 60 },
    );
  });

  it('leads downwards', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        for (const { points } of draw(graph).lines) {
          expect(points.at(-1)!.y).toBeGreaterThan(points[0]!.y);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('escapes names, leaves out what XML cannot have, and runs no scripts', () => {
    const svg = svgOf(draw(graphOf(['<b>&"', 'a\u0000b\ud800', '</text><script>'], [[0, 1]])));
    requireXml(svg);
    expect(svg).toContain('&lt;b&gt;&amp;&quot;');
    expect(svg).toContain('a\ufffdb\ufffd');
    expect(svg).not.toMatch(/<script|href|url\(|@import/);
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
  });

  it('cuts what does not fit, and has all of it as a tooltip', () => {
    const name = 'A step with a name that nobody could fit into a box of this width';
    const svg = svgOf(draw(graphOf([name, 'Two'], [[0, 1]])));
    expect(svg).toContain(`<title>${name}</title>`);
    expect(svg).toMatch(/<text class="name"[^>]*>A step with[^<]*…</);
    expect(svg).not.toMatch(new RegExp(`<text[^>]*>${name}`));
  });

  it('names the branches on their arrows, those of several by their names', () => {
    const graph = graphOf(
      ['T', 'Which?', 'A', 'B'],
      [
        [0, 1],
        [1, 2, 'x'],
        [1, 3, 'default'],
      ],
      ['TRIGGER', 'CONDITION'],
    );
    graph.steps[1]!.config = { mode: 'multi', branches: [{ id: 'x', name: 'On pro' }] };
    expect(draw(graph).lines.map(({ label }) => label?.text)).toEqual([
      undefined,
      'On pro',
      'default',
    ]);
  });

  it('names the arms of a SPLIT on their arrows, with their shares', () => {
    const graph = graphOf(
      ['T', 'Which?', 'A', 'B'],
      [
        [0, 1],
        [1, 2, 'x'],
        [1, 3, 'removed'],
      ],
      ['TRIGGER', 'SPLIT'],
    );
    const arm = (id: string, weight: number) => ({ id, name: `Arm ${id}`, weight });
    graph.steps[1]!.config = { arms: [arm('x', 1), arm('y', 2)] };
    expect(draw(graph).lines.map(({ label }) => label?.text)).toEqual([
      undefined,
      'Arm x · 33.3 %',
      'removed',
    ]);
  });

  it('has the numbers of steps', () => {
    const numbers = new Map([['s1', { entered: 1234, waiting: 2, failed: 1 }]]);
    const picture = pictureOfGraph(graphOf(['T', 'A'], [[0, 1]]), about, numbers);
    expect(picture.steps[1]?.notes).toEqual(['1,234 entered · 2 waiting · 1 failed']);
  });

  it('of 200 steps is drawn in a second, also when all lead to one end', () => {
    const chain = count(199).map((index): Way => [index, index + 1]);
    const toEnd = count(150).map((index): Way => [index, 199, 'no']);
    const names = count(200).map((index) => `Step ${index}`);
    for (const graph of [graphOf(names, chain), graphOf(names, [...chain, ...toEnd])]) {
      draw(graph);
      const before = process.cpuUsage();
      const svg = svgOf(draw(graph));
      // CPU time, which other programs do not change.
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(1_000);
      expect(svg.match(/<rect class="box"/g)).toHaveLength(200);
    }
    // Distant transitions are labels instead of lines.
    const { boxes, lines, width } = draw(graphOf(names, [...chain, ...toEnd]));
    expect(boxes[7]?.references).toEqual([{ text: 'no → Step 199', isTaken: null }]);
    expect(lines).toHaveLength(199 + toEnd.filter(([from]) => from > 190).length);
    expect(width).toBeLessThan(1_000);
  });
});

describe('the picture of an execution', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 8, 30, seconds));
  const did = (stepId: string, more: Partial<StepDone> = {}): StepDone => ({
    stepId,
    status: 'COMPLETED',
    startedAt: at(0),
    completedAt: at(1),
    scheduledFor: null,
    executeAfter: null,
    output: null,
    error: null,
    ...more,
  });
  const running: Omit<ExecutionState, 'steps'> = {
    workflowName: 'Onboarding',
    version: 2,
    status: 'RUNNING',
    currentStepId: null,
    isPaused: false,
    error: null,
    exitReason: null,
    startedAt: at(0),
    completedAt: null,
  };
  const graph = graphOf(
    ['T', 'Paid?', 'Call', 'Lost', 'Thanks'],
    [
      [0, 1],
      [1, 2, 'event'],
      [1, 3, 'timeout'],
      [2, 4],
    ],
    ['TRIGGER', 'WAIT_FOR_EVENT', 'WEBHOOK', 'EXIT', 'SEND_EMAIL'],
  );
  graph.steps[1]!.config = { eventName: 'paid' };
  const statesOf = (state: Partial<ExecutionState> & Pick<ExecutionState, 'steps'>, of = graph) =>
    pictureOfExecution(of, { ...running, ...state }).steps.map((step) => step.state);

  it('distinguishes done, failed and untouched steps, with the failure at its step', () => {
    const error = 'The receiver answered 404.';
    const picture = pictureOfExecution(graph, {
      ...running,
      status: 'FAILED',
      currentStepId: 's2',
      error,
      completedAt: at(61),
      steps: [
        did('s0'),
        did('s1', { output: { waitOutcome: 'EVENT' }, completedAt: at(60) }),
        did('s2', { status: 'FAILED', startedAt: at(60), completedAt: at(61), error }),
      ],
    });
    expect(picture.steps.map(({ state }) => state)).toEqual([
      'done',
      'done',
      'failed',
      'untouched',
      'untouched',
    ]);
    expect(picture.steps[2]).toMatchObject({ word: 'failed', fault: error });
    expect(picture.steps[1]?.notes).toEqual(['2026-11-21 08:30:00 · 1 min', 'got "paid"']);
    expect(picture.ways.map(({ isTaken }) => isTaken)).toEqual([true, true, false, false]);
    expect(picture.subtitle).toBe(
      'Version 2 · FAILED · started 2026-11-21 08:30:00 UTC · 1 min 1 s in all',
    );
    const svg = svgOf(layOut(picture));
    // With a mark and a word, not only with its colour.
    expect(svg).toMatch(/class="step failed"[^]*<path class="mark"[^]*>failed</);
    expect(svg).toContain(error);
  });

  it('puts the failure of a run at the step where it was', () => {
    const steps = [did('s0'), did('s1', { status: 'SKIPPED', completedAt: null })];
    const state = { status: 'FAILED', currentStepId: 's1', error: 'It was terminated.', steps };
    expect(statesOf(state)).toEqual(['done', 'failed', 'untouched', 'untouched', 'untouched']);
    const [, second] = pictureOfExecution(graph, { ...running, ...state }).steps;
    expect(second?.fault).toBe('It was terminated.');
  });

  it('says until when the current step waits, and what comes then', () => {
    const delays = graphOf(
      ['T', 'Wait', 'Next', 'Later'],
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
    );
    const resumeAt = at(3600);
    const steps = [
      did('s0'),
      did('s1', { output: { resumeAt: at(60).toISOString() } }),
      did('s2', {
        status: 'SCHEDULED',
        startedAt: null,
        completedAt: null,
        scheduledFor: resumeAt,
      }),
    ];
    const state = { ...running, status: 'WAITING', currentStepId: 's1', steps };
    const picture = pictureOfExecution(delays, state);
    expect(picture.steps.map((step) => [step.state, step.word, ...step.notes])).toEqual([
      ['done', 'done', '2026-11-21 08:30:00 · 1 s'],
      // The row of the next step decides, because the delay was moved.
      ['current', 'waiting', 'since 2026-11-21 08:30:00', 'until 2026-11-21 09:30:00'],
      ['scheduled', 'scheduled', 'from 2026-11-21 09:30:00'],
      ['untouched', null],
    ]);
    const paused = pictureOfExecution(delays, { ...state, isPaused: true });
    expect(paused.steps[1]?.word).toBe('paused');
    expect(paused.subtitle).toContain('WAITING, paused');
  });

  it('shows how long a delay has lasted, not how soon it was recorded', () => {
    const delays = graphOf(
      ['T', 'Wait', 'Next'],
      [
        [0, 1],
        [1, 2],
      ],
    );
    const steps = [did('s0'), did('s1'), did('s2', { startedAt: at(7200) })];
    const [, wait] = pictureOfExecution(delays, { ...running, steps }).steps;
    expect(wait?.notes).toEqual(['2026-11-21 08:30:00 · 2 h']);
    const last = graphOf(['T', 'Wait'], [[0, 1]]);
    const ended = {
      ...running,
      status: 'COMPLETED',
      completedAt: at(90),
      steps: steps.slice(0, 2),
    };
    expect(pictureOfExecution(last, ended).steps[1]?.notes).toEqual([
      '2026-11-21 08:30:00 · 1 min 30 s',
    ]);
  });

  it('shows skipped steps, and leaves out those that its graph no longer has', () => {
    const skipped = did('s1', { status: 'SKIPPED', startedAt: null });
    expect(statesOf({ steps: [did('s0'), skipped, did('gone')] })).toEqual([
      'done',
      'skipped',
      'untouched',
      'untouched',
      'untouched',
    ]);
  });
});

describe('texts', () => {
  const font = { size: 12 };

  it('are cut to a width, and wrapped into lines of it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 20, max: 300 }),
        (text, width) => {
          expect(textWidth(cut(text, width, font), font)).toBeLessThanOrEqual(width);
          const lines = wrapped(text, width, font, 3);
          expect(lines.length).toBeLessThanOrEqual(3);
          for (const line of lines) expect(textWidth(line, font)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('are wrapped at spaces, where there are any', () => {
    expect(wrapped('one two three four', 60, font, 9).join('|')).toBe('one two|three four');
    expect(wrapped('', 60, font, 9)).toEqual([]);
    expect(wrapped('x'.repeat(30), 60, font, 2)).toHaveLength(2);
  });
});
