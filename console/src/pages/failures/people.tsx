import { Link } from '@tanstack/react-router';
import type { ExecutionGroup, FoundExecution } from '../../api/api.ts';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';

/** Maximum number of executions of a group that are shown. */
const shownMax = 50;

/** The newest executions of a group, each of which can be retried or skip its step. */
export function People({ group, label }: { group: ExecutionGroup; label: string }) {
  const { kind, workflow, step, error, count } = group;
  const { api, project, path } = useProject();
  const query = {
    workflowId: workflow.id,
    limit: shownMax,
    ...(step && { stepId: step.id }),
    ...(kind === 'failed' && { status: 'FAILED', ...(error && { errorEquals: error }) }),
    ...(kind === 'stuck' && { stuck: 'true' as const }),
    ...(kind === 'warning' && { warnings: 'true' as const }),
  };
  const people = useLive({
    key: [project.id, 'executions', query],
    read: () => api.get('/executions', { query }),
  });
  return (
    <Loaded query={people}>
      {({ data }) => (
        <>
          <Table
            label={`People at ${label.replace(`${workflow.name}: `, '')}`}
            rows={data}
            keyOf={({ id }) => id}
            columns={[
              {
                name: 'Contact',
                cell: ({ contact, contactId }) => (
                  <Link to={path(`contacts/${contactId}`)}>{contact.email}</Link>
                ),
              },
              { name: 'Why', cell: ({ error, stuck }) => error ?? stuck?.reason ?? '' },
              {
                name: 'Started',
                cell: ({ id, workflowId, startedAt }) => (
                  <Link to={path(`workflows/${workflowId}/executions/${id}`)}>
                    <Time at={startedAt} />
                  </Link>
                ),
              },
              {
                name: 'Actions',
                hidesName: true,
                cell: (execution) => <Actions execution={execution} />,
              },
            ]}
          />
          {count > data.length && data.length === shownMax && (
            <p className="second small">
              These are the newest {shownMax}. All of them are on the page of the workflow.
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

function Actions({
  execution: { id, workflowId, status, contact },
}: {
  execution: FoundExecution;
}) {
  const { api, project } = useProject();
  const at = { path: { id: workflowId, executionId: id } };
  const retry = useAction(async () => {
    await api.post('/workflows/{id}/executions/{executionId}/retry', at);
    await readAgain(project.id, 'executions');
  }, `${contact.email} is being retried.`);
  const skip = useAction(async () => {
    await api.post('/workflows/{id}/executions/{executionId}/skip', at);
    await readAgain(project.id, 'executions');
  }, `${contact.email} goes on with the next step.`);
  if (status !== 'FAILED') return null;
  return (
    <span className="actions">
      <Button isSmall isBusy={retry.isBusy} onClick={() => void retry.run()}>
        Retry
      </Button>
      <Button isSmall isBusy={skip.isBusy} onClick={() => void skip.run()}>
        Skip
      </Button>
    </span>
  );
}
