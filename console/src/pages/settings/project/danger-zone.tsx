import { accountApi } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { base } from '../../../api/session.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { Card } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { Losses } from './losses.tsx';

/** The two actions that delete the data of a project: reset and deletion. */
export function DangerZone() {
  const { project, api, adminOnly } = useProject();
  const confirm = useConfirm();
  const { say } = useNotify();
  const { id, name } = project;
  const askReset = () =>
    confirm({
      title: `Reset ${name}?`,
      text: (
        <Losses api={api} projectId={id}>
          The project itself stays, with its settings, keys, domains, members and suppression list.
        </Losses>
      ),
      verb: 'Reset project',
      typed: name,
      send: async () => {
        await accountApi.post('/users/@me/projects/{id}/reset', { path: { id } });
        await readAgain(id);
        say('The project is empty.');
      },
    });
  const askDelete = () =>
    confirm({
      title: `Delete ${name}?`,
      text: (
        <Losses api={api} projectId={id}>
          Its domains, keys and members are lost as well: every request with a key is refused at
          once.
        </Losses>
      ),
      verb: 'Delete project',
      typed: name,
      send: async () => {
        await accountApi.delete('/users/@me/projects/{id}', { path: { id } });
        location.assign(`${base}/`);
      },
    });
  return (
    <Card label="Danger zone">
      <div className="actions">
        <Button kind="danger" disabledBecause={adminOnly} onClick={askReset}>
          Reset project
        </Button>
        <span className="second">
          Deletes contacts, mail, templates, segments, campaigns and workflows.
        </span>
      </div>
      <div className="actions">
        <Button kind="danger" disabledBecause={adminOnly} onClick={askDelete}>
          Delete project
        </Button>
        <span className="second">Deletes everything, for ever.</span>
      </div>
    </Card>
  );
}
