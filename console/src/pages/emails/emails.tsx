import { Link } from '@tanstack/react-router';
import type { Email, EmailSummary } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { SelectField, TextField } from '../../design/fields.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded, State, Time } from '../../design/parts.tsx';
import { Pager, Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { emailSources, emailStates } from '../../words/emails.ts';
import { counted } from '../../words/numbers.ts';
import { startOfDay } from '../../words/times.ts';

const statusOptions = [
  { value: '', text: 'All' },
  ...Object.entries(emailStates).map(([value, { text }]) => ({ value, text })),
];
const sourceOptions = [
  { value: '', text: 'All' },
  ...Object.entries(emailSources).map(([value, text]) => ({ value, text })),
];

/** All mail of the project, newest first. */
export function Page() {
  const { project, api } = useProject();
  const [filter, set] = useAddress({
    search: '',
    status: '',
    source: '',
    from: '',
    to: '',
    cursor: '',
  });
  const query = {
    limit: 50,
    ...(filter.cursor && { cursor: filter.cursor }),
    ...(filter.search && { search: filter.search }),
    ...(filter.status && { status: filter.status as Email['status'] }),
    ...(filter.source && { sourceType: filter.source as Email['sourceType'] }),
    ...(filter.from && { createdAfter: startOfDay(filter.from) }),
    ...(filter.to && { createdBefore: startOfDay(filter.to, 1) }),
  };
  const isFiltered = Object.keys(query).some((key) => key !== 'limit' && key !== 'cursor');
  const emails = useLive({
    key: [project.id, 'emails', query],
    read: () => api.get('/emails', { query }),
  });
  return (
    <>
      <PageHead title="Emails" project={project.name} />
      <div className="toolbar" role="search">
        <SearchField
          label="Search emails"
          placeholder="Address or subject"
          value={filter.search}
          onChange={(search) => set({ search }, true)}
        />
        <SelectField
          label="Status"
          options={statusOptions}
          value={filter.status}
          onChange={(status) => set({ status })}
        />
        <SelectField
          label="Source"
          options={sourceOptions}
          value={filter.source}
          onChange={(source) => set({ source })}
        />
        <TextField
          label="From date"
          type="date"
          value={filter.from}
          onChange={(from) => set({ from })}
        />
        <TextField label="To date" type="date" value={filter.to} onChange={(to) => set({ to })} />
      </div>
      <Loaded query={emails}>
        {({ data, total, cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                {isFiltered
                  ? 'No mail fits this search.'
                  : 'All mail of this project is listed here: of requests, campaigns and workflows. None was sent yet.'}
              </Empty>
            ) : (
              <Rows emails={data} />
            )}
            <Pager
              shown={filter.cursor ? '' : counted(total, 'email')}
              onFirst={filter.cursor ? () => set({ cursor: '' }) : null}
              onNext={cursor ? () => set({ cursor }) : null}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

function Rows({ emails }: { emails: readonly EmailSummary[] }) {
  const { path } = useProject();
  return (
    <Table
      label="Emails"
      rows={emails}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Subject',
          cell: ({ id, subject }) => <Link to={path(`emails/${id}`)}>{subject || '(none)'}</Link>,
        },
        { name: 'To', cell: ({ toEmail }) => toEmail },
        {
          name: 'Status',
          cell: ({ status }) => (
            <State tone={emailStates[status].tone}>{emailStates[status].text}</State>
          ),
        },
        { name: 'Source', cell: ({ sourceType }) => emailSources[sourceType] },
        { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}
