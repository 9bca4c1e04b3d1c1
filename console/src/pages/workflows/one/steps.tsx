import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Empty, Loaded, State, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { GoalCard } from '../../../goals/goal-card.tsx';
import { typeNames } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import { duration } from '../../../words/times.ts';

interface ShownStep {
  id: string;
  name: string;
}

/** Returns the step with the most people; null: the workflow is empty. */
function fullestOf(
  steps: readonly { stepId: string; name: string; waiting: number }[],
): ShownStep | null {
  const [fullest] = steps.toSorted((one, other) => other.waiting - one.waiting);
  return fullest && fullest.waiting > 0 ? { id: fullest.stepId, name: fullest.name } : null;
}

/**
 * Statistics of each step, and the people at the chosen step. At first, the step with the most
 * people is chosen.
 */
export function Steps({ id }: { id: string }) {
  const { api, project } = useProject();
  const [chosen, setChosen] = useState<ShownStep | null>(null);
  const query = useLive({
    key: [project.id, 'workflows', id, 'stats'],
    read: async () => (await api.get('/workflows/{id}/stats', { path: { id } })).data,
  });
  const shown = chosen ?? fullestOf(query.data?.steps ?? []);
  return (
    <div className="stack">
      <Loaded query={query}>
        {({ steps, goal }) => (
          <>
            {goal && <GoalCard goal={goal} />}
            <Table
              label="Steps"
              rows={steps}
              keyOf={({ stepId }) => stepId}
              columns={[
                {
                  name: 'Step',
                  cell: ({ stepId, name }) => (
                    <Button
                      kind="plain"
                      isSmall
                      aria-pressed={shown?.id === stepId}
                      onClick={() => setChosen({ id: stepId, name })}
                    >
                      {name}
                    </Button>
                  ),
                },
                { name: 'Type', cell: ({ type }) => typeNames[type] },
                { name: 'Entered', isNumber: true, cell: ({ entered }) => count(entered) },
                { name: 'Inside', isNumber: true, cell: ({ waiting }) => count(waiting) },
                { name: 'Completed', isNumber: true, cell: ({ completed }) => count(completed) },
                {
                  name: 'Failed',
                  isNumber: true,
                  cell: ({ failed }) =>
                    failed === 0 ? '0' : <State tone="bad">{count(failed)}</State>,
                },
                {
                  name: 'Median time',
                  isNumber: true,
                  cell: ({ medianSeconds }) =>
                    medianSeconds === null ? '–' : duration(medianSeconds),
                },
                {
                  name: 'Sent',
                  isNumber: true,
                  cell: ({ emails }) => (emails ? count(emails.sent) : ''),
                },
                {
                  name: 'Opened',
                  isNumber: true,
                  cell: ({ emails }) => (emails ? count(emails.opened) : ''),
                },
                {
                  name: 'Clicked',
                  isNumber: true,
                  cell: ({ emails }) => (emails ? count(emails.clicked) : ''),
                },
                {
                  name: 'Clicked by people',
                  isNumber: true,
                  cell: ({ emails }) => (emails ? count(emails.humanClicked) : ''),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      {shown && <People workflowId={id} step={shown} />}
    </div>
  );
}

function People({ workflowId, step }: { workflowId: string; step: ShownStep }) {
  const { api, project, path } = useProject();
  const query = useLive({
    key: [project.id, 'executions', { workflowId, stepId: step.id, status: 'active' }],
    read: () =>
      api.get('/executions', {
        query: { workflowId, stepId: step.id, status: 'RUNNING,WAITING', limit: 50 },
      }),
  });
  return (
    <Card label={`People at ${step.name}`}>
      <Loaded query={query}>
        {({ data, total }) =>
          data.length === 0 ? (
            <Empty>Nobody is at this step now.</Empty>
          ) : (
            <>
              <Table
                label={`People at ${step.name}`}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: 'Contact',
                    cell: ({ id, contact }) => (
                      <Link to={path(`workflows/${workflowId}/executions/${id}`)}>
                        {contact.email}
                      </Link>
                    ),
                  },
                  { name: 'Since', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
                  { name: 'Version', isNumber: true, cell: (one) => count(one.workflowVersion) },
                ]}
              />
              <p className="second small">
                {data.length < total
                  ? `The newest ${count(data.length)} of ${counted(total, 'contact')}.`
                  : counted(total, 'contact')}
              </p>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
