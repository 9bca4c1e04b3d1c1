import { Link } from '@tanstack/react-router';
import type { Segment } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { count } from '../../words/numbers.ts';

const orders: Record<string, (a: Segment, b: Segment) => number> = {
  name: (a, b) => a.name.localeCompare(b.name),
  members: (a, b) => a.memberCount - b.memberCount,
  createdAt: (a, b) => a.createdAt.localeCompare(b.createdAt),
};

export function Page() {
  const { api, project, path } = useProject();
  const [{ sort, dir }, set] = useAddress({ sort: 'createdAt', dir: 'desc' });
  const segments = useLive({
    key: [project.id, 'segments', 'all'],
    read: () => api.get('/segments'),
  });
  const sortBy = (name: string) => ({
    direction: sort === name ? (dir as 'asc' | 'desc') : null,
    onSort: () => set({ sort: name, dir: sort === name && dir === 'asc' ? 'desc' : 'asc' }),
  });
  const order = orders[sort] ?? orders['createdAt']!;
  const create = (
    <Link className="button primary" to={path('segments/new')}>
      New segment
    </Link>
  );
  return (
    <>
      <PageHead title="Segments" project={project.name} actions={create} />
      <Loaded query={segments}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              action={
                <Link className="button" to={path('segments/new')}>
                  Make the first segment
                </Link>
              }
            >
              A segment is a part of your contacts: those who match a filter now, or those whom you
              choose. Campaigns and workflows can be for a segment.
            </Empty>
          ) : (
            <Table
              label="Segments"
              rows={all.toSorted((a, b) => (dir === 'asc' ? order(a, b) : order(b, a)))}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: 'Name',
                  sort: sortBy('name'),
                  cell: ({ id, name }) => <Link to={path(`segments/${id}`)}>{name}</Link>,
                },
                {
                  name: 'Type',
                  cell: ({ type }) => (type === 'STATIC' ? 'Chosen members' : 'By a filter'),
                },
                {
                  name: 'Entry and exit',
                  cell: ({ trackMembership }) => (trackMembership ? 'Tracked' : ''),
                },
                {
                  name: 'Added',
                  sort: sortBy('createdAt'),
                  cell: ({ createdAt }) => <Time at={createdAt} />,
                },
                {
                  name: 'Members',
                  isNumber: true,
                  sort: sortBy('members'),
                  cell: ({ memberCount }) => count(memberCount),
                },
              ]}
            />
          )
        }
      </Loaded>
    </>
  );
}
