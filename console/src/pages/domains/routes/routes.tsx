import { useState } from 'react';
import type { Route, Routing } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Empty, Loaded } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { messageTypes } from '../../../words/templates.ts';
import { RouteDialog } from './route-dialog.tsx';
import { TryMail } from './try-mail.tsx';
import type { RouteInput } from './route-values.ts';

type Put = (routes: readonly RouteInput[]) => Promise<void>;

/** The routes, which choose the provider of each mail. The first route that fits decides. */
export function Routes() {
  const { api, project, adminOnly } = useProject();
  const routing = useRead([project.id, 'routing'], () => api.get('/routing'));
  const [edited, setEdited] = useState<number | null>(null);
  const [isTrying, setTrying] = useState(false);
  const put: Put = async (routes) => {
    await api.put('/routing', { body: { routes: [...routes] } });
    await readAgain(project.id, 'routing');
  };
  return (
    <Card
      label="Routes"
      actions={
        <>
          <Button onClick={() => setTrying(true)}>Try a mail</Button>
          <Button
            disabledBecause={adminOnly ?? (routing.data ? null : 'The routes are being read.')}
            onClick={() => setEdited(routing.data!.routes.length)}
          >
            Add route
          </Button>
        </>
      }
    >
      <Loaded query={routing} lines={1}>
        {({ routes }) => (
          <>
            {routes.length === 0 ? (
              <Empty>
                All mail leaves by the default provider. A route sends some of it elsewhere.
              </Empty>
            ) : (
              <Rows routes={routes} onEdit={setEdited} put={put} />
            )}
            {edited !== null && (
              <RouteDialog routes={routes} at={edited} put={put} onClose={() => setEdited(null)} />
            )}
          </>
        )}
      </Loaded>
      {isTrying && <TryMail onClose={() => setTrying(false)} />}
    </Card>
  );
}

function Rows({
  routes,
  onEdit,
  put,
}: {
  routes: Routing['routes'];
  onEdit: (at: number) => void;
  put: Put;
}) {
  const { api, project } = useProject();
  const providers = useRead([project.id, 'providers'], () => api.get('/providers'));
  const topics = useRead([project.id, 'topics'], () => api.get('/topics'));
  const nameOf = (all: readonly { id: string; name: string }[] | undefined, id: string) =>
    all?.find((one) => one.id === id)?.name ?? id;
  return (
    <Table
      label="Routes"
      rows={routes.map((route, at) => ({ route, at }))}
      keyOf={({ at }) => String(at)}
      columns={[
        { name: 'Route', cell: ({ at }) => at + 1 },
        {
          name: 'Mail',
          cell: ({ route }) => matchText(route.match, (id) => nameOf(topics.data, id)),
        },
        {
          name: 'Providers',
          cell: ({ route }) =>
            route.providers
              .map(({ id, weight }) => `${nameOf(providers.data, id)} (${weight})`)
              .join(', '),
        },
        {
          name: 'While the chosen one is down',
          cell: ({ route }) => (route.onDown === 'hold' ? 'mail waits' : 'the next one gets it'),
        },
        {
          name: 'Actions',
          hidesName: true,
          cell: ({ at }) => <RouteActions routes={routes} at={at} onEdit={onEdit} put={put} />,
        },
      ]}
    />
  );
}

function RouteActions({
  routes,
  at,
  onEdit,
  put,
}: {
  routes: Routing['routes'];
  at: number;
  onEdit: (at: number) => void;
  put: Put;
}) {
  const { adminOnly } = useProject();
  const change = useAction(put);
  const others = routes.filter((_, index) => index !== at);
  return (
    <span className="actions">
      <Button isSmall disabledBecause={adminOnly} onClick={() => onEdit(at)}>
        Edit
      </Button>
      <Button
        isSmall
        isBusy={change.isBusy}
        disabledBecause={adminOnly ?? (at === 0 && 'It is the first one already.')}
        onClick={() => void change.run(others.toSpliced(at - 1, 0, routes[at]!))}
      >
        Move up
      </Button>
      <Button isSmall disabledBecause={adminOnly} onClick={() => void change.run(others)}>
        Remove
      </Button>
    </span>
  );
}

function matchText(
  { messageClass, domains, topicIds, receivers }: Route['match'],
  topicName: (id: string) => string,
): string {
  const parts = [
    messageClass?.map((name) => messageTypes[name]).join(', '),
    domains && `from ${domains.join(', ')}`,
    topicIds && `of ${topicIds.map(topicName).join(', ')}`,
    receivers && `to ${receivers.join(', ')}`,
  ].filter(Boolean);
  return parts.length === 0 ? 'All' : parts.join('; ');
}
