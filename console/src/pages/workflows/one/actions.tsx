import { Link, useNavigate } from '@tanstack/react-router';
import type { WorkflowGraph } from '../../../../../client/everpost.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import type { useEnabling } from '../shared/enabling.tsx';

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
  const remove = useDelete(id, name);
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

/** Asks for confirmation, with the numbers of what will be lost. */
function useDelete(id: string, name: string) {
  const { api, path, project } = useProject();
  const navigate = useNavigate();
  const confirm = useConfirm();
  return useAction(async () => {
    const { total } = await api.get('/executions', { query: { workflowId: id, limit: 1 } });
    const active = await api.get('/executions', {
      query: { workflowId: id, status: 'RUNNING,WAITING', limit: 1 },
    });
    confirm({
      title: `Delete ${name}?`,
      text: (
        <>
          <p>Its steps and {counted(total, 'execution')} are lost. Its mails and templates stay.</p>
          {active.total > 0 && (
            <p>{counted(active.total, 'contact')} inside will get no further step.</p>
          )}
        </>
      ),
      verb: 'Delete workflow',
      send: async () => {
        if (active.total > 0) {
          await api.post('/workflows/{id}/executions/cancel-all', { path: { id } });
        }
        await api.delete('/workflows/{id}', { path: { id } });
        await navigate({ to: path('workflows') });
        await readAgain(project.id, 'workflows', 'list');
      },
    });
  });
}
