import type { MigrationResult } from '../../../../../client/everpost.ts';
import { useLive } from '../../../api/queries.ts';
import { Figures, Loaded, Progress } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';

const isOver = (state: string) =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

/** A migration while it runs, and its result. */
export function MigrationProgress({ id, jobId }: { id: string; jobId: string }) {
  const { api, project } = useProject();
  const query = useLive({
    key: [project.id, 'jobs', jobId],
    read: () => api.get('/workflows/{id}/jobs/{jobId}', { path: { id, jobId } }),
    isLive: ({ state }) => !isOver(state),
  });
  return (
    <Loaded query={query} lines={2}>
      {({ state, progress, failedReason, result }) => {
        if (!isOver(state)) return <Progress label="Migration" value={progress} />;
        if (state !== 'completed') {
          return <p role="alert">The migration has failed: {failedReason ?? state}</p>;
        }
        const { migrated, unchanged, unmappable, cancelled } = result as MigrationResult;
        return (
          <>
            <p role="status">The migration is complete.</p>
            <Figures
              figures={[
                { name: 'Migrated', value: migrated },
                { name: 'Unchanged', value: unchanged },
                { name: 'Cannot move', value: unmappable },
                { name: 'Cancelled', value: cancelled },
              ]}
            />
          </>
        );
      }}
    </Loaded>
  );
}
