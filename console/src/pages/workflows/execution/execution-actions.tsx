import { useState } from 'react';
import type { ExecutionDetails } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { isActive } from '../../../words/operations/execution.ts';
import { MoveWait } from './move-wait.tsx';
import { SkipStep } from './skip-step.tsx';
import { useExecution } from './use-execution.ts';
import type { VersionGraph } from './version-graph.ts';

/** The actions that the state of an execution allows. */
export function ExecutionActions({
  execution,
  graph,
}: {
  execution: ExecutionDetails;
  graph: VersionGraph | undefined;
}) {
  const [isMoving, setMoving] = useState(false);
  const { status, pausedAt, currentStep } = execution;
  const isWaiting = status === 'WAITING';
  return (
    <>
      {status === 'FAILED' && <Retry execution={execution} />}
      {isActive(execution) && <Hold execution={execution} isPaused={pausedAt !== null} />}
      {(isWaiting || status === 'FAILED') && <SkipStep execution={execution} graph={graph} />}
      {isWaiting && <Button onClick={() => setMoving(true)}>Move wait</Button>}
      {isActive(execution) && <Cancel execution={execution} />}
      {isMoving && (
        <MoveWait
          execution={execution}
          canBeEndless={currentStep?.type === 'WAIT_FOR_EVENT'}
          onClose={() => setMoving(false)}
        />
      )}
    </>
  );
}

/** Retries the failed step, on the same version of the workflow or on the newest version. */
function Retry({ execution }: { execution: ExecutionDetails }) {
  const { api, at, reload } = useExecution(execution);
  const { project } = useProject();
  const { workflowId: id, workflowVersion } = execution;
  const { data: workflow } = useRead([project.id, 'workflows', id], () =>
    api.get('/workflows/{id}', { path: { id } }),
  );
  const retry = useAction(async (version: number) => {
    const body = version === workflowVersion ? {} : { version };
    await api.post('/workflows/{id}/executions/{executionId}/retry', { ...at, body });
    await reload();
  }, 'The step is being tried again.');
  const newest = workflow?.version ?? workflowVersion;
  return (
    <>
      <Button kind="primary" isBusy={retry.isBusy} onClick={() => void retry.run(workflowVersion)}>
        Retry
      </Button>
      {newest !== workflowVersion && (
        <Button isBusy={retry.isBusy} onClick={() => void retry.run(newest)}>
          {`Retry on version ${newest}`}
        </Button>
      )}
    </>
  );
}

function Hold({ execution, isPaused }: { execution: ExecutionDetails; isPaused: boolean }) {
  const { api, at, reload } = useExecution(execution);
  const pause = useAction(
    async () => {
      if (isPaused) await api.post('/workflows/{id}/executions/{executionId}/resume', at);
      else await api.post('/workflows/{id}/executions/{executionId}/pause', { ...at, body: {} });
      await reload();
    },
    isPaused ? 'Resumed.' : 'Paused. No step begins until it is resumed.',
  );
  return (
    <Button isBusy={pause.isBusy} onClick={() => void pause.run()}>
      {isPaused ? 'Resume' : 'Pause'}
    </Button>
  );
}

function Cancel({ execution }: { execution: ExecutionDetails }) {
  const { api, at, reload } = useExecution(execution);
  const confirm = useConfirm();
  const { contact, workflow } = execution;
  const ask = () =>
    confirm({
      title: 'Cancel this execution?',
      text: `${contact.email} gets no further step of ${workflow.name}. What was done stays.`,
      verb: 'Cancel execution',
      async send() {
        await api.delete('/workflows/{id}/executions/{executionId}', at);
        await reload();
      },
    });
  return (
    <Button kind="danger" onClick={ask}>
      Cancel
    </Button>
  );
}
