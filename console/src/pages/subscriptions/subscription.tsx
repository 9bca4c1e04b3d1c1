import { Link } from '@tanstack/react-router';
import { type CountedEventSubscription, EverpostError } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Card, Figures, Loaded, State, Time } from '../../design/parts.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { textOfActor } from '../../words/actors.ts';
import { subscriptionName, subscriptionState } from '../../words/settings/subscriptions.ts';
import { fullTime } from '../../words/times.ts';
import { AdminsOnly } from './admins-only.tsx';
import { Deliveries } from './deliveries.tsx';
import { SubscriptionActions } from './subscription-actions.tsx';
import './subscriptions.css';

/** An event subscription: its state, the last 24 hours, and its deliveries. */
export function Page() {
  const { api, project, adminOnly } = useProject();
  const id = useParam('subscriptionId');
  const subscription = useLive({
    key: [project.id, 'subscriptions', id],
    read: () => api.get('/event-subscriptions/{id}', { path: { id } }),
    isEnabled: adminOnly === null,
  });
  const { error } = subscription;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  if (adminOnly) {
    return (
      <>
        <PageHead title="Event subscription" project={project.name} />
        <AdminsOnly />
      </>
    );
  }
  return <Loaded query={subscription}>{(data) => <Shown subscription={data} />}</Loaded>;
}

function Shown({ subscription }: { subscription: CountedEventSubscription }) {
  const { project, path } = useProject();
  const { text, tone, why } = subscriptionState(subscription);
  return (
    <>
      <PageHead
        title={subscriptionName(subscription)}
        project={project.name}
        trail={<Link to={path('settings/subscriptions')}>All event subscriptions</Link>}
        state={<State tone={tone}>{text}</State>}
        actions={<SubscriptionActions subscription={subscription} />}
      />
      {why && <p className="second">{why}</p>}
      <Numbers subscription={subscription} />
      <Card label="Receiver">
        <Facts subscription={subscription} />
      </Card>
      <Deliveries subscription={subscription} />
    </>
  );
}

function Numbers({
  subscription: { lag, last24Hours },
}: {
  subscription: CountedEventSubscription;
}) {
  const note = 'last 24 hours';
  const since = (
    <>
      since <Time at={lag.oldestPendingAt} />
    </>
  );
  return (
    <Figures
      figures={[
        { name: 'Waiting', value: lag.pending, note: lag.oldestPendingAt ? since : 'now' },
        { name: 'Requests', value: last24Hours.requests, note },
        { name: 'Delivered', value: last24Hours.delivered, note },
        { name: 'Failed', value: last24Hours.failed, note },
        { name: 'Skipped', value: last24Hours.skipped, note },
      ]}
    />
  );
}

function Facts({
  subscription: { url, events, headerNames, batch, from, previousSecretExpiresAt, createdBy },
}: {
  subscription: CountedEventSubscription;
}) {
  return (
    <dl className="facts">
      <dt>URL</dt>
      <dd>
        <code>{url}</code>
      </dd>
      <dt>Events</dt>
      <dd>
        <code>{events.join(', ')}</code>
      </dd>
      {headerNames.length > 0 && (
        <>
          <dt>Headers</dt>
          <dd>
            <code>{headerNames.join(', ')}</code>
          </dd>
        </>
      )}
      <dt>In a request</dt>
      <dd>{batch ? `up to ${batch.max} events` : 'one event'}</dd>
      {from && (
        <>
          <dt>Covers events since</dt>
          <dd>{fullTime(from)}</dd>
        </>
      )}
      {createdBy && (
        <>
          <dt>Created by</dt>
          <dd>{textOfActor(createdBy)}</dd>
        </>
      )}
      {previousSecretExpiresAt && (
        <>
          <dt>Former secret</dt>
          <dd>also signs until {fullTime(previousSecretExpiresAt)}</dd>
        </>
      )}
    </dl>
  );
}
