import { describe, expect, it } from 'vitest';
import { edit, type EditAction, startEditing } from '../../console/src/journey/editing.ts';
import type { Journey, StepType } from '../../console/src/journey/graph.ts';
import { outlineOf } from '../../console/src/journey/outline.ts';
import { findingsOf } from '../../console/src/journey/problems.ts';

/** The reducer of the workflow editor, without a browser. */

const empty: Journey = {
  name: 'Welcome',
  description: null,
  allowReentry: false,
  executionKey: null,
  reentry: { mode: 'once', minIntervalSeconds: null },
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  exitRules: [],
  transitions: [],
  steps: [
    {
      key: 'trigger',
      type: 'TRIGGER',
      name: 'Trigger: signed_up',
      config: { eventName: 'signed_up' },
      position: { x: 100, y: 100 },
    },
  ],
};

const after = (actions: readonly EditAction[]) => actions.reduce(edit, startEditing(empty));

const add = (
  stepType: StepType,
  place: string | null,
  branch: string | null = null,
): EditAction => ({ type: 'add', stepType, after: place, branch });

/** mail → delay → condition → two ends */
const drawn: readonly EditAction[] = [
  add('SEND_EMAIL', 'trigger'),
  add('DELAY', 'send-email'),
  add('CONDITION', 'delay'),
  add('EXIT', 'condition', 'yes'),
  add('EXIT', 'condition', 'no'),
];

const waysOf = ({ journey }: { journey: Journey }) =>
  journey.transitions.map(({ from, to, branch }) => [from, branch ?? null, to]);

describe('the graph of the editor', () => {
  it('grows by a step behind another, on its branch', () => {
    const state = after(drawn);
    expect(waysOf(state)).toEqual([
      ['trigger', null, 'send-email'],
      ['send-email', null, 'delay'],
      ['delay', null, 'condition'],
      ['condition', 'yes', 'exit'],
      ['condition', 'no', 'exit-2'],
    ]);
    expect(state.chosen).toBe('exit-2');
    expect(state.journey.steps.map(({ name }) => name).slice(-2)).toEqual(['Exit', 'Exit 2']);
  });

  it('puts a step between two others, which follow on its first branch', () => {
    const state = after([...drawn, add('WEBHOOK', 'trigger'), add('SPLIT', 'delay')]);
    expect(waysOf(state)).toContainEqual(['webhook', null, 'send-email']);
    expect(waysOf(state)).toContainEqual(['split', 'a', 'condition']);
    expect(waysOf(state)).not.toContainEqual(['delay', null, 'condition']);
  });

  it('puts no two steps on one place', () => {
    const { journey } = after([...drawn, add('EXIT', null), add('EXIT', null)]);
    const places = journey.steps.map(({ position }) => `${position.x} ${position.y}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it('never gives a key twice, because a key means the same step for ever', () => {
    const state = after([
      ...drawn,
      { type: 'delete', key: 'exit-2' },
      add('EXIT', 'condition', 'no'),
    ]);
    expect(state.chosen).toBe('exit-3');
    const undone = edit(edit(state, { type: 'undo' }), add('EXIT', 'condition', 'no'));
    expect(undone.chosen).toBe('exit-4');
  });

  it('closes the gap of a deleted step', () => {
    const state = after([...drawn, { type: 'delete', key: 'delay' }]);
    expect(waysOf(state)).toContainEqual(['send-email', null, 'condition']);
    expect(state.chosen).toBe('send-email');
  });

  it('keeps the steps behind a deleted condition', () => {
    const state = after([...drawn, { type: 'delete', key: 'condition' }]);
    expect(waysOf(state)).toEqual([
      ['trigger', null, 'send-email'],
      ['send-email', null, 'delay'],
    ]);
    expect(state.journey.steps).toHaveLength(5);
  });

  it('keeps its trigger', () => {
    const state = after(drawn);
    expect(edit(state, { type: 'delete', key: 'trigger' })).toBe(state);
  });

  it('refuses loops, ways to the trigger and ways from an exit', () => {
    const state = after(drawn);
    const connect = (from: string, to: string) =>
      edit(state, { type: 'connect', from, branch: null, to });
    expect(connect('condition', 'delay')).toMatchObject({ journey: state.journey });
    expect(connect('delay', 'trigger').journey).toBe(state.journey);
    expect(connect('delay', 'delay').journey).toBe(state.journey);
    expect(connect('exit', 'exit-2').journey).toBe(state.journey);
  });

  it('leads a branch to another step, or nowhere', () => {
    const connected = after([
      ...drawn,
      { type: 'connect', from: 'condition', branch: 'no', to: 'exit' },
    ]);
    expect(waysOf(connected)).toContainEqual(['condition', 'no', 'exit']);
    expect(waysOf(connected)).not.toContainEqual(['condition', 'no', 'exit-2']);
    const cut = edit(connected, { type: 'disconnect', from: 'condition', branch: 'yes' });
    expect(waysOf(cut)).not.toContainEqual(['condition', 'yes', 'exit']);
  });

  it('removes the ways of branches that are gone, and keeps that of all others', () => {
    const branches = [{ id: 'yes', name: 'Pro', operator: 'equals', value: 'pro' }];
    const several = after([
      ...drawn,
      {
        type: 'change',
        key: 'condition',
        field: 'mode',
        change: { config: { mode: 'multi', field: 'plan', branches } },
      },
    ]);
    expect(waysOf(several).slice(-2)).toEqual([
      ['condition', 'yes', 'exit'],
      ['condition', 'default', 'exit-2'],
    ]);
    const other = [{ ...branches[0]!, id: 'free' }];
    const renamed = edit(several, {
      type: 'change',
      key: 'condition',
      field: 'branches',
      change: { config: { mode: 'multi', field: 'plan', branches: other } },
    });
    expect(waysOf(renamed).slice(-1)).toEqual([['condition', 'default', 'exit-2']]);
  });
});

describe('the history of the editor', () => {
  const rename = (name: string): EditAction => ({
    type: 'change',
    key: 'delay',
    field: 'name',
    change: { name },
  });

  it('goes back and forward, and forgets what was undone when something else is done', () => {
    const state = after(drawn);
    const back = edit(edit(state, { type: 'undo' }), { type: 'undo' });
    expect(back.journey.steps.map(({ key }) => key)).toEqual([
      'trigger',
      'send-email',
      'delay',
      'condition',
    ]);
    expect(back.chosen).toBe('trigger');
    const forward = edit(edit(back, { type: 'redo' }), { type: 'redo' });
    expect(forward.journey).toEqual(state.journey);
    expect(edit(back, rename('Two days')).future).toEqual([]);
  });

  it('takes the letters of one word as one change', () => {
    const typed = after([...drawn, rename('T'), rename('Tw'), rename('Two')]);
    expect(edit(typed, { type: 'undo' }).journey).toEqual(after(drawn).journey);
    const chosenBetween = [rename('T'), { type: 'choose', key: 'exit' }, rename('Two')] as const;
    const twice = after([...drawn, ...chosenBetween]);
    expect(edit(twice, { type: 'undo' }).journey.steps[2]?.name).toBe('T');
  });

  it('has the last 100 changes', () => {
    let state = after(drawn);
    for (let number = 0; number < 120; number++) {
      state = edit(state, { type: 'move', positions: { delay: { x: number, y: 0 } } });
    }
    for (let number = 0; number < 200; number++) state = edit(state, { type: 'undo' });
    expect(state.journey.steps[2]?.position.x).toBe(19);
    expect(state.past).toEqual([]);
  });
});

describe('the outline', () => {
  it('lists each step once, along its ways, and those without a way last', () => {
    const { journey } = after([
      ...drawn,
      add('WEBHOOK', 'condition', 'no'),
      { type: 'connect', from: 'webhook', branch: null, to: 'exit' },
    ]);
    const items = outlineOf(journey).map(({ step, depth, branch, leadsTo, isReached }) => [
      step.key,
      depth,
      branch,
      leadsTo,
      isReached,
    ]);
    expect(items).toEqual([
      ['trigger', 0, null, [], true],
      ['send-email', 0, null, [], true],
      ['delay', 0, null, [], true],
      ['condition', 0, null, [], true],
      ['exit', 1, 'Yes', [], true],
      ['webhook', 1, 'No', ['Exit'], true],
      ['exit-2', 0, null, [], false],
    ]);
  });
});

describe('a finding of the check', () => {
  it('leads to its step and field, also if a key has dots', () => {
    const step = { ...empty.steps[0]!, type: 'DELAY' as const };
    const journey: Journey = {
      ...empty,
      steps: [empty.steps[0]!, { ...step, key: 'a' }, { ...step, key: 'a.config' }],
      transitions: [{ from: 'a', to: 'a.config' }],
    };
    const problem = (field: string) => ({ field, message: 'Wrong.' });
    const found = findingsOf(journey, {
      problems: [
        problem('graph.steps.a.config.amount'),
        problem('graph.steps.a.config.config.amount'),
        problem('graph.trigger.config'),
        problem('graph.transitions.0.branch'),
        problem('graph.steps'),
      ],
      warnings: [{ step: 'a', message: 'Odd.' }],
    });
    expect(found.map(({ key, field }) => [key, field])).toEqual([
      ['a.config', 'amount'],
      ['a.config', 'config.amount'],
      ['trigger', 'config'],
      ['a', ''],
      [null, 'steps'],
      ['a', ''],
    ]);
  });
});
