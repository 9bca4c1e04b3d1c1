import { accountApi, type SignInPolicy as Policy } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Card, Loaded, State } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { roleNames } from './roles.ts';

/** The rules of the project for the sign-in of its members. */
export function SignInPolicy() {
  const { project } = useProject();
  const policy = useRead([project.id, 'sign-in-policy'], () =>
    accountApi.get('/users/@me/projects/{id}/sign-in-policy', { path: { id: project.id } }),
  );
  return (
    <Loaded query={policy}>
      {(found) => (
        <>
          <SecondFactor policy={found} />
          <KeysThatNameAdmins />
          {found.rules.length > 0 && <Rules policy={found} />}
        </>
      )}
    </Loaded>
  );
}

const ownerOnly = 'Only the owner may do this.';

function SecondFactor({ policy }: { policy: Policy }) {
  const { project } = useProject();
  const confirm = useConfirm();
  const { id, role } = project;
  const { requireSecondFactor: isRequired, rules } = policy;
  const ask = () =>
    confirm({
      title: isRequired ? 'No longer require a second factor?' : 'Require a second factor?',
      text: isRequired
        ? 'Members can then work in this project after signing in with a password alone.'
        : 'Members who have not used a second factor reach nothing of this project, at once, until they do. API keys work as before.',
      verb: isRequired ? 'No longer require it' : 'Require it',
      isDangerous: false,
      send: async () => {
        await accountApi.put('/users/@me/projects/{id}/sign-in-policy', {
          path: { id },
          body: { requireSecondFactor: !isRequired, rules },
        });
        await readAgain(id, 'sign-in-policy');
      },
    });
  return (
    <Card
      label="Second factor"
      actions={
        <Button isSmall disabledBecause={role !== 'OWNER' && ownerOnly} onClick={ask}>
          {isRequired ? 'No longer require it' : 'Require it of all members'}
        </Button>
      }
    >
      {isRequired ? (
        <State tone="good">All members need one</State>
      ) : (
        <p className="second">
          Members may use one, but need none here. To require it, you must have used one yourself.
        </p>
      )}
    </Card>
  );
}

/** The owner may let programs with the secret key make administrators. */
function KeysThatNameAdmins() {
  const { project } = useProject();
  const confirm = useConfirm();
  const { id, role, keysMayNameAdmins: isOn = false } = project;
  const ask = () =>
    confirm({
      title: isOn ? 'Forbid it to the secret key?' : 'Let the secret key make administrators?',
      text: isOn
        ? 'Programs with the secret key can then invite and remove members, but make nobody an administrator.'
        : 'A stolen secret key could then make its thief an administrator, who stays after the key is replaced.',
      verb: isOn ? 'Forbid it' : 'Allow it',
      isDangerous: !isOn,
      send: async () => {
        await accountApi.patch('/users/@me/projects/{id}', {
          path: { id },
          body: { keysMayNameAdmins: !isOn },
        });
        await readAgain('projects');
      },
    });
  return (
    <Card
      label="Administrators by key"
      actions={
        <Button isSmall disabledBecause={role !== 'OWNER' && ownerOnly} onClick={ask}>
          {isOn ? 'Forbid it' : 'Allow it'}
        </Button>
      }
    >
      <p className="second">
        {isOn
          ? 'Programs with the secret key may make members administrators.'
          : 'Only people may make members administrators, not programs with the secret key.'}
      </p>
    </Card>
  );
}

function Rules({ policy: { rules } }: { policy: Policy }) {
  return (
    <Card label="Members by identity provider">
      <Table
        label="Rules"
        rows={rules}
        keyOf={({ provider, claim, value, role }) => [provider, claim, value, role].join(' ')}
        columns={[
          { name: 'Provider', cell: ({ provider }) => provider },
          {
            name: 'Who',
            cell: ({ claim, value }) =>
              claim === null ? (
                'All its users'
              ) : (
                <>
                  <code>{claim}</code> is <code>{value}</code>
                </>
              ),
          },
          { name: 'Role', cell: ({ role }) => roleNames[role] },
        ]}
      />
    </Card>
  );
}
