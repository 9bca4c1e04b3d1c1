import type { ImportJob } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { Card, Loaded, Progress, State, Time } from '../../../design/parts.tsx';
import type { Tone } from '../../../words/tone.ts';
import { useProject } from '../../../shell/project.ts';
import { isEnded, textOfJobState } from '../../../words/jobs.ts';
import { count } from '../../../words/numbers.ts';

const tones: Record<ImportJob['state'], Tone> = {
  waiting: 'neutral',
  active: 'neutral',
  completed: 'good',
  failed: 'bad',
  cancelled: 'warning',
};

/** The last imports of the project, by all its members. */
export function Imports() {
  const { api, project } = useProject();
  const imports = useLive({
    key: [project.id, 'imports'],
    read: () => api.get('/imports', { query: { limit: 20 } }),
    isLive: ({ data }) => data.some(({ state }) => !isEnded(state)),
  });
  return (
    <Card label="Imports before">
      <Loaded query={imports} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="second">Nothing was imported yet.</p>
          ) : (
            <ul className="imports" aria-label="Imports">
              {data.map((job) => (
                <li key={job.id}>
                  <Line job={job} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Line({
  job: { state, progress, data, result, failedReason, createdAt, causedBy },
}: {
  job: ImportJob;
}) {
  return (
    <>
      <strong>{data.filename}</strong>
      <State tone={tones[state]}>{textOfJobState(state)}</State>
      {!isEnded(state) && <Progress label={`Progress of ${data.filename}`} value={progress} />}
      {result && (
        <span>
          {`Created: ${count(result.createdCount)}, updated: ${count(result.updatedCount)}, failed: ${count(result.failureCount)}`}
        </span>
      )}
      {failedReason && <span>{failedReason}</span>}
      <span className="second">
        <Time at={createdAt} />
        {causedBy?.name && ` by ${causedBy.name}`}
      </span>
    </>
  );
}
