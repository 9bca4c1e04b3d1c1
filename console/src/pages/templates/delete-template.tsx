import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Template } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';

interface User {
  name: string;
  page: string;
}

/**
 * Deletes a template, with `Undo`. If the template is in use, a dialog links to its uses, and
 * nothing is deleted.
 */
export function useDeleteTemplate({ hide, show }: { hide: () => void; show: () => void }): {
  run: (template: Pick<Template, 'id' | 'name'>) => Promise<boolean>;
  isBusy: boolean;
  dialog: ReactNode;
} {
  const { api, project } = useProject();
  const { undoable } = useNotify();
  const [users, setUsers] = useState<readonly User[]>([]);
  const { run, isBusy } = useAction(async ({ id, name }: Pick<Template, 'id' | 'name'>) => {
    const usage = await api.get('/templates/{id}/usage', { path: { id } });
    if (usage.workflowSteps.length > 0) {
      return setUsers(
        usage.workflowSteps.map((step) => ({
          name: `${step.workflowName}: ${step.name}`,
          page: `workflows/${step.workflowId}`,
        })),
      );
    }
    hide();
    undoable(
      `${name} is deleted.`,
      async () => {
        await api.delete('/templates/{id}', { path: { id } });
        await readAgain(project.id, 'templates');
      },
      show,
    );
  });
  return {
    run,
    isBusy,
    dialog: users.length > 0 && <InUse users={users} onClose={() => setUsers([])} />,
  };
}

function InUse({ users, onClose }: { users: readonly User[]; onClose: () => void }) {
  const { path } = useProject();
  return (
    <Dialog
      title="This template is in use"
      description="Choose another template there first. Nothing was deleted."
      onClose={onClose}
    >
      <ul className="stack">
        {users.map(({ name, page }) => (
          <li key={page + name}>
            <Link to={path(page)}>{name}</Link>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
