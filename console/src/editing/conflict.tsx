import { useState } from 'react';
import { EverpostError } from '../api/api.ts';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { useAction } from '../design/use-action.ts';

/** Returns true if a change was refused because the record has changed since it was read. */
const isConflict = (error: unknown): boolean =>
  error instanceof EverpostError && error.code === 'PRECONDITION_FAILED';

/** Asks which version to keep, if saving was refused because another user has saved meanwhile. */
export function Conflict({
  error,
  onLoad,
  onKeep,
}: {
  /** The error of saving; null: there is none. */
  error: unknown;
  /** Shows the other version; what was typed is lost. */
  onLoad: () => Promise<unknown>;
  /** Replaces the other version with what was typed. */
  onKeep: () => Promise<unknown>;
}) {
  const [closed, setClosed] = useState<unknown>(null);
  const load = useAction(onLoad);
  const keep = useAction(onKeep);
  if (!isConflict(error) || closed === error) return null;
  return (
    <Dialog
      title="Somebody else has changed this"
      description="It was saved by another user or program since you opened it. Nothing of yours is lost."
      onClose={() => setClosed(error)}
    >
      <div className="actions">
        <Button isBusy={load.isBusy} onClick={() => void load.run()}>
          Load theirs
        </Button>
        <Button kind="primary" isBusy={keep.isBusy} onClick={() => void keep.run()}>
          Keep mine
        </Button>
      </div>
    </Dialog>
  );
}
