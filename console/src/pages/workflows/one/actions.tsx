import { Link, useNavigate } from '@tanstack/react-router';
import type { WorkflowGraph } from '../../../../../client/everpost.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import type { useEnabling } from '../shared/enabling.tsx';
import { hide, show } from '../shared/hidden.ts';

/** The actions on a workflow as a whole. */
export function WorkflowActions({
  workflow: { id, name, pausedAt },
  enabling,
}: {
  workflow: WorkflowGraph;
  enabling: ReturnType<typeof useEnabling>;
}) {
  const { api, path, project } = useProject();
  const navigate = useNavigate();
  const pause = useAction(
    async () => {
      await api.patch('/workflows/{id}', { path: { id }, body: { paused: pausedAt === null } });
      await readAgain(project.id, 'workflows');
    },
    pausedAt ? 'Resumed.' : 'Paused. Nobody inside begins a step until it is resumed.',
  );
  const duplicate = useAction(async () => {
    const copy = await api.post('/workflows/{id}/duplicate', { path: { id } });
    await readAgain(project.id, 'workflows');
    await navigate({ to: path(`workflows/${copy.id}`) });
  }, 'Duplicated.');
  const remove = useDelete({ id, name, isEnabled: enabling.isEnabled });
  return (
    <>
      <Link className="button primary" to={path(`workflows/${id}/edit`)}>
        Edit
      </Link>
      <Button isBusy={enabling.isBusy} onClick={enabling.change}>
        {enabling.isEnabled ? 'Disable' : 'Enable'}
      </Button>
      <Button isBusy={pause.isBusy} onClick={() => void pause.run()}>
        {pausedAt ? 'Resume' : 'Pause'}
      </Button>
      <Button isBusy={duplicate.isBusy} onClick={() => void duplicate.run()}>
        Duplicate
      </Button>
      <Button kind="danger" isBusy={remove.isBusy} onClick={() => void remove.run()}>
        Delete
      </Button>
    </>
  );
}

/**
 * Deletes a workflow. If it has had executions, or contacts can enter it, a dialog first asks and
 * shows how much is lost. Otherwise the deletion can be undone.
 */
function useDelete({ id, name, isEnabled }: { id: string; name: string; isEnabled: boolean }) {
  const { api, path, project } = useProject();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const { undoable } = useNotify();
  const reload = () => readAgain(project.id, 'workflows', 'list');
  const toList = () => navigate({ to: path('workflows') });
  const deleteUnused = async () => {
    await api.delete('/workflows/{id}', { path: { id } });
    await reload();
  };
  return useAction(async () => {
    const { total } = await api.get('/executions', { query: { workflowId: id, limit: 1 } });
    if (total === 0 && !isEnabled) {
      hide(id);
      undoable(`${name} is deleted.`, deleteUnused, () => show(id));
      return toList();
    }
    const active = await api.get('/executions', {
      query: { workflowId: id, status: 'RUNNING,WAITING', limit: 1 },
    });
    return confirm({
      title: `Delete ${name}?`,
      text: (
        <>
          <p>Its steps and {counted(total, 'execution')} are lost. Its mails and templates stay.</p>
          {active.total > 0 && (
            <p>{counted(active.total, 'contact')} inside will get no further step.</p>
          )}
        </>
      ),
      verb: 'Delete',
      send: async () => {
        if (active.total > 0) {
          await api.post('/workflows/{id}/executions/cancel-all', { path: { id } });
        }
        await api.delete('/workflows/{id}', { path: { id } });
        await toList();
        await reload();
      },
    });
  });
}
