import type { PlayableWorkflow } from '../../../api/files/journeys/project.ts';
import { isReservedEvent } from '../../../domain/event-names.ts';
import { type EmailActivity, emailActivities, unitMs } from '../../../domain/filter/filter.ts';
import { type ContactHistory, noHistory } from '../../../domain/filter/history.ts';
import { drawnAsStored } from '../../../domain/simulation/given.ts';
import type { SimulatedReceiver } from '../../../domain/simulation/simulation.ts';
import { type Happenings, horizonDays } from '../journeys/play.ts';
import type { RecordedEvent, RecordedExecution } from './recorded.ts';

/** Makes the input of a play from what the server has recorded. */

/** An event starts an execution in the same transaction, so their times are almost equal. */
const startToleranceMs = 1_000;

/** Statuses in which an execution has reached the end of its own way. */
const ownEnds: readonly string[] = ['COMPLETED', 'EXITED', 'FAILED'];

/** The events of a contact by which activities of its mail are known. */
const activityEvents: Readonly<Record<EmailActivity, string>> = {
  opened: 'email.open',
  clicked: 'email.click',
  bounced: 'email.bounce',
  complained: 'email.complaint',
  sent: 'email.sent',
  delivered: 'email.delivery',
  humanOpened: 'email.human_open',
  humanClicked: 'email.human_click',
};

export function happeningsOf(recorded: RecordedExecution, now: Date): Happenings {
  const { contact, startedAt, completedAt, status, key } = recorded;
  const start = startEventOf(recorded);
  const earlier = recorded.events.filter((event) => event.at < startedAt && event !== start);
  return {
    contact,
    topics: contact.topics,
    subject: { contact: contact.id, key },
    context: start ? start.data : recorded.context,
    events: eventsOf(recorded).map(({ name, at, data }) => ({
      name,
      at,
      given: isReservedEvent(name) ? null : data,
      data,
    })),
    receivers: receiversOf(recorded),
    history: historyOf(earlier),
    startAt: startedAt,
    stopAt: ownEnds.includes(status)
      ? new Date(startedAt.getTime() + horizonDays * unitMs.days)
      : (completedAt ?? now),
  };
}

/** Returns the workflow with the arms that its SPLIT steps draw in the project. */
export function drawnAsRecorded(
  workflow: PlayableWorkflow,
  { steps }: RecordedExecution,
): PlayableWorkflow {
  const { graph } = workflow;
  const drawn = graph.steps.map((step) => drawnAsStored(step, steps));
  return { ...workflow, graph: { ...graph, steps: drawn } };
}

/** Returns the event that started an execution. */
export function startEventOf({
  events,
  startEventName,
  startedAt,
}: RecordedExecution): RecordedEvent | undefined {
  return events.findLast(
    ({ name, at }) =>
      name === startEventName && Math.abs(at.getTime() - startedAt.getTime()) <= startToleranceMs,
  );
}

/**
 * Returns the events during an execution, without those that its own steps have caused: the play
 * causes them again.
 */
export function eventsOf(recorded: RecordedExecution): RecordedEvent[] {
  const start = startEventOf(recorded);
  return recorded.events.filter(
    (event) =>
      event.at >= recorded.startedAt &&
      event !== start &&
      event.data?.['source'] !== 'workflow' &&
      event.name !== 'email.sent',
  );
}

/** Returns the responses that receivers gave, by the key of the step. */
export function receiversOf({ path }: RecordedExecution): Map<string, SimulatedReceiver> {
  const calls = path.filter(({ type, output }) => type === 'WEBHOOK' && output !== null);
  return new Map(
    calls.map(({ step, output }) => {
      const { statusCode, response, attempts } = output ?? {};
      // Without a response, every attempt has failed.
      if (typeof statusCode !== 'number') return [step, { statusCode: 503, failures: 0 }];
      const failures = typeof attempts === 'number' ? Math.max(0, attempts - 1) : 0;
      return [step, { statusCode, failures, ...(response != null && { response }) }];
    }),
  );
}

function historyOf(earlier: readonly RecordedEvent[]): ContactHistory {
  const activities = new Map<EmailActivity, Date>();
  for (const { name, at } of earlier) {
    const activity = emailActivities.find((known) => activityEvents[known] === name);
    if (activity) activities.set(activity, at);
  }
  return { ...noHistory, events: new Map(earlier.map(({ name, at }) => [name, at])), activities };
}
