import './import.css';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../../design/button.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Card } from '../../../design/parts.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import {
  type ContactFile,
  faultOfTargets,
  firstTargets,
  readContactFile,
  type Target,
} from './csv-file.ts';
import { ColumnTargets } from './column-targets.tsx';
import { FileField } from './file-field.tsx';
import { Imports } from './imports.tsx';
import { Preview } from './preview.tsx';
import { ImportProgress, useImport } from './progress.tsx';

export function Page() {
  const { project, path } = useProject();
  const [file, setFile] = useState<ContactFile | null>(null);
  const [targets, setTargets] = useState<readonly Target[]>([]);
  const [fault, setFault] = useState<string | undefined>();
  const running = useImport();
  const { run: read } = useAction(async (chosen: File) => {
    try {
      const next = await readContactFile(chosen);
      setFile(next);
      setTargets(firstTargets(next.columns));
      setFault(undefined);
      running.clear();
    } catch (error) {
      setFile(null);
      setFault((error as Error).message);
    }
  });
  return (
    <>
      <PageHead
        title="Import contacts"
        project={project.name}
        trail={<Link to={path('contacts')}>All contacts</Link>}
      />
      <FileField error={fault} onChoose={(chosen) => void read(chosen)} />
      {file && !running.state && (
        <Mapping
          file={file}
          targets={targets}
          onChange={setTargets}
          onImport={() => void running.start(file, targets)}
        />
      )}
      {running.state && <ImportProgress state={running.state} onAgain={running.again} />}
      <Imports />
    </>
  );
}

function Mapping({
  file,
  targets,
  onChange,
  onImport,
}: {
  file: ContactFile;
  targets: readonly Target[];
  onChange: (targets: Target[]) => void;
  onImport: () => void;
}) {
  const wrong = faultOfTargets(targets);
  const empty = file.lines.length === 0 && 'The file has no rows below its first line.';
  return (
    <Card
      label={`${file.name}: ${counted(file.lines.length, 'row')}`}
      actions={
        <Button kind="primary" disabledBecause={wrong ?? empty} onClick={onImport}>
          Import
        </Button>
      }
    >
      <ColumnTargets file={file} targets={targets} onChange={onChange} />
      {wrong === null ? (
        <>
          <Preview file={file} targets={targets} />
          <p className="second small">
            {file.lines.length > 20 && `The first 20 of ${count(file.lines.length)} rows. `}
            Known addresses get the new data; an empty cell changes nothing.
          </p>
        </>
      ) : (
        <p role="alert" className="second">
          {wrong}
        </p>
      )}
    </Card>
  );
}
