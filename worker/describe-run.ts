import type { History } from '@temporalio/common/lib/proto-utils.js';
import {
  asked,
  attempts,
  ending,
  firstPayload,
  type HistoryEvent,
  type HistoryLine,
  timeOf,
} from './history-events.ts';

/** Maximum number of characters of a value in a line. The history itself has the whole value. */
const valueCharsMax = 200;

/**
 * Describes the history of any run: its input, the results of its activities, its timers and
 * signals, and how it ended.
 * @throws Error when the history does not begin with the start of a run
 */
export function describeRun(history: History): HistoryLine[] {
  const events = history.events ?? [];
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  if (!started) throw new Error('This history does not begin with the start of a run.');
  const byId = new Map(events.map((event) => [Number(event.eventId), event]));
  return events.flatMap((event) => {
    const text = opening(event) ?? activity(event, byId) ?? timer(event, byId) ?? other(event);
    return text === null ? [] : [{ at: timeOf(event), text }];
  });
}

type EventsById = ReadonlyMap<number, HistoryEvent>;

function opening(event: HistoryEvent): string | null {
  const started = event.workflowExecutionStartedEventAttributes;
  if (!started) return null;
  return `${started.workflowType?.name}${shown(firstPayload(started.input?.payloads))}`;
}

function activity(event: HistoryEvent, byId: EventsById): string | null {
  const done = event.activityTaskCompletedEventAttributes;
  const failed =
    event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
  const ended = done ?? failed ?? event.activityTaskCanceledEventAttributes;
  if (!ended) return local(event);
  const scheduled = byId.get(Number(ended.scheduledEventId))?.activityTaskScheduledEventAttributes;
  const begun = byId.get(Number(ended.startedEventId))?.activityTaskStartedEventAttributes;
  const name = scheduled?.activityType?.name;
  const before = begun ? attempts(begun) : '';
  if (done) return `${name} done${before}${shown(firstPayload(done.result?.payloads))}`;
  return failed ? `${name} failed${before}: ${failed.failure?.message}` : `${name} was cancelled`;
}

function local({ markerRecordedEventAttributes: marker }: HistoryEvent): string | null {
  if (marker?.markerName !== 'core_local_activity') return null;
  const name = localActivityType(marker);
  if (marker.failure) return `${name} failed: ${marker.failure.message}`;
  return `${name} done${shown(firstPayload(marker.details?.['result']?.payloads))}`;
}

/** Returns the activity type in a marker, or `a local activity` if the marker has none. */
export function localActivityType({
  details,
}: NonNullable<HistoryEvent['markerRecordedEventAttributes']>): string {
  const { activity_type: type } = (firstPayload(details?.['data']?.payloads) ?? {}) as {
    activity_type?: string;
  };
  return type ?? 'a local activity';
}

function timer(event: HistoryEvent, byId: EventsById): string | null {
  const begun = event.timerStartedEventAttributes;
  if (begun) return `waits ${Number(begun.startToFireTimeout?.seconds ?? 0)} s at most`;
  const fired = event.timerFiredEventAttributes;
  if (!fired) return event.timerCanceledEventAttributes ? 'waits no longer' : null;
  const { startToFireTimeout } =
    byId.get(Number(fired.startedEventId))?.timerStartedEventAttributes ?? {};
  return `has waited ${Number(startToFireTimeout?.seconds ?? 0)} s`;
}

function other(event: HistoryEvent): string | null {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) return `signal "${signal.signalName}"`;
  const task = event.workflowTaskFailedEventAttributes;
  if (task) return `a workflow task failed: ${task.failure?.message}`;
  return ending(event) ?? asked(event);
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = JSON.stringify(value);
  return `: ${text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)} …` : text}`;
}
