import { EverpostError } from '../api/api.ts';
import { Button } from '../design/button.tsx';

/** Returns true if a change was refused because the record has changed since it was read. */
export const isConflict = (error: unknown): boolean =>
  error instanceof EverpostError && error.code === 'PRECONDITION_FAILED';

/** Two people changed one record: the user decides whose version counts. */
export function ChangedElsewhere({
  onLoad,
  onKeep,
}: {
  /** Shows the other version; what was typed is lost. */
  onLoad: () => void;
  /** Saves what was typed over the other version. */
  onKeep: () => void;
}) {
  return (
    <div className="alert warning" role="alert" tabIndex={-1}>
      <strong>Somebody else has changed this</strong>
      <span>Nothing is saved yet. Load the other version, or save yours over it.</span>
      <div className="actions">
        <Button isSmall onClick={onLoad}>
          Load theirs
        </Button>
        <Button isSmall onClick={onKeep}>
          Keep mine
        </Button>
      </div>
    </div>
  );
}
