import { useNavigate } from '@tanstack/react-router';
import { readAgain } from '../../api/queries.ts';
import { CheckField, TextField } from '../../design/fields.tsx';
import { useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { DataDialog } from './data-dialog.tsx';
import { type DataRow, dataOf } from './data-rows.tsx';

/** The dialog that adds one contact. A contact that exists already gets the new data. */
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
  return (
    <DataDialog title="Add contact" form={form} verb="Save" onClose={onClose}>
      <TextField label="Email" type="email" autoComplete="off" {...form.field('email')} />
      <CheckField
        label="Subscribed"
        {...form.field('subscribed')}
        hint="Unsubscribed contacts get no marketing mail."
      />
    </DataDialog>
  );
}
