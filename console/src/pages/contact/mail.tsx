import { Link } from '@tanstack/react-router';
import { useLive } from '../../api/queries.ts';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { count } from '../../words/numbers.ts';
import { EmailState, ExecutionState } from './states.tsx';

const shown = 10;

/** The contact's executions of workflows, the newest first. */
export function WorkflowsCard({ id }: { id: string }) {
  const { api, project, path } = useProject();
  const executions = useLive({
    key: [project.id, 'contacts', 'executions', id],
    read: () => api.get('/executions', { query: { contactId: id, limit: shown } }),
  });
  return (
    <Card label="Workflows">
      <Loaded query={executions} lines={2}>
        {({ data, total }) =>
          data.length === 0 ? (
            <p className="second">In no workflow yet.</p>
          ) : (
            <>
              <Table
                label="Executions"
                rows={data}
                keyOf={(execution) => execution.id}
                columns={[
                  {
                    name: 'Workflow',
                    cell: ({ id: executionId, workflowId, workflow }) => (
                      <Link to={path(`workflows/${workflowId}/executions/${executionId}`)}>
                        {workflow.name}
                      </Link>
                    ),
                  },
                  { name: 'State', cell: (execution) => <ExecutionState execution={execution} /> },
                  { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
                ]}
              />
              <More total={total} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** The mail of the contact, the newest first. */
export function EmailsCard({ id }: { id: string }) {
  const { api, project, path } = useProject();
  const emails = useLive({
    key: [project.id, 'contacts', 'emails', id],
    read: () => api.get('/emails', { query: { contactId: id, limit: shown } }),
  });
  return (
    <Card label="Emails">
      <Loaded query={emails} lines={2}>
        {({ data, total }) =>
          data.length === 0 ? (
            <p className="second">No mail yet.</p>
          ) : (
            <>
              <Table
                label="Emails"
                rows={data}
                keyOf={(email) => email.id}
                columns={[
                  {
                    name: 'Subject',
                    cell: (email) => <Link to={path(`emails/${email.id}`)}>{email.subject}</Link>,
                  },
                  { name: 'State', cell: (email) => <EmailState email={email} /> },
                  { name: 'Queued', cell: ({ createdAt }) => <Time at={createdAt} /> },
                ]}
              />
              <More total={total} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function More({ total }: { total: number }) {
  if (total <= shown) return null;
  return (
    <p className="second small">{`The newest ${shown} of ${count(total)}. The timeline has all.`}</p>
  );
}
