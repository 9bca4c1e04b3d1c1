import { Document } from 'yaml';
import { keysRead } from '../../../api/files/journeys/keys-read.ts';
import type { FilesProject, PlayableWorkflow } from '../../../api/files/journeys/project.ts';
import { durationText } from '../../../domain/time/duration.ts';
import { eventsOf, receiversOf, startEventOf } from './happenings.ts';
import type { RecordedExecution } from './recorded.ts';
import type { Way } from './ways.ts';

/** Writes an execution as a journey test without personal data. */

const madeUpAddress = 'somebody@example.com';
/** Maximum number of events of a test. */
const eventsMax = 200;

type Json = Record<string, unknown>;

/** @param way the way of the execution, which the test expects */
export function journeyOf(
  recorded: RecordedExecution,
  way: Way,
  { key, workflow, project }: { key: string; workflow: PlayableWorkflow; project: FilesProject },
): string {
  const read = keysRead(workflow, project.segments, project.policy);
  const kept = (data: Json | null) => keptOf(data, read);
  const { contact, startedAt } = recorded;
  const start = startEventOf(recorded);
  const webhooks = [...receiversOf(recorded)].map(([step, { statusCode, failures }]) => [
    step,
    { statusCode, ...(failures > 0 && { failures }) },
  ]);
  const arms = recorded.path.flatMap(({ step, type, branch }) =>
    type === 'SPLIT' && branch !== null ? [[step, branch]] : [],
  );
  const events = eventsOf(recorded)
    .slice(0, eventsMax)
    .map(({ name, at, data }) => ({
      name,
      after: afterText(at.getTime() - startedAt.getTime()),
      ...kept(data),
    }));
  const { topics } = contact;
  const file = {
    workflow: key,
    contact: {
      email: madeUpAddress,
      ...(!contact.subscribed && { subscribed: false }),
      ...kept(contact.data),
      ...(Object.keys(topics).length > 0 && { topics }),
    },
    tests: [
      {
        name: `execution ${recorded.id}`,
        startAt: startedAt.toISOString(),
        ...contextOf(kept(start ? start.data : recorded.context)),
        ...(recorded.key !== null && { key: recorded.key }),
        ...(arms.length > 0 && { arms: Object.fromEntries(arms) as Json }),
        ...(webhooks.length > 0 && { webhooks: Object.fromEntries(webhooks) as Json }),
        ...(events.length > 0 && { events }),
        expect: {
          path: way.path.map(({ step, branch }) => (branch === null ? step : { [step]: branch })),
          ...(way.status !== 'CANCELLED' && { end: way.status }),
          ...(way.exitReason !== null && { reason: way.exitReason }),
        },
      },
    ],
  };
  return new Document(file, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 });
}

function contextOf({ data }: { data?: Json }): { context?: Json } {
  return data ? { context: data } : {};
}

/** Returns the data with the keys that conditions read; empty: there are none. */
function keptOf(data: Json | null, read: ReadonlySet<string>): { data?: Json } {
  const entries = Object.entries(data ?? {}).filter(([key]) => read.has(key));
  return entries.length === 0 ? {} : { data: Object.fromEntries(entries) };
}

/** Returns a duration as YAML has it: a number for a part of a second. */
function afterText(ms: number): string | number {
  return ms % 1000 === 0 ? durationText(ms / 1000) : ms / 1000;
}
