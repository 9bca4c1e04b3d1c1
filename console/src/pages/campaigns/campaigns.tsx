import { Link, useNavigate } from '@tanstack/react-router';
import type { Campaign } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { CheckField, SelectField } from '../../design/fields.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { PageOf, pageSize } from '../../design/lists/page-of.tsx';
import { Empty, Loaded, State, Time } from '../../design/parts.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { type CampaignStatus, statuses } from '../../words/campaigns.ts';
import { count } from '../../words/numbers.ts';

const statusOptions = [
  { value: '', text: 'All' },
  ...Object.entries(statuses).map(([value, { text }]) => ({ value, text })),
];

/** The campaigns of a project. */
export function Page() {
  const { project, api, path } = useProject();
  const navigate = useNavigate();
  const [filter, set] = useAddress({ search: '', status: '', archived: '', page: '' });
  const { search, status, archived } = filter;
  const query = {
    page: Number(filter.page) || 1,
    pageSize,
    sort: 'createdAt',
    dir: 'desc',
    ...(archived === '' && ({ archived: 'false' } as const)),
    ...(status && { status: status as CampaignStatus }),
    ...(search && { search }),
  } as const;
  const campaigns = useLive({
    key: [project.id, 'campaigns', query],
    read: () => api.get('/campaigns', { query }),
  });
  return (
    <>
      <PageHead
        title="Campaigns"
        project={project.name}
        actions={
          <Button kind="primary" onClick={() => void navigate({ to: path('campaigns/new') })}>
            New campaign
          </Button>
        }
      />
      <div className="toolbar" role="search">
        <SearchField
          label="Search campaigns"
          value={search}
          onChange={(value) => set({ search: value }, true)}
        />
        <SelectField
          label="Status"
          options={statusOptions}
          value={status}
          onChange={(value) => set({ status: value })}
        />
        <CheckField
          label="Show archived"
          value={archived !== ''}
          onChange={(value) => set({ archived: value ? 'true' : '' })}
        />
      </div>
      <Loaded query={campaigns}>
        {({ data, total }) =>
          data.length === 0 ? (
            <NoCampaigns isFiltered={Boolean(search || status)} />
          ) : (
            <>
              <Rows rows={data} />
              <PageOf
                page={query.page}
                total={total}
                one="campaign"
                onPage={(page) => set({ page })}
              />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function NoCampaigns({ isFiltered }: { isFiltered: boolean }) {
  const { path } = useProject();
  if (isFiltered) return <Empty>No campaign fits.</Empty>;
  return (
    <Empty
      action={
        <Link className="button" to={path('campaigns/new')}>
          Make the first campaign
        </Link>
      }
    >
      A campaign sends one mail to many contacts, at once or at a time that you choose.
    </Empty>
  );
}

function Rows({ rows }: { rows: readonly Campaign[] }) {
  const { path } = useProject();
  return (
    <Table
      label="Campaigns"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Name', cell: ({ id, name }) => <Link to={path(`campaigns/${id}`)}>{name}</Link> },
        {
          name: 'State',
          cell: ({ status }) => <State tone={statuses[status].tone}>{statuses[status].text}</State>,
        },
        { name: 'When', cell: ({ sentAt, scheduledFor }) => <Time at={sentAt ?? scheduledFor} /> },
        { name: 'Recipients', isNumber: true, cell: ({ totalRecipients: n }) => count(n) },
        { name: 'Sent', isNumber: true, cell: ({ sentCount: n }) => count(n) },
        { name: 'Opened', isNumber: true, cell: ({ openedCount: n }) => count(n) },
        { name: 'Clicked', isNumber: true, cell: ({ clickedCount: n }) => count(n) },
      ]}
    />
  );
}
