import { lazy, Suspense, useEffect, useReducer, useState } from 'react';
import { type Draft, dropDraft, keepDraft } from '../../../api/drafts.ts';
import { Button } from '../../../design/button.tsx';
import { LeaveGuard } from '../../../editing/leave-guard.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { edit, startEditing } from '../../../journey/editing.ts';
import { findStep, type Journey, triggerKey } from '../../../journey/graph.ts';
import { OlderVersions } from '../one/older-versions.tsx';
import { EditorHead } from './editor-head.tsx';
import { OutlineView } from './outline-view.tsx';
import { ProblemsView } from './problems-view.tsx';
import { StepPanel } from './step-panel.tsx';
import { Simulation } from '../simulation/simulation.tsx';
import { useCheck } from './use-check.ts';
import { useIsWide } from './use-is-wide.ts';
import { useKeys } from './use-keys.ts';
import { useSave } from './use-save.tsx';

const nothingLit: ReadonlySet<string> = new Set();

const Canvas = lazy(async () => ({ default: (await import('../canvas/canvas.tsx')).Canvas }));

/** The editor: canvas, outline, form and problems are views of one graph. */
export function Editor({
  id,
  saved,
  draft,
  isEnabled,
}: {
  id: string;
  saved: Draft<Journey>;
  /** Unsaved work of this browser; null: there is none. */
  draft: Draft<Journey> | null;
  isEnabled: boolean;
}) {
  const [state, dispatch] = useReducer(edit, draft?.value ?? saved.value, startEditing);
  const { journey, chosen } = state;
  const findings = useCheck(journey);
  const { save, base, isChanged, conflict } = useSave({ id, journey, saved, draft, dispatch });
  const [isRestored, setRestored] = useState(draft !== null);
  useEffect(() => {
    if (isChanged) keepDraft(id, { etag: base.etag, value: journey });
    else dropDraft(id);
  }, [id, base, journey, isChanged]);
  const [lit, setLit] = useState(nothingLit);
  const [isSimulating, setSimulating] = useState(false);
  const isWide = useIsWide();
  useKeys({ dispatch, chosen, save: () => void save.run() });
  const step = findStep(journey, chosen) ?? findStep(journey, triggerKey)!;
  const choose = (key: string) => dispatch({ type: 'choose', key });
  return (
    <div className="editor">
      <EditorHead
        {...{ id, state, dispatch, save, isChanged, isEnabled }}
        onSimulate={() => setSimulating(true)}
      />
      <LeaveGuard isChanged={isChanged} />
      {conflict}
      <OlderVersions id={id} />
      {Boolean(save.error) && <ProblemAlert error={save.error} />}
      {isRestored && (
        <div className="alert warning" role="status">
          <span>Your unsaved changes are here again.</span>
          <div className="actions">
            <Button
              isSmall
              onClick={() => {
                dispatch({ type: 'load', journey: saved.value });
                setRestored(false);
              }}
            >
              Discard changes
            </Button>
            <Button isSmall onClick={() => setRestored(false)}>
              Keep changes
            </Button>
          </div>
        </div>
      )}
      <div className="editor-parts">
        <OutlineView
          {...{ journey, chosen: step.key, findings: findings ?? [], lit }}
          onChoose={choose}
        />
        {isWide && (
          <Suspense fallback={<section className="card canvas" aria-label="Canvas" />}>
            <Canvas {...{ journey, chosen: step.key, findings: findings ?? [], lit, dispatch }} />
          </Suspense>
        )}
        <StepPanel {...{ journey, step, findings: findings ?? [], dispatch }} />
      </div>
      {isSimulating && (
        <Simulation {...{ id, journey }} onPlayed={setLit} onClose={() => setSimulating(false)} />
      )}
      <ProblemsView journey={journey} findings={findings} onChoose={choose} />
    </div>
  );
}
