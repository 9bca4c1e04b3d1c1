import { useEffect, useState } from 'react';
import type { Everpost } from '../../../../../client/everpost.ts';
import type { ImportJob, ImportJobResult } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Progress, State } from '../../../design/parts.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { saveFile } from '../../../shell/save-file.ts';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { isEnded, textOfJobState } from '../../../words/jobs.ts';
import { count, counted } from '../../../words/numbers.ts';
import { type ContactFile, csvLine, partsOf, type RowFault, type Target } from './csv-file.ts';

/** The progress and the result so far of an import in one or more parts. */
interface ImportState {
  percent: number;
  created: number;
  updated: number;
  failed: number;
  faults: readonly RowFault[];
  isDone: boolean;
  /** The server's reason why the import stopped; null: the import has not stopped. */
  stopped: string | null;
  error: unknown;
}

const pollMs = 1_000;

/** Waits until the server has imported a part. The server continues if the page is closed. */
async function ended(
  api: Everpost,
  jobId: string,
  onProgress: (percent: number) => void,
): Promise<ImportJob> {
  for (;;) {
    const job = await api.get('/contacts/import/{jobId}', { path: { jobId } });
    if (isEnded(job.state)) return job;
    onProgress(job.progress);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/**
 * Sends a file part by part. A part is sent after the import of the previous part has ended, so
 * that rows keep their order.
 */
export function useImport() {
  const { api, project } = useProject();
  const [state, setState] = useState<ImportState | null>(null);
  const [failedAt, setFailedAt] = useState<(() => Promise<void>) | null>(null);
  const start = async (file: ContactFile, targets: readonly Target[]) => {
    const { parts, faults } = partsOf(file, targets);
    const begun = { percent: 0, created: 0, updated: 0, isDone: false, stopped: null, error: null };
    const go = async (from: number, before: ImportState): Promise<void> => {
      let sum: ImportState = { ...before, stopped: null, error: null };
      setState(sum);
      for (let at = from; at < parts.length; at++) {
        const { content, rows } = parts[at]!;
        try {
          const body = new FormData();
          body.append('file', content, file.name);
          const { jobId } = await api.post('/contacts/import', { body });
          const job = await ended(api, jobId, (percent) =>
            setState({ ...sum, percent: (100 * at + percent) / parts.length }),
          );
          if (!job.result || job.state !== 'completed') {
            setState({ ...sum, stopped: job.failedReason ?? textOfJobState(job.state) });
            return;
          }
          sum = added(sum, job.result, rows);
          sum = { ...sum, percent: (100 * (at + 1)) / parts.length };
          setState(sum);
        } catch (error) {
          const here = sum;
          setState({ ...here, error });
          setFailedAt(() => () => go(at, here));
          return;
        }
      }
      setState({ ...sum, percent: 100, isDone: true });
      await readAgain(project.id, 'contacts');
      await readAgain(project.id, 'imports');
    };
    await go(0, { ...begun, failed: faults.length, faults });
  };
  return { state, start, clear: () => setState(null), again: failedAt };
}

function added(sum: ImportState, result: ImportJobResult, rows: readonly number[]): ImportState {
  const own = result.errors.map((fault) => ({ ...fault, row: rows[fault.row - 2] ?? fault.row }));
  return {
    ...sum,
    created: sum.created + result.createdCount,
    updated: sum.updated + result.updatedCount,
    failed: sum.failed + result.failureCount,
    faults: [...sum.faults, ...own].toSorted((a, b) => a.row - b.row),
  };
}

/** Makes the browser ask before the page is left, because the remaining parts would not be sent. */
function useStayed(isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isRunning]);
}

function saveErrors(faults: readonly RowFault[]): void {
  const lines = faults.map(({ row, email, error }) => csvLine([String(row), email, error]));
  saveFile('import-errors.csv', new Blob([csvLine(['row', 'email', 'error']), ...lines]));
}

/** The progress of an import, and its result at the end. */
export function ImportProgress({
  state,
  onAgain,
}: {
  state: ImportState;
  onAgain: (() => Promise<void>) | null;
}) {
  const { percent, created, updated, failed, faults, isDone, stopped, error } = state;
  const isRunning = !isDone && stopped === null && !error;
  useStayed(isRunning);
  return (
    <Card
      label={isDone ? 'Imported' : 'Importing'}
      actions={
        faults.length > 0 && <Button onClick={() => saveErrors(faults)}>Download errors</Button>
      }
    >
      {Boolean(error) && (
        <ProblemAlert error={error} {...(onAgain && { onRetry: () => void onAgain() })} />
      )}
      {stopped !== null && (
        <p role="alert">
          <State tone="bad">Stopped</State> {stopped}
        </p>
      )}
      {isRunning && <Progress label="Progress" value={percent} />}
      <div className="actions" role="status">
        {isDone && <State tone={failed > 0 ? 'warning' : 'good'}>Done</State>}
        <span>{count(created)} created</span>
        <span>{count(updated)} updated</span>
        <span>{count(failed)} failed</span>
      </div>
      {faults.length > 0 && (
        <>
          <Table
            label="Failed rows"
            rows={faults.slice(0, 100)}
            keyOf={({ row }) => String(row)}
            columns={[
              { name: 'Row', isNumber: true, cell: ({ row }) => row },
              { name: 'Email', cell: ({ email }) => email },
              { name: 'Reason', cell: ({ error: reason }) => reason },
            ]}
          />
          {failed > faults.length && (
            <p className="second small">
              {`The server lists ${counted(faults.length, 'error')} of ${count(failed)}.`}
            </p>
          )}
        </>
      )}
    </Card>
  );
}
