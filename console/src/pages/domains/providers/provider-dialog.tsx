import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useProject } from '../../../shell/project.ts';
import { ProviderFields } from './provider-fields.tsx';
import {
  bodyOf,
  changesOf,
  newProvider,
  type OwnProvider,
  type ProviderValues,
  valuesOf,
} from './provider-values.ts';

/** Adds or changes a mail provider. `onAdded` gets the address for the webhooks of its service. */
export function ProviderDialog({
  provider,
  onClose,
  onAdded,
}: {
  provider: OwnProvider | null;
  onClose: () => void;
  onAdded: (feedbackUrl: string | null) => void;
}) {
  const { api, project } = useProject();
  const initial: ProviderValues = provider ? valuesOf(provider) : newProvider;
  const form = useForm(initial, async (values) => {
    if (provider) {
      const body = changesOf(provider, values);
      await api.patch('/providers/{id}', { path: { id: provider.id }, body });
      onClose();
    } else {
      const { feedbackUrl } = await api.post('/providers', { body: bodyOf(values) });
      onAdded(feedbackUrl);
    }
    await readAgain(project.id, 'providers');
  });
  return (
    <Dialog title={provider ? `Edit ${provider.name}` : 'Add provider'} onClose={onClose}>
      <Form form={form}>
        <ProviderFields form={form} isNew={provider === null} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
