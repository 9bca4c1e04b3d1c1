import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { EventSubscription } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Empty, Loaded, State } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { subscriptionName, subscriptionState } from '../../words/settings/subscriptions.ts';
import { AdminsOnly } from './admins-only.tsx';
import { NewSubscription } from './new-subscription.tsx';

/** The addresses to which events of the project are sent. */
export function Page() {
  const { api, project, adminOnly } = useProject();
  const subscriptions = useLive({
    key: [project.id, 'subscriptions', 'list'],
    read: () => api.get('/event-subscriptions'),
    isEnabled: adminOnly === null,
  });
  const [isNew, setNew] = useState(false);
  return (
    <>
      <PageHead
        title="Event subscriptions"
        project={project.name}
        actions={
          <Button kind="primary" disabledBecause={adminOnly} onClick={() => setNew(true)}>
            New subscription
          </Button>
        }
      />
      {adminOnly ? (
        <AdminsOnly />
      ) : (
        <Loaded query={subscriptions}>
          {(all) =>
            all.length === 0 ? (
              <Empty action={<Button onClick={() => setNew(true)}>Make the first one</Button>}>
                A subscription sends events to your server as they happen: deliveries, clicks,
                unsubscribes, and those that you track.
              </Empty>
            ) : (
              <Subscriptions subscriptions={all} />
            )
          }
        </Loaded>
      )}
      {isNew && <NewSubscription onClose={() => setNew(false)} />}
    </>
  );
}

function Subscriptions({ subscriptions }: { subscriptions: readonly EventSubscription[] }) {
  const { path } = useProject();
  return (
    <Table
      label="Event subscriptions"
      rows={subscriptions}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Name',
          cell: (subscription) => (
            <Link to={path(`settings/subscriptions/${subscription.id}`)}>
              {subscriptionName(subscription)}
            </Link>
          ),
        },
        {
          name: 'State',
          cell: (subscription) => {
            const { text, tone, why } = subscriptionState(subscription);
            return (
              <span title={why}>
                <State tone={tone}>{text}</State>
              </span>
            );
          },
        },
        { name: 'Events', cell: ({ events }) => <code>{events.join(', ')}</code> },
        { name: 'Address', cell: ({ url }) => <span title={url}>{url}</span> },
      ]}
    />
  );
}
