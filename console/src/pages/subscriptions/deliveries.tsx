import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { CountedEventSubscription, EventDelivery } from '../../api/api.ts';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { SelectField } from '../../design/fields.tsx';
import { SearchField } from '../../design/lists/search-field.tsx';
import { Card, Empty, Loaded, State, Time } from '../../design/parts.tsx';
import { Pager, Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { attemptText, deliveryStates, skipReasons } from '../../words/settings/subscriptions.ts';
import { DeliveryDialog } from './delivery-dialog.tsx';

const statusOptions = [
  { value: '', text: 'All' },
  ...Object.entries(deliveryStates).map(([value, { text }]) => ({ value, text })),
];

/** The deliveries of a subscription, newest event first. */
export function Deliveries({
  subscription: { id, enabled },
}: {
  subscription: CountedEventSubscription;
}) {
  const { api, project } = useProject();
  const [filter, set] = useAddress({ status: '', event: '', cursor: '' });
  const { status, event, cursor } = filter;
  const query = {
    limit: 50,
    ...(cursor && { cursor }),
    ...(status && { status: status as EventDelivery['status'] }),
    ...(event && { eventName: event }),
  };
  const deliveries = useLive({
    key: [project.id, 'subscriptions', id, 'deliveries', query],
    read: () => api.get('/event-subscriptions/{id}/deliveries', { path: { id }, query }),
  });
  return (
    <Card label="Deliveries">
      <div className="toolbar">
        <SelectField
          label="Status"
          options={statusOptions}
          value={status}
          onChange={(next) => set({ status: next })}
        />
        <SearchField
          label="Event"
          placeholder="The whole name"
          value={event}
          onChange={(next) => set({ event: next }, true)}
        />
      </div>
      <Loaded query={deliveries}>
        {({ data, cursor: next }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                {status || event || cursor
                  ? 'No delivery fits this search.'
                  : 'Each event that fits is listed here with what the receiver answered. None has come yet.'}
              </Empty>
            ) : (
              <Rows deliveries={data} isEnabled={enabled} />
            )}
            <Pager
              shown=""
              onFirst={cursor ? () => set({ cursor: '' }) : null}
              onNext={next ? () => set({ cursor: next }) : null}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Rows({
  deliveries,
  isEnabled,
}: {
  deliveries: readonly EventDelivery[];
  isEnabled: boolean;
}) {
  const { path } = useProject();
  const [shownId, setShownId] = useState<string | null>(null);
  const shown = deliveries.find(({ id }) => id === shownId);
  return (
    <>
      <Table
        label="Deliveries"
        rows={deliveries}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Event', cell: ({ eventName }) => <code>{eventName}</code> },
          { name: 'Status', cell: (delivery) => <DeliveryState delivery={delivery} /> },
          { name: 'Last answer', cell: ({ attempts }) => lastAnswer(attempts) },
          { name: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts.length },
          { name: 'Recorded', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Contact',
            cell: ({ contactId }) =>
              contactId ? <Link to={path(`contacts/${contactId}`)}>Contact</Link> : '–',
          },
          {
            name: 'Actions',
            hidesName: true,
            cell: (delivery) => (
              <span className="actions">
                <Retry delivery={delivery} isEnabled={isEnabled} />
                <Button isSmall onClick={() => setShownId(delivery.id)}>
                  Details
                </Button>
              </span>
            ),
          },
        ]}
      />
      {shown && <DeliveryDialog delivery={shown} onClose={() => setShownId(null)} />}
    </>
  );
}

function lastAnswer(attempts: EventDelivery['attempts']): string {
  const last = attempts.at(-1);
  return last ? attemptText(last) : '';
}

function DeliveryState({
  delivery: { status, reason, nextAttemptAt },
}: {
  delivery: EventDelivery;
}) {
  const { text, tone } = deliveryStates[status];
  return (
    <>
      <State tone={tone}>{text}</State>{' '}
      <span className="second">
        {reason && skipReasons[reason]}
        {nextAttemptAt && (
          <>
            next try <Time at={nextAttemptAt} />
          </>
        )}
      </span>
    </>
  );
}

function Retry({
  delivery: { id: deliveryId, subscriptionId: id },
  isEnabled,
}: {
  delivery: EventDelivery;
  isEnabled: boolean;
}) {
  const { api, project } = useProject();
  const retry = useAction(async () => {
    await api.post('/event-subscriptions/{id}/deliveries/{deliveryId}/retry', {
      path: { id, deliveryId },
    });
    await readAgain(project.id, 'subscriptions');
  }, 'It is sent again now.');
  return (
    <Button
      isSmall
      isBusy={retry.isBusy}
      disabledBecause={!isEnabled && 'Enable the subscription first.'}
      onClick={() => void retry.run()}
    >
      Retry
    </Button>
  );
}
