import { Link } from '@tanstack/react-router';
import type { FoundExecution } from '../../../../../client/everpost.ts';
import { useLive } from '../../../api/queries.ts';
import { SelectField } from '../../../design/fields.tsx';
import { SearchField } from '../../../design/lists/search-field.tsx';
import { Empty, Loaded, State, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { executionStates } from '../../../words/operations/execution.ts';
import { counted } from '../../../words/numbers.ts';

/** The executions of the workflow, newest first. */
export function Executions({ id }: { id: string }) {
  const { api, project } = useProject();
  const [address, set] = useAddress({ status: '', email: '', cursor: '' });
  const { status, email, cursor } = address;
  const query = useLive({
    key: [project.id, 'executions', { workflowId: id, ...address }],
    read: () =>
      api.get('/executions', {
        query: {
          workflowId: id,
          limit: 50,
          ...(status && { status }),
          ...(email && { email }),
          ...(cursor && { cursor }),
        },
      }),
  });
  return (
    <div className="stack">
      <div className="toolbar">
        <SelectField
          label="Status"
          options={[
            { value: '', text: 'all' },
            ...Object.entries(executionStates).map(([value, { text }]) => ({
              value,
              text: text.toLowerCase(),
            })),
          ]}
          value={status}
          onChange={(value) => set({ status: value })}
        />
        <SearchField
          label="Search by email"
          value={email}
          onChange={(value) => set({ email: value }, true)}
        />
      </div>
      <Loaded query={query}>
        {({ data, total, cursor: next }) =>
          data.length === 0 ? (
            <Empty>
              {status || email
                ? 'No execution fits this search.'
                : 'An execution is the way of one contact through the workflow. None has begun yet.'}
            </Empty>
          ) : (
            <>
              <Rows executions={data} />
              <Pager
                shown={cursor ? 'Further executions' : counted(total, 'execution')}
                onFirst={cursor ? () => set({ cursor: '' }) : null}
                onNext={next ? () => set({ cursor: next }) : null}
              />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function Rows({ executions }: { executions: readonly FoundExecution[] }) {
  const { path } = useProject();
  return (
    <Table
      label="Executions"
      rows={executions}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Contact',
          cell: ({ id, workflowId, contact }) => (
            <Link to={path(`workflows/${workflowId}/executions/${id}`)}>{contact.email}</Link>
          ),
        },
        {
          name: 'Status',
          cell: ({ status, pausedAt }) => {
            const { text, tone } = executionStates[status];
            return pausedAt ? (
              <State tone="warning">Paused</State>
            ) : (
              <State tone={tone}>{text}</State>
            );
          },
        },
        {
          name: 'Step',
          cell: ({ failedStep, currentStep }) => (failedStep ?? currentStep)?.name ?? '–',
        },
        {
          name: 'Why',
          cell: ({ error, exitReason, stuck }) => error ?? stuck?.reason ?? exitReason ?? '',
        },
        { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
        { name: 'Ended', cell: ({ completedAt }) => <Time at={completedAt} /> },
        { name: 'Version', isNumber: true, cell: ({ workflowVersion }) => workflowVersion },
      ]}
    />
  );
}
