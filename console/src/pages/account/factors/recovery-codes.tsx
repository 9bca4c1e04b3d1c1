import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { CopyButton } from '../../../design/parts.tsx';

/** The dialog with new recovery codes. The API never returns these codes again. */
export function RecoveryCodes({
  codes,
  onClose,
}: {
  codes: readonly string[];
  onClose: () => void;
}) {
  return (
    <Dialog
      title="Recovery codes"
      description="Each takes the place of the second factor once. Keep them where you find them without your phone. They are not shown again."
      onClose={onClose}
    >
      <pre className="code">{codes.join('\n')}</pre>
      <div className="actions">
        <CopyButton text={codes.join('\n')}>Copy codes</CopyButton>
        <Button kind="primary" onClick={onClose}>
          I have kept them
        </Button>
      </div>
    </Dialog>
  );
}
