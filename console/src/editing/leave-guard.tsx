import { useBlocker } from '@tanstack/react-router';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';

/** Asks before a page with unsaved work is left. */
export function LeaveGuard({ isChanged }: { isChanged: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Dialog
      title="Leave without saving?"
      description="Your changes stay in this browser. They are here again when you come back."
      onClose={reset}
    >
      <div className="actions">
        <Button onClick={reset}>Stay</Button>
        <Button kind="primary" onClick={proceed}>
          Leave
        </Button>
      </div>
    </Dialog>
  );
}
