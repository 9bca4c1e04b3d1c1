import { useInfiniteQuery } from '@tanstack/react-query';
import { accountApi, type SecurityEvent } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { textOfSecurityEvent } from '../../words/security-events.ts';

const pageSize = 10;

/** The log-ins of the user, and the changes of the account, newest first. */
export function Events() {
  const query = useInfiniteQuery({
    queryKey: ['security-events'],
    queryFn: ({ pageParam: cursor }) =>
      accountApi.get('/users/@me/security-events', {
        query: { limit: pageSize, ...(cursor !== '' && { cursor }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ cursor, hasMore }) => (hasMore ? cursor : undefined),
  });
  return (
    <Card label="Logins and changes">
      <Loaded query={query} lines={3}>
        {({ pages }) => <EventTable events={pages.flatMap(({ data }) => data)} />}
      </Loaded>
      {query.hasNextPage && (
        <div className="actions">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show older ones
          </Button>
        </div>
      )}
    </Card>
  );
}

/** Details of an event in one line: `method: password`. Ids are left out. */
function textOfDetails({ details, count }: SecurityEvent): string {
  const shown = Object.entries(details).filter(
    ([name, value]) => value !== null && typeof value !== 'object' && !name.endsWith('Id'),
  );
  const times = count > 1 ? [`${count} times`] : [];
  return [...shown.map(([name, value]) => `${name}: ${String(value)}`), ...times].join(', ');
}

function EventTable({ events }: { events: readonly SecurityEvent[] }) {
  return (
    <Table
      label="Logins and changes"
      rows={events}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Time', cell: ({ at }) => <Time at={at} /> },
        {
          name: 'Event',
          cell: ({ event }) => (
            <>
              {textOfSecurityEvent(event)} <code className="second">{event}</code>
            </>
          ),
        },
        { name: 'Details', cell: textOfDetails },
        { name: 'Address', cell: ({ ip }) => ip ?? '–' },
      ]}
    />
  );
}
