import type { ActivityItem } from '../../everpost.ts';
import { type Call, command } from '../frame/command.ts';
import { bold, dim, type Text } from '../frame/text.ts';
import { Seen, sinceOf, watch, watchOptions } from './watching.ts';

const pageSize = 100;

/** Shows the activity of the project. */
export const logs = command({
  name: 'logs',
  operands: [],
  summary: 'Show the activity: mail, events, workflows',
  description:
    'The newest comes first; with --watch the oldest. As JSON, each activity is an object on a line of its own.',
  options: watchOptions,
  example: 'everpost logs --since 1h --watch',
  async run(call) {
    if (call.options.watch) return watchLogs(call);
    for await (const item of activity(call, sinceOf(call))) show(call, item);
  },
});

type LogsCall = Call<typeof watchOptions>;

async function watchLogs(call: LogsCall): Promise<void> {
  const seen = new Seen<true>();
  await watch(call, async (since, shownFrom) => {
    const items: ActivityItem[] = [];
    for await (const item of activity(call, since)) {
      if (!seen.get(item.id)) items.push(item);
    }
    for (const item of items.toReversed()) {
      seen.set(item.id, true);
      if (new Date(item.timestamp) >= shownFrom) show(call, item);
    }
  });
}

async function* activity(call: LogsCall, since: Date): AsyncGenerator<ActivityItem> {
  const everpost = await call.api();
  const query = { startDate: since.toISOString(), limit: pageSize };
  yield* everpost.list('/activity', { query, signal: call.signal });
}

function show({ output }: LogsCall, item: ActivityItem): void {
  output.item(item, () => lineOf(item));
}

function lineOf({ timestamp, type, contactEmail, metadata }: ActivityItem): Text {
  const { eventName, subject, campaignName, workflowName } = metadata;
  const about = [eventName, workflowName, campaignName, subject].find(
    (text): text is string => typeof text === 'string',
  );
  const words = [bold(type), contactEmail, about].filter((word) => word !== undefined);
  return [dim(timestamp), ...words.flatMap((word): Text[] => ['  ', word])];
}
