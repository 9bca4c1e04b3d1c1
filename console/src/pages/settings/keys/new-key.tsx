import type { ApiKey } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { CopyButton } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { KeyFields } from './key-fields.tsx';
import { bodyOfKey, noKey } from './key-values.ts';
import { useUntilLeft } from '../shared/use-until-left.ts';

/** Makes a named key, and shows its value once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { api, project } = useProject();
  const [made, setMade] = useUntilLeft<ApiKey>();
  const form = useForm(noKey, async (values) => {
    setMade(await api.post('/api-keys', { body: bodyOfKey(values) }));
    await readAgain(project.id, 'keys');
  });
  if (made) return <NewValue apiKey={made} onClose={onClose} />;
  return (
    <Dialog title="New key" size="wide" onClose={onClose}>
      <Form form={form} isWide>
        <KeyFields form={form} isNew />
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Create key
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Shows the value of a key that was just made or rotated. The value cannot be shown again. */
export function NewValue({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <Dialog
      title={`The value of ${apiKey.name}`}
      description="Copy it now. It is shown here once, and never again."
      onClose={onClose}
    >
      <code className="value">{apiKey.key}</code>
      <div className="actions">
        <CopyButton text={apiKey.key}>Copy key</CopyButton>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
