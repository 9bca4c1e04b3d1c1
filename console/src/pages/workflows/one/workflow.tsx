import { Link } from '@tanstack/react-router';
import { EverpostError } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { LastDays } from '../../../mail/over-time.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Loaded } from '../../../design/parts.tsx';
import { Tabs } from '../../../design/tabs.tsx';
import { useAddress, useParam } from '../../../shell/address.ts';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import { useEnabling } from '../shared/enabling.tsx';
import { WorkflowState } from '../shared/workflow-state.tsx';
import { WorkflowActions } from './actions.tsx';
import { Executions } from './executions.tsx';
import { OlderVersions } from './older-versions.tsx';
import { Picture } from './picture.tsx';
import { SettingsForm } from './settings.tsx';
import { Steps } from './steps.tsx';
import { Versions } from './versions.tsx';
import '../shared/workflows.css';

/** One workflow: its picture, its steps, its executions and its versions. */
export function Page() {
  const { api, project, path } = useProject();
  const id = useParam('workflowId');
  const [{ tab }, set] = useAddress({ tab: 'Steps' });
  const query = useLive({
    key: [project.id, 'workflows', id],
    read: () => api.get('/workflows/{id}', { path: { id } }),
  });
  const enabling = useEnabling(id, query.data?.enabled ?? false);
  const { error } = query;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={query}>
      {(workflow) => (
        <>
          <PageHead
            title={workflow.name}
            project={project.name}
            trail={<Link to={path('workflows')}>All workflows</Link>}
            state={<WorkflowState enabled={enabling.isEnabled} pausedAt={workflow.pausedAt} />}
            actions={<WorkflowActions workflow={workflow} enabling={enabling} />}
          />
          {enabling.alert}
          <OlderVersions id={id} />
          <Picture id={id} name={workflow.name} isStats />
          <Tabs
            label="Parts of the workflow"
            value={tab}
            onChange={(name) => set({ tab: name })}
            tabs={[
              { name: 'Steps', content: <Steps id={id} /> },
              { name: 'Executions', content: <Executions id={id} /> },
              { name: 'Over time', content: <LastDays workflowId={id} /> },
              { name: 'Versions', content: <Versions id={id} /> },
              {
                name: 'Settings',
                content: <SettingsForm key={workflow.updatedAt} workflow={workflow} />,
              },
            ]}
          />
        </>
      )}
    </Loaded>
  );
}
