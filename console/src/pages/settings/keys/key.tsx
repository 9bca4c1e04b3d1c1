import '../shared/settings.css';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type ApiKey, EverpostError } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { PageHead } from '../../../design/page-head.tsx';
import { Card, Loaded, Time } from '../../../design/parts.tsx';
import { useParam } from '../../../shell/address.ts';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';
import { KeyActions } from './key-actions.tsx';
import { KeyState, kindNames } from './key-state.tsx';

/** One named key. */
export function Page() {
  const id = useParam('keyId');
  const { api, project } = useProject();
  const key = useLive({
    key: [project.id, 'keys', id],
    read: () => api.get('/api-keys/{id}', { path: { id } }),
    isLive: ({ revokedAt }) => revokedAt === null,
  });
  const { error } = key;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return <Loaded query={key}>{(found) => <Shown apiKey={found} />}</Loaded>;
}

function Shown({ apiKey }: { apiKey: ApiKey }) {
  const { project, path } = useProject();
  return (
    <>
      <PageHead
        title={apiKey.name}
        project={project.name}
        trail={<Link to={path('settings/keys')}>All API keys</Link>}
        state={<KeyState apiKey={apiKey} />}
        actions={apiKey.revokedAt === null && <KeyActions apiKey={apiKey} />}
      />
      <Card
        label="Settings"
        actions={
          <Link to={path('settings/keys')} search={{ tab: 'Requests', by: `key ${apiKey.id}` }}>
            Requests with this key
          </Link>
        }
      >
        <dl className="facts">
          {factsOf(apiKey).map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
        </dl>
      </Card>
    </>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

const by = (at: string | null, actor: ApiKey['createdBy']) => (
  <>
    <Time at={at} /> by {textOfActor(actor)}
  </>
);

function factsOf(key: ApiKey): [string, ReactNode][] {
  const { kind, rotatesUntil, revokedAt } = key;
  return [
    ['Key', <code key="key">{key.key}</code>],
    ['Kind', kindNames[kind]],
    ['Scopes', key.scopes.join(', ')],
    kind === 'secret'
      ? ['Sender domains', key.domains?.join(', ') ?? 'All']
      : ['Events', key.events?.join(', ') ?? 'All'],
    ['Networks', key.cidrs?.join(', ') ?? 'From everywhere'],
    ['Expires', key.expiresAt === null ? 'Never' : <Time at={key.expiresAt} />],
    ...(rotatesUntil === null
      ? []
      : ([
          [
            'Former value works',
            <>
              until <Time at={rotatesUntil} />
            </>,
          ],
        ] as [string, ReactNode][])),
    ['Last used', key.lastUsedAt === null ? 'Never' : <Time at={key.lastUsedAt} />],
    ['Created', by(key.createdAt, key.createdBy)],
    ...(revokedAt === null
      ? []
      : ([['Revoked', by(revokedAt, key.revokedBy)]] as [string, ReactNode][])),
  ];
}
