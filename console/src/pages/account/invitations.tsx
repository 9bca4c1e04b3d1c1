import { useNavigate } from '@tanstack/react-router';
import { accountApi, type Invitation } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAction } from '../../design/use-action.ts';

const roles: Record<Invitation['role'], string> = { ADMIN: 'Administrator', MEMBER: 'Member' };

export function useInvitations() {
  return useRead(['invitations'], () => accountApi.get('/users/@me/invitations'));
}

/** The projects to which the user is invited. */
export function Invitations({ query }: { query: ReturnType<typeof useInvitations> }) {
  return (
    <Card label="Invitations">
      <Loaded query={query} lines={1}>
        {(invitations) =>
          invitations.length === 0 ? (
            <p className="second">
              None. Who invites you to a project needs the address of your account.
            </p>
          ) : (
            <Table
              label="Invitations"
              rows={invitations}
              keyOf={({ projectId }) => projectId}
              columns={[
                { name: 'Project', cell: ({ projectName }) => projectName },
                { name: 'Role', cell: ({ role }) => roles[role] },
                { name: 'Invited', cell: ({ createdAt }) => <Time at={createdAt} /> },
                {
                  name: 'Answer',
                  hidesName: true,
                  cell: (invitation) => <Answer invitation={invitation} />,
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function Answer({ invitation: { projectId, projectName } }: { invitation: Invitation }) {
  const navigate = useNavigate();
  const accept = useAction(async () => {
    await accountApi.post('/users/@me/invitations/{projectId}/accept', { path: { projectId } });
    await readAgain('projects');
    await readAgain('invitations');
    await navigate({ to: `/${projectId}` });
  }, `You are a member of ${projectName} now.`);
  const decline = useAction(async () => {
    await accountApi.delete('/users/@me/projects/{id}/membership', { path: { id: projectId } });
    await readAgain('invitations');
  }, `You have declined the invitation to ${projectName}.`);
  return (
    <span className="actions">
      <Button kind="primary" isSmall isBusy={accept.isBusy} onClick={() => void accept.run()}>
        Accept
      </Button>
      <Button isSmall isBusy={decline.isBusy} onClick={() => void decline.run()}>
        Decline
      </Button>
    </span>
  );
}
