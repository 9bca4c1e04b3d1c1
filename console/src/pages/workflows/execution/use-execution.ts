import type { ExecutionDetails } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { useProject } from '../../../shell/project.ts';

/** Returns the path of an execution in the API, and a function that reads its data again. */
export function useExecution({ id: executionId, workflowId: id }: ExecutionDetails) {
  const { api, project } = useProject();
  return {
    api,
    at: { path: { id, executionId } },
    reload: async () => {
      await Promise.all([
        readAgain(project.id, 'executions'),
        readAgain(project.id, 'workflows', id),
      ]);
    },
  };
}
