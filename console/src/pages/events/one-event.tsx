import { Link } from '@tanstack/react-router';
import { useLive } from '../../api/queries.ts';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { Users } from '../../editing/users.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';

/** Maximum number of events of a name that are shown. */
const shownMax = 20;

/** The last events of a name, and the objects that use the name. */
export function OneEvent({ name }: { name: string }) {
  const { api, project } = useProject();
  const usage = useLive({
    key: [project.id, 'events', 'usage', name],
    read: () => api.get('/events/{eventName}/usage', { path: { eventName: name } }),
  });
  return (
    <Card label={name}>
      <Loaded query={usage} lines={2}>
        {(use) => (
          <>
            <p>
              {counted(use.totalCount, 'event')} of {counted(use.uniqueContacts, 'contact')} in all.
            </p>
            <Users usage={use} />
          </>
        )}
      </Loaded>
      <LastEvents name={name} />
    </Card>
  );
}

function LastEvents({ name }: { name: string }) {
  const { api, project, path } = useProject();
  const query = { eventName: name, limit: shownMax };
  const events = useLive({
    key: [project.id, 'events', 'last', query],
    read: async () => (await api.get('/events', { query })).events,
  });
  return (
    <Loaded query={events}>
      {(found) =>
        found.length === 0 ? (
          <p className="second">None of its events is stored any more.</p>
        ) : (
          <Table
            label={`Last events of ${name}`}
            rows={found}
            keyOf={({ id }) => id}
            columns={[
              {
                name: 'Contact',
                cell: ({ contactId, contact }) =>
                  contactId && contact ? (
                    <Link to={path(`contacts/${contactId}`)}>{contact.email}</Link>
                  ) : (
                    <span className="second">none</span>
                  ),
              },
              {
                name: 'Data',
                cell: ({ data }) => {
                  const text = data && Object.keys(data).length > 0 ? JSON.stringify(data) : '';
                  return <code title={text}>{text}</code>;
                },
              },
              { name: 'When', cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
        )
      }
    </Loaded>
  );
}
