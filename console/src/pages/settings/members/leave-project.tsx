import { accountApi } from '../../../api/api.ts';
import { base } from '../../../api/session.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { useProject } from '../../../shell/project.ts';

export function LeaveProject() {
  const { project } = useProject();
  const confirm = useConfirm();
  const { id, name, role } = project;
  const ask = () =>
    confirm({
      title: `Leave ${name}?`,
      text: 'You reach nothing of this project any more, until an administrator invites you again. Named keys that you have made go on working.',
      verb: 'Leave project',
      send: async () => {
        await accountApi.delete('/users/@me/projects/{id}/membership', { path: { id } });
        location.assign(`${base}/`);
      },
    });
  return (
    <Button
      disabledBecause={role === 'OWNER' && 'The owner cannot leave the project, only delete it.'}
      onClick={ask}
    >
      Leave project
    </Button>
  );
}
