import { useRef } from 'react';
import { type Contact, etagOf } from '../../api/api.ts';
import { Conflict } from '../../editing/conflict.tsx';
import { CheckField, TextField } from '../../design/fields.tsx';
import { useForm } from '../../design/form.tsx';
import { useProject } from '../../shell/project.ts';
import { DataDialog } from '../contacts/data-dialog.tsx';
import { type DataRow, dataOf, rowsOf } from '../contacts/data-rows.tsx';

const valuesOf = ({ email, subscribed, data }: Contact) => ({
  email,
  subscribed,
  data: rowsOf(data),
});

/** Returns the changed data by key; null: the key was removed. */
function changeOf(before: Contact['data'], rows: readonly DataRow[]): Record<string, unknown> {
  const after = dataOf(rows);
  const gone = Object.keys(before ?? {}).filter((key) => !(key in after));
  const changed = Object.entries(after).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before?.[key]),
  );
  return Object.fromEntries([...changed, ...gone.map((key) => [key, null])]);
}

/**
 * The dialog that changes a contact. `contact` must be a response of the API, because its ETag
 * reveals a change by another user.
 */
export function EditContact({
  contact,
  onClose,
  onSaved,
}: {
  contact: Contact;
  onClose: () => void;
  onSaved: () => Promise<void>;
}) {
  const { api } = useProject();
  const base = useRef(contact);
  const read = () => api.get('/contacts/{id}', { path: { id: contact.id } });
  const form = useForm(valuesOf(contact), async ({ email, subscribed, data }) => {
    const { current } = base;
    await api.patch('/contacts/{id}', {
      path: { id: contact.id },
      ifMatch: etagOf(current),
      body: {
        ...(email !== current.email && { email }),
        ...(subscribed !== current.subscribed && { subscribed }),
        data: changeOf(current.data, data),
      },
    });
    await onSaved();
    onClose();
  });
  const load = async () => {
    base.current = await read();
    form.reset(valuesOf(base.current));
  };
  const keep = async () => {
    base.current = await read();
    await form.send();
  };
  return (
    <DataDialog title="Edit contact" form={form} verb="Save" onClose={onClose}>
      <Conflict error={form.error} onLoad={load} onKeep={keep} />
      <TextField label="Email" type="email" autoComplete="off" {...form.field('email')} />
      <CheckField label="Subscribed" {...form.field('subscribed')} />
    </DataDialog>
  );
}
