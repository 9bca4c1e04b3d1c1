import { Link } from '@tanstack/react-router';
import { EverpostError, type ExecutionDetails } from '../../../api/api.ts';
import { useLive, useRead } from '../../../api/queries.ts';
import { PageHead } from '../../../design/page-head.tsx';
import { Loaded, State } from '../../../design/parts.tsx';
import { useParam } from '../../../shell/address.ts';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import {
  executionSentence,
  executionStates,
  isActive,
} from '../../../words/operations/execution.ts';
import { SvgPicture } from '../one/picture.tsx';
import '../shared/workflows.css';
import { ExecutionActions } from './execution-actions.tsx';
import { ContextCard, Facts } from './facts.tsx';
import { StepsList } from './steps-list.tsx';
import { useVersionGraph } from './version-graph.ts';

/** One execution: its progress, the reasons for its state, and the actions on it. */
export function Page() {
  const { api, project } = useProject();
  const path = { id: useParam('workflowId'), executionId: useParam('executionId') };
  const query = useLive({
    key: [project.id, 'executions', 'one', path.executionId],
    read: () => api.get('/workflows/{id}/executions/{executionId}', { path }),
    isLive: (execution) => isActive(execution) || execution.status === 'FAILED',
  });
  const { error } = query;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={query} lines={8}>
      {(execution) => <Execution execution={execution} />}
    </Loaded>
  );
}

function Execution({ execution }: { execution: ExecutionDetails }) {
  const { project, path } = useProject();
  const { contact, workflow } = execution;
  const { text, tone } = executionStates[execution.status];
  const isPaused = execution.pausedAt !== null || workflow.pausedAt !== null;
  const graph = useVersionGraph(execution, {
    isEnabled: isActive(execution) || execution.status === 'FAILED',
  });
  const { history, picture } = useWay(execution);
  const explanations = new Map(
    history.data?.entries.flatMap(({ stepId, detail }) => {
      const explanation = explanationIn(detail);
      return stepId !== null && explanation !== null ? [[stepId, explanation] as const] : [];
    }),
  );
  return (
    <>
      <PageHead
        title={contact.email}
        project={project.name}
        trail={<Link to={path(`workflows/${workflow.id}`)}>{workflow.name}</Link>}
        state={
          isActive(execution) && isPaused ? (
            <State tone="warning">Paused</State>
          ) : (
            <State tone={tone}>{text}</State>
          )
        }
        actions={<ExecutionActions execution={execution} graph={graph} />}
      />
      <p>{executionSentence(execution)}</p>
      <Loaded query={picture} lines={6}>
        {(svg) => (
          <SvgPicture
            svg={svg}
            text={`The way of ${contact.email} through ${workflow.name}, as the list of steps tells it`}
          />
        )}
      </Loaded>
      <div className="columns">
        <StepsList execution={execution} graph={graph} explanations={explanations} />
        <div className="stack">
          <Facts execution={execution} runUrl={history.data?.runUrl ?? null} />
          <ContextCard context={execution.context} />
        </div>
      </div>
    </>
  );
}

function explanationIn(detail: unknown): string | null {
  const { explanation } = Object(detail) as { explanation?: unknown };
  return typeof explanation === 'string' ? explanation : null;
}

/**
 * The entries of the execution's history and its picture. Both are read again when the execution
 * changes.
 */
function useWay({ id: executionId, workflowId: id, updatedAt, stepExecutions }: ExecutionDetails) {
  const { api, project } = useProject();
  const path = { id, executionId };
  const changedAt = [updatedAt, ...stepExecutions.map((step) => step.updatedAt)].toSorted().at(-1);
  const key = [project.id, 'executions', 'one', executionId, 'way', changedAt];
  return {
    history: useRead([...key, 'history'], () =>
      api.get('/workflows/{id}/executions/{executionId}/history', { path }),
    ),
    picture: useRead([...key, 'picture'], () =>
      api.get('/workflows/{id}/executions/{executionId}/graph.svg', { path }),
    ),
  };
}
