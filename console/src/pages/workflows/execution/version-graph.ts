import type { ExecutionDetails, WorkflowVersionGraph } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { namedBranches } from '../../../journey/graph.ts';
import { useProject } from '../../../shell/project.ts';

export type VersionGraph = WorkflowVersionGraph['graph'];

/**
 * Reads the graph of an execution's workflow version; undefined: not read yet, or the version was
 * deleted.
 */
export function useVersionGraph(
  { workflowId, workflowVersion: version }: ExecutionDetails,
  { isEnabled }: { isEnabled: boolean },
): VersionGraph | undefined {
  const { api, project } = useProject();
  const { data } = useRead(
    [project.id, 'workflows', workflowId, 'version', version],
    () => api.get('/workflows/{id}/versions/{version}', { path: { id: workflowId, version } }),
    { isEnabled },
  );
  return data?.graph;
}

const outcomes = [
  { id: 'event', name: 'Event' },
  { id: 'timeout', name: 'Timeout' },
];

/**
 * Returns the branches by which an execution can leave a step; empty: the transitions of the step
 * name no branches.
 */
export function branchesBehind(
  graph: VersionGraph | undefined,
  stepId: string,
): { id: string; name: string }[] {
  const step = graph?.steps.find(({ id }) => id === stepId);
  if (!graph || !step) return [];
  const branches = graph.transitions
    .filter(({ from }) => from === step.key)
    .flatMap(({ branch }) => (branch === undefined ? [] : [branch]));
  const named = [...namedBranches(step), ...outcomes];
  return branches.map((id) => ({ id, name: named.find((one) => one.id === id)?.name ?? id }));
}
