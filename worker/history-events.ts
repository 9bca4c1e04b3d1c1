import { arrayFromPayloads, defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';

export type HistoryEvent = NonNullable<History['events']>[number];

/** One line about the history of a run, in product terms. */
export interface HistoryLine {
  /** ISO 8601. */
  at: string;
  text: string;
}

export function timeOf({ eventTime }: HistoryEvent): string {
  const ms = Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1e6);
  return new Date(ms).toISOString();
}

export function firstPayload(payloads: Parameters<typeof arrayFromPayloads>[1]): unknown {
  return arrayFromPayloads(defaultPayloadConverter, payloads)[0];
}

/** Returns the summary that operators see beside an event, such as the name of a step. */
export function summaryOf({ userMetadata }: HistoryEvent): string | null {
  const { summary } = userMetadata ?? {};
  return summary ? String(defaultPayloadConverter.fromPayload(summary)) : null;
}

/** Returns how the run ended, if this event ended the run. */
export function ending(event: HistoryEvent): string | null {
  if (event.workflowExecutionCompletedEventAttributes) {
    const result = firstPayload(event.workflowExecutionCompletedEventAttributes.result?.payloads);
    return typeof result === 'string' ? result : 'COMPLETED';
  }
  if (event.workflowExecutionFailedEventAttributes) {
    return `FAILED: ${event.workflowExecutionFailedEventAttributes.failure?.message}`;
  }
  if (event.workflowExecutionCanceledEventAttributes) return 'CANCELLED';
  if (event.workflowExecutionTerminatedEventAttributes) {
    return `terminated: ${event.workflowExecutionTerminatedEventAttributes.reason}`;
  }
  return event.workflowExecutionContinuedAsNewEventAttributes ? 'continues as a new run' : null;
}

export function asked(event: HistoryEvent): string | null {
  return event.workflowExecutionCancelRequestedEventAttributes ? 'cancellation requested' : null;
}

/** Returns a text about earlier failed attempts of an activity; empty when there were none. */
export function attempts({
  attempt,
  lastFailure,
}: NonNullable<HistoryEvent['activityTaskStartedEventAttributes']>): string {
  return attempt && attempt > 1 ? `, in attempt ${attempt} (before: ${lastFailure?.message})` : '';
}
