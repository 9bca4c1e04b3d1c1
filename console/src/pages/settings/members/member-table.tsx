import type { Api } from '../../../api/api.ts';
import { accountApi } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { State, Time } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { useUser } from '../../../shell/user.ts';
import { textOfActor } from '../../../words/actors.ts';
import { roleNames } from './roles.ts';

export type ListedMember = Api['get']['/projects/{id}/members']['answer']['data'][number];

export function MemberTable({
  members,
  onChanged,
}: {
  members: readonly ListedMember[];
  onChanged: () => Promise<void>;
}) {
  const user = useUser();
  return (
    <Table
      label="Members"
      rows={members}
      keyOf={({ userId }) => userId}
      columns={[
        { name: 'Email', cell: ({ email }) => email },
        { name: 'Role', cell: ({ role }) => roleNames[role] },
        {
          name: 'State',
          cell: ({ status }) =>
            status === 'invited' ? (
              <State tone="warning">Invited</State>
            ) : (
              <State tone="good">Active</State>
            ),
        },
        {
          name: 'Added by',
          cell: ({ managedBy, addedBy }) => {
            if (managedBy !== null) return `Identity provider ${managedBy}`;
            return addedBy?.id === user.id ? 'You' : textOfActor(addedBy);
          },
        },
        { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          name: 'Actions',
          hidesName: true,
          cell: (member) => <Actions member={member} onChanged={onChanged} />,
        },
      ]}
    />
  );
}

function Actions({
  member: { userId, email, role, status, managedBy },
  onChanged,
}: {
  member: ListedMember;
  onChanged: () => Promise<void>;
}) {
  const { project, adminOnly } = useProject();
  const user = useUser();
  const confirm = useConfirm();
  const path = { id: project.id, userId };
  const next = role === 'ADMIN' ? 'MEMBER' : 'ADMIN';
  const change = useAction(async () => {
    await accountApi.patch('/projects/{id}/members/{userId}', { path, body: { role: next } });
    await onChanged();
  });
  const isOwner = role === 'OWNER';
  const fixed = adminOnly ?? (isOwner && 'The owner of a project cannot be changed or removed.');
  const managed = managedBy !== null && 'The role follows from a rule of the identity provider.';
  const itself = userId === user.id && 'You can leave the project instead.';
  const askRemove = () =>
    confirm({
      title: status === 'invited' ? `Withdraw the invitation of ${email}?` : `Remove ${email}?`,
      text:
        status === 'invited'
          ? `${email} can no longer accept it.`
          : `${email} reaches nothing of this project any more, at once. Named keys that this person has made go on working.`,
      verb: 'Remove',
      send: async () => {
        await accountApi.delete('/projects/{id}/members/{userId}', { path });
        await onChanged();
      },
    });
  return (
    <div className="row-actions">
      {!isOwner && (
        <Button
          isSmall
          isBusy={change.isBusy}
          disabledBecause={fixed || managed}
          onClick={() => void change.run()}
        >
          {next === 'ADMIN' ? 'Make administrator' : 'Make member'}
        </Button>
      )}
      <Button isSmall disabledBecause={fixed || itself} onClick={askRemove}>
        Remove
      </Button>
    </div>
  );
}
