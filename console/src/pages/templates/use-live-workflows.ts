import { useRead } from '../../api/queries.ts';
import { useProject } from '../../shell/project.ts';

/** Maximum number of workflows that are read, so that the page stays fast. */
const most = 20;

/** The names of the enabled workflows that send a template. */
export function useLiveWorkflows(templateId: string | undefined): readonly string[] {
  const { api, project } = useProject();
  const { data = [] } = useRead(
    [project.id, 'templates', templateId, 'live-workflows'],
    async () => {
      const { workflowSteps } = await api.get('/templates/{id}/usage', {
        path: { id: templateId! },
      });
      const ids = [...new Set(workflowSteps.map(({ workflowId }) => workflowId))].slice(0, most);
      const workflows = await Promise.all(
        ids.map((id) => api.get('/workflows/{id}', { path: { id } })),
      );
      return workflows.filter(({ enabled }) => enabled).map(({ name }) => name);
    },
    { isEnabled: templateId !== undefined },
  );
  return data;
}
