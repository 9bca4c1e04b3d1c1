import { readFile } from 'node:fs/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import {
  type History,
  historyFromJSON,
  historyToJSON,
} from '@temporalio/common/lib/proto-utils.js';
import { executionRunId, deliveryRunId } from '../domain/runs/execution.ts';
import { isUuid } from '../domain/ids.ts';
import { runIds } from '../domain/runs/runs.ts';
import type { RecordedRun } from '../worker/replay.ts';

/** Thrown when there is nothing to replay. The message tells the user why, and what to do. */
export class NoHistory extends Error {}

export interface FoundRun extends RecordedRun {
  /** null: the file does not contain the run id. */
  runId: string | null;
}

/** Maximum number of other runs of the same workflow id that are listed. */
const earlierMax = 10;

/** Reads an exported history. @throws NoHistory when the file contains no history. */
export async function readHistory(path: string): Promise<FoundRun> {
  try {
    const history = historyFromJSON(JSON.parse(await readFile(path, 'utf8')));
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    return {
      history,
      workflowId: started?.workflowId || path,
      runId: started?.originalExecutionRunId || null,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new NoHistory(`${path} is neither an id nor an exported history: ${reason}`, {
      cause: error,
    });
  }
}

/** Names of maps in a history. Temporal returns their keys in any order. */
const mapNames = ['indexedFields', 'fields', 'details'];

/** Returns a history as the text of a file. Equal histories give equal texts. */
export function fileOf(history: History): string {
  return `${JSON.stringify(JSON.parse(historyToJSON(history)), sortedMap, 2)}\n`;
}

function sortedMap(name: string, value: unknown): unknown {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!mapNames.includes(name) || !isMap) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Fetches the history of a run by its workflow id, or by the id of its row, for example of an
 * execution, a campaign, a domain or a project. Without `runId`, fetches the newest run.
 * @throws NoHistory when Temporal has no such run, or when the id is ambiguous.
 */
export async function fetchHistory(
  client: Client,
  source: string,
  runId: string | undefined,
): Promise<FoundRun> {
  const found = await Promise.all(
    (isUuid(source) ? idsAround(source) : [source]).map((id) => describe(client, id, runId)),
  );
  const runs = found.filter((run) => run !== null);
  if (runs.length > 1) {
    const names = runs.map(({ workflowId }) => `\n  ${workflowId}`).join('');
    throw new NoHistory(`${source} has several runs in Temporal. Name one of them:${names}`);
  }
  const [run] = runs;
  if (!run) throw new NoHistory(unknown(source, runId));
  const handle = client.workflow.getHandle(run.workflowId, run.runId);
  return { ...run, history: await handle.fetchHistory() };
}

/** Another run of the same workflow id. */
export interface OtherRun {
  runId: string;
  /** When the run began, ISO 8601. */
  startedAt: string;
  /** Temporal's name of the status: `FAILED`, `COMPLETED`, `CONTINUED_AS_NEW`. */
  status: string;
}

/** Lists the other runs of a workflow id that Temporal keeps, newest first. */
export async function otherRuns(client: Client, { workflowId, runId }: FoundRun) {
  const others: OtherRun[] = [];
  const query = `WorkflowId = "${workflowId}"`;
  for await (const run of client.workflow.list({ query, pageSize: earlierMax })) {
    if (run.runId !== runId) {
      const { startTime, status } = run;
      others.push({ runId: run.runId, startedAt: startTime.toISOString(), status: status.name });
    }
    if (others.length === earlierMax) break;
  }
  return others;
}

/** Refuses texts that cannot be an id, without a request to Temporal. @throws NoHistory */
export function refuseSource(source: string, runId: string | undefined): void {
  if (source.includes('@')) {
    throw new NoHistory(
      `Temporal holds no mail addresses: ${source} cannot be found there. Find the execution in ` +
        'the API (GET /workflows/{id}/executions) and give its id. More ways: docs/operating/temporal-ui.md.',
    );
  }
  const isRunId: boolean = runId === undefined || isUuid(runId);
  if (!isRunId) {
    throw new NoHistory(
      `"${runId}" is not a run id. Give the "temporalRunId" of the API or the "Run ID" of the Temporal UI.`,
    );
  }
  if (/["\s]/.test(source))
    throw new NoHistory(`"${source}" is not an id: it has a space or a quotation mark.`);
}

/** Returns the possible workflow ids of a run, from the id of its row. */
function idsAround(id: string): string[] {
  return [
    executionRunId(id),
    runIds.campaignSend({ projectId: '', campaignId: id }),
    runIds.domainPoller({ projectId: '', domainId: id, name: '' }),
    runIds.ramp({ projectId: '', rampId: id }),
    deliveryRunId(id),
    runIds.projectReset({ projectId: id }),
    runIds.projectDelete({ projectId: id }),
    runIds.systemMail({ projectId: null, mailId: id, kind: 'campaign-test' }),
    runIds.systemMail({ projectId: null, mailId: id, kind: 'platform-mail' }),
    id,
  ];
}

async function describe(client: Client, workflowId: string, runId: string | undefined) {
  try {
    const found = await client.workflow.getHandle(workflowId, runId).describe();
    return { workflowId, runId: found.runId };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

function unknown(source: string, runId: string | undefined): string {
  const tooOld =
    'It ended so long ago that Temporal no longer keeps it (retention of the namespace), or';
  if (runId !== undefined) {
    return (
      `Temporal has no run ${runId} of ${source}. ${tooOld} one of the two ids is wrong. Leave out ` +
      '--run to replay the latest run; the output lists the others.'
    );
  }
  return (
    `Temporal has no run of ${source}. ${tooOld} the id is wrong. Give the id of an execution, a ` +
    'campaign, a domain, a project or a job, or a workflow id as the Temporal UI shows it ' +
    '(docs/operating/temporal-ui.md lists them). Contacts, mail of projects and workflows have no ' +
    'run of their own.'
  );
}
