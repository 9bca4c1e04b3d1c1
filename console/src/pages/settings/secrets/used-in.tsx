import { Link } from '@tanstack/react-router';
import type { Secret } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';

/** Maximum number of uses that are named. Further uses are counted. */
const namedUses = 5;

/** The workflows and event subscriptions that use a secret, as links. */
export function UsedIn({ secret: { name, usedIn, more = {} } }: { secret: Secret }) {
  const ids = (key: 'workflowId' | 'subscriptionId') => [
    ...new Set(
      usedIn.flatMap((use) => (key in use ? [(use as Record<string, string>)[key]!] : [])),
    ),
  ];
  const users = [
    ...ids('workflowId').map((id) => <Workflow key={id} id={id} />),
    ...ids('subscriptionId').map((id) => <Subscription key={id} id={id} />),
  ];
  if (users.length === 0) return <span className="second">Nothing</span>;
  const others = users.length - namedUses + (more['usedIn'] ?? 0);
  return (
    <ul className="changes" aria-label={`Uses of ${name}`}>
      {users.slice(0, namedUses).map((user) => (
        <li key={user.key}>{user}</li>
      ))}
      {others > 0 && <li className="second">and {counted(others, 'other')}</li>}
    </ul>
  );
}

function Workflow({ id }: { id: string }) {
  const { api, project, path } = useProject();
  const { data } = useRead([project.id, 'workflows', 'name', id], () =>
    api.get('/workflows/{id}', { path: { id } }),
  );
  return <Link to={path(`workflows/${id}`)}>{data?.name ?? 'Workflow'}</Link>;
}

function Subscription({ id }: { id: string }) {
  const { api, project, path, adminOnly } = useProject();
  const { data } = useRead(
    [project.id, 'subscriptions', 'name', id],
    () => api.get('/event-subscriptions/{id}', { path: { id } }),
    { isEnabled: adminOnly === null },
  );
  const name = data && (data.description ?? new URL(data.url).host);
  return <Link to={path(`settings/subscriptions/${id}`)}>{name ?? 'Event subscription'}</Link>;
}
