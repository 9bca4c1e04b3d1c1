import type { Everpost } from '../../../../../client/everpost.ts';
import { useProject } from '../../../shell/project.ts';

type Answer<T extends (...input: never[]) => Promise<unknown>> = Awaited<ReturnType<T>>;

const ask = (api: Everpost, id: string, mapping: Record<string, string>) =>
  api.post('/workflows/{id}/dry-run', { path: { id }, body: { mapping, examples: 10 } });

export type DryRun = Answer<typeof ask>['data'];

/** Returns a function that reads how a move to the current version would change executions. */
export function useDryRun(id: string) {
  const { api } = useProject();
  return async (mapping: Record<string, string>): Promise<DryRun> =>
    (await ask(api, id, mapping)).data;
}
