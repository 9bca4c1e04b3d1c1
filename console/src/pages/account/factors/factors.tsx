import { useState } from 'react';
import { accountApi, type Factor } from '../../../api/api.ts';
import { addPasskey, hasPasskeys } from '../../../api/passkeys.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Loaded, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { counted } from '../../../words/numbers.ts';
import { AddApp } from './add-app.tsx';
import { FactorActions } from './factor-actions.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';

const kinds: Record<Factor['type'], string> = { totp: 'Authenticator app', passkey: 'Passkey' };

/** The second factors of the user: authenticator apps and passkeys, with their recovery codes. */
export function Factors() {
  const query = useRead(['factors'], () => accountApi.get('/users/@me/factors'));
  const [isAddingApp, setAddingApp] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const added = async ({ recoveryCodes }: { recoveryCodes: readonly string[] | null }) => {
    setAddingApp(false);
    setCodes(recoveryCodes);
    await Promise.all([readAgain('factors'), readAgain('sessions'), readAgain('projects')]);
  };
  const passkey = useAction(async () => added(await addPasskey()), 'The passkey is added.');
  return (
    <Card
      label="Second factors"
      actions={
        <>
          <Button isSmall onClick={() => setAddingApp(true)}>
            Add an authenticator app
          </Button>
          {hasPasskeys && (
            <Button isSmall isBusy={passkey.isBusy} onClick={() => void passkey.run()}>
              Add a passkey
            </Button>
          )}
        </>
      }
    >
      <Loaded query={query} lines={2}>
        {({ factors, recoveryCodesLeft, required }) => (
          <>
            {required && <p>One of your projects demands a second factor.</p>}
            {factors.length === 0 ? (
              <p className="second">
                None. With one, a stolen password alone lets nobody into your account.
              </p>
            ) : (
              <>
                <FactorTable factors={factors} />
                <Left count={recoveryCodesLeft} onRenewed={setCodes} />
              </>
            )}
          </>
        )}
      </Loaded>
      {isAddingApp && (
        <AddApp onAdded={(result) => void added(result)} onClose={() => setAddingApp(false)} />
      )}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </Card>
  );
}

function FactorTable({ factors }: { factors: readonly Factor[] }) {
  return (
    <Table
      label="Second factors"
      rows={factors}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Name', cell: ({ name }) => name },
        { name: 'Kind', cell: ({ type }) => kinds[type] },
        { name: 'Added', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { name: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        { name: 'Change', hidesName: true, cell: (factor) => <FactorActions factor={factor} /> },
      ]}
    />
  );
}

function Left({
  count,
  onRenewed,
}: {
  count: number;
  onRenewed: (codes: readonly string[]) => void;
}) {
  const renew = useAction(async () => {
    const { recoveryCodes } = await accountApi.post('/users/@me/recovery-codes');
    onRenewed(recoveryCodes);
    await readAgain('factors');
  });
  return (
    <div className="actions">
      <span>{counted(count, 'recovery code')} left.</span>
      <Button isSmall isBusy={renew.isBusy} onClick={() => void renew.run()}>
        Make new ones
      </Button>
    </div>
  );
}
