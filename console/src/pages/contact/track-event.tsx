import { readAgain } from '../../api/queries.ts';
import { TextField } from '../../design/fields.tsx';
import { useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { DataDialog } from '../contacts/data-dialog.tsx';
import { type DataRow, dataOf } from '../contacts/data-rows.tsx';

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
  return (
    <DataDialog
      title="Track event"
      description="Workflows that start with this event start, and those that wait for it go on."
      form={form}
      verb="Track"
      onClose={onClose}
    >
      <TextField label="Event" autoComplete="off" {...form.field('name')} />
    </DataDialog>
  );
}
