import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CopyButton } from '../../design/parts.tsx';
import './subscriptions.css';

/** Shows the secret of a subscription, once. */
export function SecretDialog({
  secret,
  note,
  onClose,
}: {
  secret: string;
  note?: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      title="Secret"
      description="Your server checks with it that a request comes from here (Standard Webhooks). It is shown only now."
      onClose={onClose}
    >
      <p className="code">
        <code className="wrapped">{secret}</code>
      </p>
      {note && <p>{note}</p>}
      <div className="actions">
        <CopyButton text={secret}>Copy secret</CopyButton>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
