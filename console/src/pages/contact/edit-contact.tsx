import { useRef } from 'react';
import { type Contact, etagOf } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { ChangedElsewhere, isConflict } from '../../editing/changed-elsewhere.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { type DataRow, dataOf, DataRows, openRow, rowsOf } from '../contacts/data-rows.tsx';

const valuesOf = ({ email, subscribed, data }: Contact) => ({
  email,
  subscribed,
  data: rowsOf(data),
});

/** The keys that have changed; null for those that are gone. */
function changeOf(before: Contact['data'], rows: readonly DataRow[]): Record<string, unknown> {
  const after = dataOf(rows);
  const gone = Object.keys(before ?? {}).filter((key) => !(key in after));
  const changed = Object.entries(after).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before?.[key]),
  );
  return Object.fromEntries([...changed, ...gone.map((key) => [key, null])]);
}

/**
 * The dialog that changes a contact. `contact` is a response of the API itself, so that its tag is
 * known: a change by another person in between is noticed.
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
  const load = useAction(async () => {
    base.current = await read();
    form.reset(valuesOf(base.current));
  });
  const keep = useAction(async () => {
    base.current = await read();
    await form.send();
  });
  const { values } = form;
  const conflicts = isConflict(form.error);
  return (
    <Dialog title="Edit contact" onClose={onClose} size="wide">
      {conflicts && (
        <ChangedElsewhere onLoad={() => void load.run()} onKeep={() => void keep.run()} />
      )}
      <Form form={conflicts ? { ...form, error: null } : form} isWide>
        <TextField label="Email" type="email" autoComplete="off" {...form.field('email')} />
        <CheckField label="Subscribed" {...form.field('subscribed')} />
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
