import {
  addStep,
  changeStep,
  connect,
  deleteStep,
  disconnect,
  moveSteps,
  type NewStep,
  type StepChange,
} from './edits.ts';
import { findStep, type Journey, triggerKey } from './graph.ts';

/**
 * The state of the editor: one graph, its history, and the chosen step. All views show this state.
 */
export interface Editing {
  journey: Journey;
  /** Key of the chosen step. */
  chosen: string;
  /** Earlier graphs, for undo, the newest last. */
  past: readonly Journey[];
  /** Graphs that were undone, for redo. The graph that redo restores first is the first. */
  future: readonly Journey[];
  /** All keys that steps have or had since the graph was loaded. */
  usedKeys: readonly string[];
  /** The field that was changed last. Changes of the same field in a row are undone together. */
  field: string | null;
}

/** The settings of the workflow that the form of its trigger changes. */
export type Settings = Pick<
  Journey,
  'trigger' | 'allowReentry' | 'reentry' | 'executionKey' | 'exitRules'
>;

export type EditAction =
  | { type: 'load'; journey: Journey }
  | { type: 'choose'; key: string }
  | ({ type: 'add' } & NewStep)
  | { type: 'change'; key: string; change: StepChange; field: string }
  | { type: 'set'; settings: Partial<Settings>; field: string }
  | { type: 'connect'; from: string; branch: string | null; to: string }
  | { type: 'disconnect'; from: string; branch: string | null }
  | { type: 'delete'; key: string }
  | { type: 'move'; positions: Readonly<Record<string, { x: number; y: number }>> }
  | { type: 'undo' }
  | { type: 'redo' };

const historyMax = 100;

export function startEditing(journey: Journey): Editing {
  const usedKeys = journey.steps.map(({ key }) => key);
  return { journey, chosen: triggerKey, past: [], future: [], usedKeys, field: null };
}

/** Returns the state after an action. */
export function edit(state: Editing, action: EditAction): Editing {
  const { journey } = state;
  switch (action.type) {
    case 'load':
      return startEditing(action.journey);
    case 'choose':
      return { ...state, chosen: action.key, field: null };
    case 'add': {
      const added = addStep(journey, action, state.usedKeys);
      const usedKeys = [...state.usedKeys, added.key];
      return { ...changed(state, added.journey, null), chosen: added.key, usedKeys };
    }
    case 'change':
      return changed(
        state,
        changeStep(journey, action.key, action.change),
        `${action.key}.${action.field}`,
      );
    case 'set':
      return changed(state, { ...journey, ...action.settings }, `trigger.${action.field}`);
    case 'connect':
      return changed(state, connect(journey, action.from, action.branch, action.to), null);
    case 'disconnect':
      return changed(state, disconnect(journey, action.from, action.branch), null);
    case 'delete':
      return deleted(state, action.key);
    case 'move':
      return changed(state, moveSteps(journey, action.positions), null);
    case 'undo':
      return undone(state);
    case 'redo':
      return redone(state);
  }
}

/**
 * Returns the state with a changed graph.
 * @param field the field that was changed; null: each change can be undone alone
 */
function changed(state: Editing, journey: Journey, field: string | null): Editing {
  if (journey === state.journey) return state;
  const isSameField = field !== null && field === state.field;
  const past = isSameField ? state.past : [...state.past, state.journey].slice(-historyMax);
  return { ...state, journey, past, future: [], field };
}

function deleted(state: Editing, key: string): Editing {
  const before = state.journey.transitions.find(({ to }) => to === key)?.from;
  const after = changed(state, deleteStep(state.journey, key), null);
  return after === state ? state : { ...after, chosen: before ?? triggerKey };
}

function undone(state: Editing): Editing {
  const { journey, past, future } = state;
  const before = past.at(-1);
  if (!before) return state;
  const next = { past: past.slice(0, -1), future: [journey, ...future] };
  return { ...state, ...next, journey: before, chosen: kept(state, before), field: null };
}

function redone(state: Editing): Editing {
  const { journey, past, future } = state;
  const [next, ...later] = future;
  if (!next) return state;
  const chosen = kept(state, next);
  return { ...state, journey: next, past: [...past, journey], future: later, chosen, field: null };
}

function kept({ chosen }: Editing, journey: Journey): string {
  return findStep(journey, chosen) ? chosen : triggerKey;
}
