import { useState } from 'react';
import { useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Card, Figures } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import { reasonText, verdictText } from '../../../words/dry-run.ts';
import { MigrateDialog } from './migrate-dialog.tsx';
import { type DryRun, useDryRun } from './use-dry-run.ts';

/** People in executions of older versions, with a button that moves them to the current version. */
export function OlderVersions({ id }: { id: string }) {
  const { api, project } = useProject();
  const [isMigrating, setMigrating] = useState(false);
  const { data } = useLive({
    key: [project.id, 'workflows', id, 'versions', null],
    read: () => api.get('/workflows/{id}/versions', { path: { id }, query: { limit: 50 } }),
  });
  const older = data?.data.filter(({ current, active }) => !current && active > 0) ?? [];
  const people = older.reduce((sum, { active }) => sum + active, 0);
  const versions = older.map(({ version }) => version);
  // The dialog still shows the result after the last execution has moved.
  if (people === 0 && !isMigrating) return null;
  return <Region {...{ id, people, versions, isMigrating, setMigrating }} />;
}

function Region({
  id,
  people,
  versions,
  isMigrating,
  setMigrating,
}: {
  id: string;
  people: number;
  versions: number[];
  isMigrating: boolean;
  setMigrating: (isMigrating: boolean) => void;
}) {
  const dryRun = useDryRun(id);
  const [result, setResult] = useState<DryRun | null>(null);
  const run = useAction(async () => setResult(await dryRun({})));
  const open = useAction(async () => {
    setResult(await dryRun({}));
    setMigrating(true);
  });
  return (
    <Card
      label="People on older versions"
      actions={
        <>
          <Button isSmall isBusy={run.isBusy} onClick={() => void run.run()}>
            Dry run
          </Button>
          <Button isSmall isBusy={open.isBusy} onClick={() => void open.run()}>
            Migrate
          </Button>
        </>
      }
    >
      <p>
        {counted(people, 'contact')} {people === 1 ? 'goes' : 'go'} on with{' '}
        {versions.length === 1 ? 'version' : 'versions'} {versions.map(count).join(', ')}. A dry run
        says what the current version would change for them.
      </p>
      {result && <Result result={result} />}
      {isMigrating && result && (
        <MigrateDialog id={id} people={people} first={result} onClose={() => setMigrating(false)} />
      )}
    </Card>
  );
}

function Result({ result: { versions, examples, steps } }: { result: DryRun }) {
  const sum = (field: 'same' | 'differs' | 'unmappable') =>
    versions.reduce((total, version) => total + version[field], 0);
  const nameOf = (stepId: string) => steps.find((step) => step.stepId === stepId)?.name ?? 'a step';
  return (
    <>
      <Figures
        figures={[
          { name: 'Same way', value: sum('same') },
          { name: 'Another way', value: sum('differs') },
          { name: 'Cannot move', value: sum('unmappable') },
        ]}
      />
      {examples.length > 0 && (
        <Table
          label="Examples"
          rows={examples}
          keyOf={({ executionId }) => executionId}
          columns={[
            { name: 'At', cell: ({ currentStepId }) => nameOf(currentStepId) },
            { name: 'Version', isNumber: true, cell: ({ version }) => count(version) },
            { name: 'Result', cell: ({ verdict }) => verdictText[verdict] },
            { name: 'Why', cell: ({ why }) => (why ? reasonText[why] : '') },
          ]}
        />
      )}
    </>
  );
}
