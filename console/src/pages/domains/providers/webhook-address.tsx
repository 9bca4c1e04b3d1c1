import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { CopyButton } from '../../../design/parts.tsx';

/** The address for the webhooks of the provider's service, which is shown once. */
export function WebhookAddress({ url, onClose }: { url: string; onClose: () => void }) {
  return (
    <Dialog
      title="Webhook address"
      description="Give this address to the service of the provider. It is shown only now."
      onClose={onClose}
    >
      <p className="code">
        <code className="webhook-address">{url}</code>
      </p>
      <div className="actions">
        <CopyButton text={url}>Copy address</CopyButton>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
