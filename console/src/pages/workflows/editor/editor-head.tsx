import { Link } from '@tanstack/react-router';
import type { Dispatch } from 'react';
import { Button } from '../../../design/button.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { State } from '../../../design/parts.tsx';
import type { EditAction, Editing } from '../../../journey/editing.ts';
import { useProject } from '../../../shell/project.ts';
import { useEnabling } from '../shared/enabling.tsx';

/** Name and state of the workflow, and the actions on the whole graph. */
export function EditorHead({
  id,
  state: { journey, past, future },
  dispatch,
  save,
  isChanged,
  isEnabled,
  onSimulate,
}: {
  id: string;
  state: Editing;
  dispatch: Dispatch<EditAction>;
  save: { run: () => Promise<boolean>; isBusy: boolean };
  isChanged: boolean;
  isEnabled: boolean;
  onSimulate: () => void;
}) {
  const { project, path } = useProject();
  const enabling = useEnabling(id, isEnabled);
  return (
    <>
      <PageHead
        title={journey.name}
        project={project.name}
        trail={<Link to={path(`workflows/${id}`)}>Back to the workflow</Link>}
        state={
          isChanged ? (
            <State tone="warning">Not saved</State>
          ) : (
            <State tone="good">{enabling.isEnabled ? 'Saved, enabled' : 'Saved'}</State>
          )
        }
        actions={
          <>
            <Button
              disabledBecause={past.length === 0 && 'Nothing was changed.'}
              onClick={() => dispatch({ type: 'undo' })}
            >
              Undo
            </Button>
            <Button
              disabledBecause={future.length === 0 && 'Nothing was undone.'}
              onClick={() => dispatch({ type: 'redo' })}
            >
              Redo
            </Button>
            <Button onClick={onSimulate}>Simulate</Button>
            {!enabling.isEnabled && (
              <Button
                isBusy={enabling.isBusy}
                disabledBecause={isChanged && 'Save first.'}
                onClick={enabling.change}
              >
                Enable
              </Button>
            )}
            <Button kind="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
              Save
            </Button>
          </>
        }
      />
      {enabling.alert}
    </>
  );
}
