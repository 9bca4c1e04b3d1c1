import { useState } from 'react';
import type { WorkflowVersion } from '../../../../../client/everpost.ts';
import { readAgain, useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { Loaded, State, Time } from '../../../design/parts.tsx';
import { Pager, Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { count, counted } from '../../../words/numbers.ts';
import { Picture } from './picture.tsx';

/** All versions of the graph, newest first. */
export function Versions({ id }: { id: string }) {
  const { api, project } = useProject();
  const [cursor, setCursor] = useState<string | null>(null);
  const [shown, setShown] = useState<WorkflowVersion | null>(null);
  const query = useLive({
    key: [project.id, 'workflows', id, 'versions', cursor],
    read: () =>
      api.get('/workflows/{id}/versions', {
        path: { id },
        query: { limit: 50, ...(cursor && { cursor }) },
      }),
  });
  return (
    <div className="stack">
      <Loaded query={query}>
        {({ data, total, cursor: next }) => (
          <>
            <Table
              label="Versions"
              rows={data}
              keyOf={({ version }) => String(version)}
              columns={[
                {
                  name: 'Version',
                  cell: ({ version, current }) => (
                    <>
                      {count(version)} {current && <State tone="good">Current</State>}
                    </>
                  ),
                },
                { name: 'When', cell: ({ at }) => <Time at={at} /> },
                { name: 'By', cell: ({ causedBy }) => causedBy?.name ?? '–' },
                { name: 'Changes', cell: ({ changes }) => changesText(changes) },
                { name: 'People inside', isNumber: true, cell: ({ active }) => count(active) },
                {
                  name: 'Actions',
                  hidesName: true,
                  cell: (version) => (
                    <span className="actions">
                      <Button isSmall onClick={() => setShown(version)}>
                        Show
                      </Button>
                      {!version.current && <Restore id={id} version={version.version} />}
                    </span>
                  ),
                },
              ]}
            />
            <Pager
              shown={cursor ? 'Older versions' : counted(total, 'version')}
              onFirst={cursor ? () => setCursor(null) : null}
              onNext={next ? () => setCursor(next) : null}
            />
          </>
        )}
      </Loaded>
      {shown && <Shown id={id} version={shown} onClose={() => setShown(null)} />}
    </div>
  );
}

function changesText(changes: WorkflowVersion['changes']): string {
  const [first, ...others] = changes;
  if (!first) return '–';
  return others.length === 0 ? first.text : `${first.text} and ${count(others.length)} more`;
}

function Restore({ id, version }: { id: string; version: number }) {
  const { api, project } = useProject();
  const confirm = useConfirm();
  return (
    <Button
      isSmall
      onClick={() =>
        confirm({
          title: `Restore version ${version}?`,
          text: 'The graph becomes that of this version, as a new version. People inside stay where they are.',
          verb: 'Restore',
          isDangerous: false,
          send: async () => {
            await api.post('/workflows/{id}/versions/{version}/restore', { path: { id, version } });
            await readAgain(project.id, 'workflows');
          },
        })
      }
    >
      Restore
    </Button>
  );
}

function Shown({
  id,
  version: { version, changes },
  onClose,
}: {
  id: string;
  version: WorkflowVersion;
  onClose: () => void;
}) {
  return (
    <Dialog title={`Version ${version}`} size="wide" onClose={onClose}>
      <ul className="changes" aria-label="Changes">
        {changes.map(({ text, kind, stepId }) => (
          <li key={`${kind} ${stepId} ${text}`}>{text}</li>
        ))}
      </ul>
      <Picture id={id} name={`version ${version}`} version={version} />
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
