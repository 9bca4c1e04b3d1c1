import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { localActivityType } from '../worker/describe-run.ts';
import {
  asked,
  attempts,
  ending,
  firstPayload,
  type HistoryEvent,
  summaryOf,
  timeOf,
} from '../worker/history-events.ts';

/** One workflow task of a run: why its code ran, and what the code did. */
export interface TraceTask {
  /**
   * ISO 8601 time when the task was completed; if it was not completed, the time of its last event.
   */
  at: string;
  /** Id of the event that completed the task; null: the task has not run. */
  eventId: number | null;
  /** Descriptions of the events that started the task, in order. */
  woken: string[];
  /**
   * Commands of the task with their results, in order. The result of an activity starts a later
   * task.
   */
  did: string[];
}

/** Maximum number of shown characters of a value. The history has the whole value. */
const valueCharsMax = 2_000;

/**
 * Returns the workflow tasks of a recorded run, oldest first. The code of the run continues at the
 * start of each task.
 */
export function traceHistory({ events }: History): TraceTask[] {
  const tasks: TraceTask[] = [];
  const byId = new Map((events ?? []).map((event) => [Number(event.eventId), event]));
  let woken: string[] = [];
  for (const event of events ?? []) {
    const task = tasks.at(-1);
    const command = commandOf(event, byId);
    if (event.workflowTaskCompletedEventAttributes) {
      tasks.push({ at: timeOf(event), eventId: Number(event.eventId), woken, did: [] });
      woken = [];
    } else if (command !== null) task?.did.push(command);
    else woken.push(...wakingOf(event, byId));
  }
  const [last] = (events ?? []).slice(-1);
  // The last entry has the events that arrived after the last task, or that ended the run from
  // outside.
  if (last && woken.length > 0) tasks.push({ at: timeOf(last), eventId: null, woken, did: [] });
  return tasks;
}

export function traceLines(tasks: readonly TraceTask[]): string[] {
  return tasks.flatMap(({ at, eventId, woken, did }) => [
    `${at}  ${eventId === null ? 'not run yet' : `task completed (event ${eventId})`}`,
    ...woken.map((text) => `    woken by  ${text}`),
    ...did.map((text) => `    did       ${text}`),
  ]);
}

type EventsById = ReadonlyMap<number, HistoryEvent>;

/** Returns the command that the code issued, if this event records one. */
function commandOf(event: HistoryEvent, byId: EventsById): string | null {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled) {
    const input = shown(firstPayload(scheduled.input?.payloads));
    return `call ${scheduled.activityType?.name}${label(event)}${input}`;
  }
  const timer = event.timerStartedEventAttributes;
  if (timer) return `start a timer of ${secondsOf(timer.startToFireTimeout)} s${label(event)}`;
  const cancelled = event.timerCanceledEventAttributes;
  if (cancelled) return `cancel ${timerName(byId.get(Number(cancelled.startedEventId)))}`;
  const marker = event.markerRecordedEventAttributes;
  if (marker) return markerText(event, marker);
  const attributes = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes;
  if (attributes) {
    const set = Object.entries(attributes.indexedFields ?? {}).map(
      ([key, payload]) => `${key} = ${textOf(defaultPayloadConverter.fromPayload(payload))}`,
    );
    return `set ${set.join(', ')}`;
  }
  // A termination comes from outside, so it is not a command of the code.
  const isOwn = !event.workflowExecutionTerminatedEventAttributes;
  const end = isOwn ? ending(event) : null;
  return end === null ? null : `end: ${end}`;
}

function markerText(
  event: HistoryEvent,
  marker: NonNullable<HistoryEvent['markerRecordedEventAttributes']>,
): string {
  if (marker.markerName !== 'core_local_activity') {
    return `mark ${marker.markerName}${shown(firstPayload(marker.details?.['patch-data']?.payloads))}`;
  }
  const call = `perform ${localActivityType(marker)}${label(event)}`;
  if (marker.failure) return `${call}, which failed: ${marker.failure.message}`;
  return `${call}${shown(firstPayload(marker.details?.['result']?.payloads), ' → ')}`;
}

/** Returns the reasons why this event runs the code. */
function wakingOf(event: HistoryEvent, byId: EventsById): string[] {
  const started = event.workflowExecutionStartedEventAttributes;
  if (started) return [`the start${shown(firstPayload(started.input?.payloads))}`];
  const fired = event.timerFiredEventAttributes;
  if (fired) return [`${timerName(byId.get(Number(fired.startedEventId)))}, which is over`];
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) {
    return [`the signal "${signal.signalName}"${shown(firstPayload(signal.input?.payloads))}`];
  }
  const task = event.workflowTaskFailedEventAttributes;
  if (task) return [`a task that failed: ${task.failure?.message}`];
  if (event.workflowTaskTimedOutEventAttributes) return ['a task that took too long'];
  const text = activityEnd(event, byId) ?? asked(event) ?? ending(event);
  return text === null ? [] : [text];
}

function activityEnd(event: HistoryEvent, byId: EventsById): string | null {
  const done = event.activityTaskCompletedEventAttributes;
  const failed =
    event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
  const ended = done ?? failed ?? event.activityTaskCanceledEventAttributes;
  if (!ended) return null;
  const scheduled = byId.get(Number(ended.scheduledEventId));
  const begun = byId.get(Number(ended.startedEventId))?.activityTaskStartedEventAttributes;
  const { name } = scheduled?.activityTaskScheduledEventAttributes?.activityType ?? {};
  const what = `${name}${scheduled ? label(scheduled) : ''}${begun ? attempts(begun) : ''}`;
  if (done) return `${what}, done${shown(firstPayload(done.result?.payloads), ' → ')}`;
  return failed ? `${what}, failed: ${failed.failure?.message}` : `${what}, cancelled`;
}

function timerName(event: HistoryEvent | undefined): string {
  const duration = event?.timerStartedEventAttributes?.startToFireTimeout;
  return `the timer of ${secondsOf(duration)} s${event ? label(event) : ''}`;
}

function secondsOf(
  duration: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number {
  return Number(duration?.seconds ?? 0) + (duration?.nanos ?? 0) / 1e9;
}

function label(event: HistoryEvent): string {
  const summary = summaryOf(event);
  return summary === null ? '' : ` [${summary}]`;
}

function shown(value: unknown, before = ': '): string {
  return value === undefined || value === null ? '' : `${before}${textOf(value)}`;
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)} …` : text;
}
