import { EverpostError, type Secret } from '../../../api/api.ts';
import { queryClient, readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { TextArea, TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useProject } from '../../../shell/project.ts';

const hostsOf = (text: string) => text.split(/[\s,]+/).filter((host) => host !== '');

/**
 * Refuses the name of a secret.
 * @throws EverpostError with an error that the form shows at the field `name`
 */
function refuseName(message: string): never {
  throw new EverpostError(message, {
    code: 'VALIDATION_ERROR',
    status: 422,
    errors: [{ field: 'name', code: 'invalid_string', message }],
  });
}

/** Makes a secret, or replaces its value. */
export function SecretDialog({ secret, onClose }: { secret: Secret | null; onClose: () => void }) {
  const { api, project } = useProject();
  const start = { name: secret?.name ?? '', value: '', hosts: secret?.hosts?.join('\n') ?? '' };
  const form = useForm(start, async ({ name, value, hosts }) => {
    const list = hostsOf(hosts);
    if (name === '') refuseName('Give it a name.');
    const all = queryClient.getQueryData<Secret[]>([project.id, 'secrets']);
    if (secret === null && all?.some((one) => one.name === name)) {
      refuseName('There is a secret of this name. Replace it in the list.');
    }
    await api.put('/secrets/{name}', {
      path: { name },
      body: { value, hosts: list.length > 0 ? list : null },
    });
    await readAgain(project.id, 'secrets');
    onClose();
  });
  return (
    <Dialog
      title={secret === null ? 'New secret' : `Replace ${secret.name}`}
      description="Nobody can read the value here again."
      onClose={onClose}
    >
      <Form form={form}>
        {secret === null && (
          <TextField
            label="Name"
            autoComplete="off"
            hint={
              <>
                Capital letters, digits and _, such as SHOP_TOKEN. Webhooks use it as{' '}
                <code>{'{{secret.SHOP_TOKEN}}'}</code>.
              </>
            }
            {...form.field('name')}
          />
        )}
        <TextArea
          label="Value"
          rows={3}
          autoComplete="off"
          spellCheck={false}
          {...form.field('value')}
        />
        <TextArea
          label="Hosts"
          rows={2}
          hint="It is sent only to these, one a line: api.shop.example or *.shop.example. Empty: to all."
          {...form.field('hosts')}
        />
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
