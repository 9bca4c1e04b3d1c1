import type { Engine } from './engine.ts';

/** The longest time until another worker takes over from a killed one, in seconds. */
const missedWithin = 60;

/**
 * Names of the activities of a run that would not be missed within a minute if their worker were
 * killed: they have no heartbeats.
 */
export async function listUnwatched({ temporal }: Engine, workflowId: string): Promise<string[]> {
  const { events } = await temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    const times = [scheduled?.heartbeatTimeout, scheduled?.startToCloseTimeout]
      .map((time) => Number(time?.seconds ?? 0))
      .filter((seconds) => seconds > 0);
    return scheduled && Math.min(...times) > missedWithin
      ? [scheduled.activityType?.name ?? '']
      : [];
  });
}
