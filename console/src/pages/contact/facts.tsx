import { Link } from '@tanstack/react-router';
import type { Everpost } from '../../../../client/everpost.ts';
import { type Contact, EverpostError, type Suppression } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Card, Loaded, State, Time } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { kindNames, kindOfValue, shownValue } from '../../values/kinds.ts';
import { textOfSuppression } from '../../words/reasons.ts';

export function DataCard({ contact: { data, createdAt, updatedAt } }: { contact: Contact }) {
  return (
    <Card label="Data">
      <dl className="facts">
        {Object.entries(data ?? {}).map(([key, value]) => (
          <Fact key={key} name={key}>
            <span title={kindNames[kindOfValue(value)]}>{shownValue(value)}</span>
          </Fact>
        ))}
        <Fact name="Added">
          <Time at={createdAt} />
        </Fact>
        <Fact name="Changed">
          <Time at={updatedAt} />
        </Fact>
      </dl>
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function SegmentsCard({ id }: { id: string }) {
  const { api, project, path } = useProject();
  const segments = useRead([project.id, 'contacts', 'segments', id], () =>
    api.get('/contacts/{id}/segments', { path: { id } }),
  );
  return (
    <Card label="Segments">
      <Loaded query={segments} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <p className="second">In no segment.</p>
          ) : (
            <ul className="stack-list">
              {all.map((segment) => (
                <li key={segment.id}>
                  <Link to={path(`segments/${segment.id}`)}>{segment.name}</Link>{' '}
                  <span className="second small">
                    {segment.type === 'STATIC' ? 'chosen' : 'by its filter'}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

/**
 * Returns the suppression entry of an address. A search does not find entries that are kept as
 * hashes. The address itself is requested only if such entries exist, because browsers print an
 * error for each 404.
 */
async function findSuppression(api: Everpost, email: string): Promise<Suppression | null> {
  const list = (query: { search: string } | { reason: 'erased' | 'opt_out' }) =>
    api.get('/suppression-list', { query: { ...query, limit: 100 } });
  const [near, ...hashed] = await Promise.all([
    list({ search: email }),
    list({ reason: 'erased' }),
    list({ reason: 'opt_out' }),
  ]);
  const own = near.data.find((entry) => entry.email === email);
  if (own || hashed.every(({ total }) => total === 0)) return own ?? null;
  try {
    return await api.get('/suppression-list/{email}', { path: { email } });
  } catch (error) {
    if (error instanceof EverpostError && error.status === 404) return null;
    throw error;
  }
}

const scopes = { all: 'It gets no mail.', marketing: 'It gets no marketing mail.' };

export function SuppressionCard({ email }: { email: string }) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  const key = [project.id, 'contacts', 'suppression', email];
  const entry = useRead(key, () => findSuppression(api, email));
  const askRemove = () =>
    confirm({
      title: `Remove ${email} from the suppression list?`,
      text: 'Mail to this address is sent again. If it bounces or is marked as spam, it hurts your reputation.',
      verb: 'Remove',
      async send() {
        await api.delete('/suppression-list/{email}', { path: { email } });
        await readAgain(project.id, 'contacts');
      },
    });
  return (
    <Card
      label="Suppression"
      actions={
        entry.data && (
          <Button isSmall onClick={askRemove}>
            Remove
          </Button>
        )
      }
    >
      <Loaded query={entry} lines={1}>
        {(data) =>
          data ? (
            <>
              <State tone="bad">On the suppression list</State>
              <p>
                {textOfSuppression(data.reason)} {scopes[data.scope]} <code>{data.reason}</code>
              </p>
              <p className="second">
                Since <Time at={data.createdAt} />
                {data.until && (
                  <>
                    , until <Time at={data.until} />
                  </>
                )}
              </p>
            </>
          ) : (
            <p className="second">Not on the suppression list.</p>
          )
        }
      </Loaded>
    </Card>
  );
}
