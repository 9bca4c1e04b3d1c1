import type { Engine } from './engine.ts';

/** Seconds within which another worker must take over from a killed worker. */
const missedWithin = 60;

/**
 * Lists the activities of a run that lack heartbeats, so that another worker would take over too
 * late.
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
