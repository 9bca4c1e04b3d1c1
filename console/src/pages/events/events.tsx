import '../contacts/contacts.css';
import { useState } from 'react';
import { useLive, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { PageOf, pageSize } from '../../design/lists/page-of.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { count } from '../../words/numbers.ts';
import { DeleteEvents } from './delete-events.tsx';
import { OneEvent } from './one-event.tsx';
import { TrackEvent } from './track-event.tsx';

interface CountedName {
  name: string;
  count: number;
}

/**
 * The names of all events with their numbers. The chosen name also shows its last events and its
 * uses.
 */
export function Page() {
  const { project } = useProject();
  const [{ search, page, event }, set] = useAddress({ search: '', page: '', event: '' });
  const [isTracking, setTracking] = useState(false);
  const names = useEventNames();
  const add = <Button onClick={() => setTracking(true)}>Track event</Button>;
  return (
    <>
      <PageHead title="Events" project={project.name} actions={add} />
      <div className="toolbar" role="search">
        <SearchField
          label="Search events"
          value={search}
          onChange={(value) => set({ search: value }, true)}
        />
      </div>
      <Loaded query={names}>
        {(all) => {
          const found = all.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
          const at = Number(page) || 1;
          return found.length === 0 ? (
            <Empty>
              {search
                ? `No event has “${search}” in its name.`
                : 'An event is something that a contact has done, such as an order. Workflows start with events, and segments choose contacts by them.'}
            </Empty>
          ) : (
            <>
              <Rows
                rows={found.slice((at - 1) * pageSize, at * pageSize)}
                chosen={event}
                onChoose={(name) => set({ event: name === event ? '' : name, page, search }, true)}
              />
              <PageOf
                page={at}
                total={found.length}
                one="name"
                onPage={(next) => set({ page: next })}
              />
            </>
          );
        }}
      </Loaded>
      {event && <OneEvent key={event} name={event} />}
      {isTracking && <TrackEvent onClose={() => setTracking(false)} />}
    </>
  );
}

/** Reads all names. Names with recent events come first, with their numbers. */
function useEventNames() {
  const { api, project } = useProject();
  const all = useRead([project.id, 'events', 'names'], () => api.get('/events/names'));
  const stats = useLive({
    key: [project.id, 'events', 'stats'],
    read: () => api.get('/events/stats'),
  });
  const counted = new Set(stats.data?.map(({ name }) => name));
  const older = all.data?.eventNames.filter((name) => !counted.has(name)) ?? [];
  const data: CountedName[] | undefined = all.data &&
    stats.data && [...stats.data, ...older.map((name) => ({ name, count: 0 }))];
  const { error } = all.error ? all : stats;
  return { data, error, refetch: () => Promise.all([all.refetch(), stats.refetch()]) };
}

function Rows({
  rows,
  chosen,
  onChoose,
}: {
  rows: readonly CountedName[];
  chosen: string;
  onChoose: (name: string) => void;
}) {
  return (
    <Table
      label="Events"
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        {
          name: 'Name',
          cell: ({ name }) => (
            <Button
              kind="plain"
              isSmall
              aria-pressed={name === chosen}
              onClick={() => onChoose(name)}
            >
              {name}
            </Button>
          ),
        },
        { name: 'In 30 days', isNumber: true, cell: (row) => count(row.count) },
        {
          name: 'Actions',
          hidesName: true,
          cell: ({ name }) => <DeleteEvents name={name} />,
        },
      ]}
    />
  );
}
