import { accountApi, type Identity } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';
import type { SignInMethods } from '../../sign-in/methods.ts';

/**
 * The identity providers by which the user signs in. Without providers and links, nothing is shown.
 */
export function Identities({ providers }: { providers: SignInMethods['oidc'] }) {
  const identities = useRead(['identities'], () => accountApi.get('/users/@me/identities'));
  if (providers.length === 0 && !identities.data?.length) return null;
  return (
    <Card label="Linked sign-ins">
      <Loaded query={identities} lines={1}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="second">None. With a linked provider, you log in without a password.</p>
          ) : (
            <Table
              label="Linked sign-ins"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Provider', cell: ({ name }) => name },
                { name: 'Linked', cell: ({ createdAt }) => <Time at={createdAt} /> },
                { name: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                {
                  name: 'Unlink',
                  hidesName: true,
                  cell: (identity) => <Unlink identity={identity} />,
                },
              ]}
            />
          )
        }
      </Loaded>
      <div className="actions">
        {providers.map((provider) => (
          <LinkTo key={provider.id} provider={provider} />
        ))}
      </div>
    </Card>
  );
}

/** Begins to link the account. The provider then leads to the page with the result. */
function LinkTo({ provider: { id, name } }: { provider: SignInMethods['oidc'][number] }) {
  const link = useAction(async () => {
    const { url } = await accountApi.post('/users/@me/identities', { body: { provider: id } });
    location.assign(url);
  });
  return (
    <Button isBusy={link.isBusy} onClick={() => void link.run()}>
      Link {name}
    </Button>
  );
}

function Unlink({ identity: { id, name } }: { identity: Identity }) {
  const unlink = useAction(async () => {
    await accountApi.delete('/users/@me/identities/{id}', { path: { id } });
    await readAgain('identities');
  }, `${name} is no longer linked.`);
  return (
    <Button isSmall isBusy={unlink.isBusy} onClick={() => void unlink.run()}>
      Unlink
    </Button>
  );
}
