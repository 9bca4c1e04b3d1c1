import type { History } from '@temporalio/common/lib/proto-utils.js';
import { DeterminismViolationError } from '@temporalio/workflow';
import { firstPayload, type HistoryEvent } from './history-events.ts';
import type { IssuedCommand, IssuedCommands } from './issued-commands.ts';
import { localActivityType } from './describe-run.ts';
import { stepAt } from './describe-history.ts';

/** The place at which the current code first differs from a recorded history. */
export interface Divergence {
  /** One sentence with the place, what the history has there, and what the code does. */
  text: string;
  /** Id of the event in the history; null: unknown. */
  eventId: number | null;
  /** Temporal's own error message. */
  cause: string;
  /**
   * Stack of the error that the code threw; null: the code threw no error, but issued another
   * command.
   */
  stack: string | null;
}

/**
 * Explains a failed replay.
 * @param issued the commands that the code issued before the failure
 */
export function explainDivergence(
  history: History,
  error: Error,
  issued: readonly IssuedCommands[],
): Divergence {
  const cause = quoted(messageText, error.message) ?? error.message;
  const task = taskOf(history, issued);
  if (!(error instanceof DeterminismViolationError)) {
    const eventId = task.completedId;
    const stack = quoted(stackText, error.message)?.replace(/^[^]*?\n\n/, '') ?? null;
    const where = place(history, eventId, null, underWay(task));
    return { text: `${where}: your code fails: ${cause}`, eventId, cause, stack };
  }
  const { event, command } = mismatch(history, task, cause);
  if (!event && !command) return { text: cause, eventId: null, cause, stack: null };
  const eventId = Number(event?.eventId ?? task.lastId);
  const [was, is] = wording(event, command);
  const text = `${place(history, eventId, event)}: the history ${was}, your code ${is}`;
  return { text, eventId, cause, stack: null };
}

/**
 * The workflow task at which a replay stopped, with the commands of the history and the commands of
 * the code.
 */
interface Task {
  completedId: number | null;
  lastId: number | null;
  events: HistoryEvent[];
  commands: IssuedCommand[];
}

function taskOf({ events }: History, issued: readonly IssuedCommands[]): Task {
  const length = issued.at(-1)?.historyLength;
  const completed = events?.find(
    ({ workflowTaskCompletedEventAttributes: task }) => Number(task?.startedEventId) === length,
  );
  const after = completed ? events!.slice(events!.indexOf(completed) + 1) : [];
  // The events of a task's commands come directly after the task, before any other event.
  const next = after.findIndex((event) => doingOf(event) === null && !isChangeList(event));
  const own = next < 0 ? after : after.slice(0, next);
  return {
    completedId: completed ? Number(completed.eventId) : null,
    lastId: Number(own.at(-1)?.eventId ?? completed?.eventId) || null,
    events: own.filter((event) => !isChangeList(event)),
    commands: issued
      .filter(({ historyLength }) => historyLength === length)
      .flatMap(({ commands }) => commands)
      .filter(({ kind }) => Object.hasOwn(doings, kind)),
  };
}

/**
 * Returns true for the event that sets the search attribute with the `patched` changes. The SDK
 * itself sets this attribute, so the code issues no command for it.
 */
function isChangeList({ upsertWorkflowSearchAttributesEventAttributes: upsert }: HistoryEvent) {
  return Object.hasOwn(upsert?.searchAttributes?.indexedFields ?? {}, 'TemporalChangeVersion');
}

function mismatch(
  { events }: History,
  task: Task,
  cause: string,
): { event: HistoryEvent | null; command: IssuedCommand | null } {
  const named = /HistoryEvent\(id: (\d+)/.exec(cause)?.[1];
  const at = named
    ? task.events.findIndex(({ eventId }) => Number(eventId) === Number(named))
    : task.events.findIndex((event, index) => !isSame(event, task.commands[index]));
  const index = at < 0 ? task.events.length : at;
  const byName = named ? events?.find(({ eventId }) => Number(eventId) === Number(named)) : null;
  return { event: byName ?? task.events[index] ?? null, command: task.commands[index] ?? null };
}

function isSame(event: HistoryEvent, command: IssuedCommand | undefined): boolean {
  const doing = doingOf(event);
  return command?.kind === doing?.kind && command?.name === doing?.name;
}

/**
 * Returns the id of the event before which the code failed; null: unknown. Within a task, the code
 * continues after each local activity. So the result is the event after the last local activity
 * that the code scheduled. If the code scheduled no local activity, the result is the completion of
 * the task.
 */
function underWay({ completedId, events, commands }: Task): number | null {
  const asked = commands.filter(({ kind }) => kind === 'scheduleLocalActivity').length;
  const results = events.filter((event) => doingOf(event)?.kind === 'scheduleLocalActivity');
  const last = results.slice(0, asked).at(-1);
  return last ? Number(last.eventId) + 1 : completedId;
}

/**
 * Names the place of a divergence.
 * @param before id of an event; the step at which the run was before this event is named. Default:
 * `eventId`
 */
function place(
  history: History,
  eventId: number | null,
  event?: HistoryEvent | null,
  before: number | null = eventId,
): string {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const where =
    stepAt(history, before ?? Infinity) ??
    (event && doingOf(event)?.name) ??
    started?.workflowType?.name ??
    'the beginning';
  return `at ${where}${eventId === null ? '' : ` (event ${eventId})`}`;
}

/**
 * Descriptions of commands by kind. The name of the command is added to `named`, which is used when
 * the commands of history and code are of the same kind.
 */
const doings: Record<string, readonly [plain: string, named?: string]> = {
  scheduleActivity: ['schedules an activity', 'schedules the activity'],
  scheduleLocalActivity: ['runs a local activity', 'runs the local activity'],
  startTimer: ['starts a timer'],
  cancelTimer: ['cancels a timer'],
  requestCancelActivity: ['cancels an activity'],
  setPatchMarker: ['marks a guarded change', 'marks the guarded change'],
  upsertWorkflowSearchAttributes: ['sets search attributes'],
  continueAsNewWorkflowExecution: ['goes on as a new run'],
  completeWorkflowExecution: ['completes'],
  failWorkflowExecution: ['fails'],
  cancelWorkflowExecution: ['ends as cancelled'],
};

function wording(event: HistoryEvent | null, command: IssuedCommand | null): [string, string] {
  const doing = event && doingOf(event);
  const exact = doing?.kind === command?.kind;
  const said = (what: { kind: string; name: string | null } | null) => {
    const [plain, named] = doings[what?.kind ?? ''] ?? ['does nothing more'];
    return exact && named && what?.name ? `${named} ${what.name}` : plain;
  };
  return [said(doing), said(command)];
}

/** Returns the command that an event records; null for events that no command caused. */
function doingOf(event: HistoryEvent): IssuedCommand | null {
  const kind = eventKinds.find(([attributes]) => event[attributes])?.[1];
  if (kind) {
    const name = event.activityTaskScheduledEventAttributes?.activityType?.name ?? null;
    return { kind, name };
  }
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName === 'core_local_activity') {
    return { kind: 'scheduleLocalActivity', name: localActivityType(marker) };
  }
  if (marker?.markerName !== 'core_patch') return null;
  const patch = firstPayload(marker.details?.['patch-data']?.payloads) as { id?: string } | null;
  return { kind: 'setPatchMarker', name: patch?.id ?? null };
}

const eventKinds = [
  ['activityTaskScheduledEventAttributes', 'scheduleActivity'],
  ['timerStartedEventAttributes', 'startTimer'],
  ['timerCanceledEventAttributes', 'cancelTimer'],
  ['activityTaskCancelRequestedEventAttributes', 'requestCancelActivity'],
  ['upsertWorkflowSearchAttributesEventAttributes', 'upsertWorkflowSearchAttributes'],
  ['workflowExecutionContinuedAsNewEventAttributes', 'continueAsNewWorkflowExecution'],
  ['workflowExecutionCompletedEventAttributes', 'completeWorkflowExecution'],
  ['workflowExecutionFailedEventAttributes', 'failWorkflowExecution'],
  ['workflowExecutionCanceledEventAttributes', 'cancelWorkflowExecution'],
] as const;

const messageText = /message: "((?:[^"\\]|\\.)*)"/;
const stackText = /stack_trace: "((?:[^"\\]|\\.)*)"/;

/** Returns a quoted text from the SDK's error message. */
function quoted(part: RegExp, dump: string): string | null {
  const text = part.exec(dump)?.[1];
  if (!text) return null;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
