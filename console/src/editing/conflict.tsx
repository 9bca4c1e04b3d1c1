import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';

/** Asks what to do if another user has saved meanwhile. */
export function Conflict({
  onLoad,
  onKeep,
  onClose,
}: {
  /** Loads what the other user has saved. */
  onLoad: () => void;
  /** Saves over what the other user has saved. */
  onKeep: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog
      title="Somebody else has changed this"
      description="It was saved by another user or program since you opened it. Nothing of yours is lost."
      onClose={onClose}
    >
      <div className="actions">
        <Button onClick={onLoad}>Load theirs</Button>
        <Button kind="primary" onClick={onKeep}>
          Keep mine
        </Button>
      </div>
    </Dialog>
  );
}
