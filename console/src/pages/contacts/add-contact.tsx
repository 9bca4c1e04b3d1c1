import { useNavigate } from '@tanstack/react-router';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { type DataRow, dataOf, DataRows, openRow } from './data-rows.tsx';

/** The dialog that adds one contact. An address that is there already gets the new data. */
export function AddContact({ onClose }: { onClose: () => void }) {
  const { api, path, project } = useProject();
  const { say } = useNotify();
  const navigate = useNavigate();
  const form = useForm(
    { email: '', subscribed: true, data: [] as DataRow[] },
    async ({ email, subscribed, data }) => {
      const rows = dataOf(data);
      const body = { email, subscribed, ...(Object.keys(rows).length > 0 && { data: rows }) };
      const contact = await api.post('/contacts', { body });
      await readAgain(project.id, 'contacts');
      onClose();
      if (contact._meta.isNew) return say(`${contact.email} is added.`);
      say(`${contact.email} was there already. Its data are updated.`);
      return navigate({ to: path(`contacts/${contact.id}`) });
    },
  );
  const { values } = form;
  return (
    <Dialog title="Add contact" onClose={onClose} size="wide">
      <Form form={form} isWide>
        <TextField label="Email" type="email" autoComplete="off" {...form.field('email')} />
        <CheckField
          label="Subscribed"
          {...form.field('subscribed')}
          value={values.subscribed}
          hint="Unsubscribed contacts get no marketing mail."
        />
        <DataRows
          rows={values.data}
          onChange={(data) => form.set({ data })}
          errorOf={form.errorOf}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={form.isBusy}
            disabledBecause={openRow(values.data)}
          >
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
