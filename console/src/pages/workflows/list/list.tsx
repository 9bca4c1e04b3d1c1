import { Link } from '@tanstack/react-router';
import type { CountedWorkflow } from '../../../../../client/everpost.ts';
import { useLive } from '../../../api/queries.ts';
import { SelectField } from '../../../design/fields.tsx';
import { SearchField } from '../../../design/lists/search-field.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Empty, Loaded, State, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import { useHidden } from '../shared/hidden.ts';
import { WorkflowState } from '../shared/workflow-state.tsx';

const pageSize = 50;

/** All workflows of the project. */
export function Page() {
  const { api, project, path } = useProject();
  const [address, set] = useAddress({ search: '', status: '', page: '1' });
  const { search, status, page } = address;
  const hidden = useHidden();
  const list = useLive({
    key: [project.id, 'workflows', 'list', address],
    read: () =>
      api.get('/workflows', {
        query: {
          page: Number(page),
          pageSize,
          ...(search && { search }),
          ...(status && { status: status as 'active' | 'disabled' }),
        },
      }),
  });
  return (
    <>
      <PageHead
        title="Workflows"
        project={project.name}
        actions={
          <Link className="button primary" to={path('workflows/new')}>
            New workflow
          </Link>
        }
      />
      <div className="toolbar">
        <SearchField
          label="Search workflows"
          value={search}
          onChange={(text) => set({ search: text }, true)}
        />
        <SelectField
          label="Status"
          options={[
            { value: '', text: 'all' },
            { value: 'active', text: 'enabled' },
            { value: 'disabled', text: 'disabled' },
          ]}
          value={status}
          onChange={(text) => set({ status: text })}
        />
      </div>
      <Loaded query={list}>
        {({ data, total, totalPages }) => {
          const rows = data.filter(({ id }) => !hidden.has(id));
          return rows.length === 0 ? (
            <NoWorkflows isFiltered={search !== '' || status !== ''} />
          ) : (
            <>
              <Rows workflows={rows} />
              <Pager
                shown={counted(total, 'workflow')}
                onPrevious={Number(page) > 1 ? () => set({ page: String(Number(page) - 1) }) : null}
                onNext={
                  Number(page) < totalPages ? () => set({ page: String(Number(page) + 1) }) : null
                }
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function NoWorkflows({ isFiltered }: { isFiltered: boolean }) {
  const { path } = useProject();
  if (isFiltered) return <Empty>No workflow fits this search.</Empty>;
  return (
    <Empty
      action={
        <Link className="button primary" to={path('workflows/new')}>
          Choose a workflow
        </Link>
      }
    >
      A workflow leads each contact from an event through mails and waits, for example a welcome
      series.
    </Empty>
  );
}

/** The list counts executions up to this number. */
const countedMax = 10_000;

const upToMax = (number: number) => (number < countedMax ? count(number) : `${count(number)}+`);

function Rows({ workflows }: { workflows: readonly CountedWorkflow[] }) {
  const { path } = useProject();
  return (
    <Table
      label="Workflows"
      rows={workflows}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Name',
          cell: ({ id, name }) => <Link to={path(`workflows/${id}`)}>{name}</Link>,
        },
        { name: 'State', cell: (workflow) => <WorkflowState {...workflow} /> },
        { name: 'Trigger', cell: triggerText },
        { name: 'Steps', isNumber: true, cell: ({ _count: { steps } }) => count(steps) },
        {
          name: 'Inside',
          isNumber: true,
          cell: ({ executionCounts }) => upToMax(executionCounts.active),
        },
        {
          name: 'Failed',
          isNumber: true,
          cell: ({ executionCounts: { failed } }) =>
            failed === 0 ? '0' : <State tone="bad">{upToMax(failed)}</State>,
        },
        { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
      ]}
    />
  );
}

function triggerText({ triggerType, triggerConfig }: CountedWorkflow) {
  if (triggerType === 'MANUAL') return 'by hand';
  const text = triggerType === 'EVENT' ? triggerConfig.eventName : triggerConfig.cron;
  return text ? <code>{text}</code> : <span className="second">not chosen</span>;
}
