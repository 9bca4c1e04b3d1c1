import { useState } from 'react';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { RadioGroup, SelectField } from '../../../design/fields.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import { type DryRun, useDryRun } from './use-dry-run.ts';
import { MigrationProgress } from './migration-progress.tsx';

type Unmappable = 'stay' | 'cancel';

/**
 * Moves people to the current version. First, the user chooses a replacement for each removed step.
 */
export function MigrateDialog({
  id,
  people,
  first,
  onClose,
}: {
  id: string;
  people: number;
  first: DryRun;
  onClose: () => void;
}) {
  const { api, project } = useProject();
  const dryRun = useDryRun(id);
  const [mapping, setMapping] = useState<Record<string, string>>({});
  const [result, setResult] = useState(first);
  const [onUnmappable, setUnmappable] = useState<Unmappable>('stay');
  const [jobId, setJobId] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const attempt = async (work: () => Promise<void>) => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    await work().catch(setError);
    setBusy(false);
  };
  const map = (stepId: string, to: string) =>
    attempt(async () => {
      const { [stepId]: _old, ...others } = mapping;
      const next = to === '' ? others : { ...others, [stepId]: to };
      setMapping(next);
      setResult(await dryRun(next));
    });
  const migrate = () =>
    attempt(async () => {
      const body = { mapping, onUnmappable };
      const job = await api.post('/workflows/{id}/migrate', { path: { id }, body });
      setJobId(job.jobId);
    });
  const lost = first.steps.filter(({ mapsTo, waiting }) => mapsTo === null && waiting > 0);
  const unmappable = result.versions.reduce((sum, version) => sum + version.unmappable, 0);
  const close = () => {
    void readAgain(project.id, 'workflows');
    onClose();
  };
  return (
    <Dialog title="Migrate" size="wide" onClose={close}>
      {jobId ? (
        <MigrationProgress id={id} jobId={jobId} />
      ) : (
        <>
          <p>{counted(people, 'contact')} will go on with the current version.</p>
          <Choices
            {...{ id, lost, mapping, unmappable, onUnmappable }}
            onMap={(stepId, to) => void map(stepId, to)}
            onChoose={setUnmappable}
          />
          {Boolean(error) && <ProblemAlert error={error} />}
        </>
      )}
      <div className="actions">
        <Button onClick={close}>Close</Button>
        {!jobId && (
          <Button kind="primary" isBusy={isBusy} onClick={() => void migrate()}>
            Migrate
          </Button>
        )}
      </div>
    </Dialog>
  );
}

/** The replacements of removed steps, and the choice for people who cannot move. */
function Choices({
  id,
  lost,
  mapping,
  unmappable,
  onUnmappable,
  onMap,
  onChoose,
}: {
  id: string;
  lost: DryRun['steps'];
  mapping: Readonly<Record<string, string>>;
  /** Number of people who cannot move. */
  unmappable: number;
  onUnmappable: Unmappable;
  onMap: (stepId: string, to: string) => void;
  onChoose: (value: Unmappable) => void;
}) {
  const { api, project } = useProject();
  const { data: workflow } = useRead([project.id, 'workflows', id], () =>
    api.get('/workflows/{id}', { path: { id } }),
  );
  return (
    <>
      {lost.map(({ stepId, name, waiting }) => (
        <SelectField
          key={stepId}
          label={`${name} (${counted(waiting, 'contact')}) becomes`}
          options={[
            { value: '', text: 'no step: cannot move' },
            ...(workflow?.steps ?? []).map((step) => ({ value: step.id, text: step.name })),
          ]}
          value={mapping[stepId] ?? ''}
          onChange={(to) => onMap(stepId, to)}
        />
      ))}
      {unmappable > 0 && (
        <RadioGroup
          label={`${counted(unmappable, 'contact')} cannot move`}
          options={[
            { value: 'stay', text: 'They stay on their version' },
            { value: 'cancel', text: 'Their journey is cancelled' },
          ]}
          value={onUnmappable}
          onChange={(value) => onChoose(value as Unmappable)}
        />
      )}
    </>
  );
}
