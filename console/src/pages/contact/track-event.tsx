import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { type DataRow, dataOf, DataRows, openRow } from '../contacts/data-rows.tsx';

/** Records an event of one contact, which can start workflows. */
export function TrackEvent({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const form = useForm({ name: '', data: [] as DataRow[] }, async ({ name, data }) => {
    await api.post('/events/track', { body: { name, contactId: id, data: dataOf(data) } });
    await readAgain(project.id, 'contacts');
    onClose();
    say(`${name} is recorded.`);
  });
  const { values } = form;
  return (
    <Dialog
      title="Track event"
      description="Workflows that start with this event start, and those that wait for it go on."
      onClose={onClose}
      size="wide"
    >
      <Form form={form} isWide>
        <TextField label="Event" autoComplete="off" {...form.field('name')} />
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
            Track
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
