import { EverpostError } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { TextArea, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';

/** Records an event of a contact, as a request to /v1/track does. */
export function TrackEvent({ onClose }: { onClose: () => void }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const names = useRead([project.id, 'events', 'names'], () => api.get('/events/names'));
  const form = useForm({ email: '', event: '', data: '' }, async ({ email, event, data }) => {
    await api.post('/events/track', { body: { email, event, data: objectOf(data) } });
    await readAgain(project.id, 'events');
    onClose();
    say(`${event} is recorded.`);
  });
  return (
    <Dialog
      title="Track event"
      description="Workflows that start with this event start, and those that wait for it go on."
      onClose={onClose}
    >
      <Form form={form}>
        <TextField
          label="Contact"
          type="email"
          autoComplete="off"
          hint="The address. A new one becomes a contact."
          {...form.field('email')}
        />
        <TextField label="Event" autoComplete="off" list="event-names" {...form.field('event')} />
        <datalist id="event-names">
          {names.data?.eventNames.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <TextArea
          label="Data"
          spellCheck={false}
          hint={'A JSON object, for example {"total": 42}. It may be empty.'}
          {...form.field('data')}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Track
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function objectOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Invalid JSON gets the error below.
  }
  const fault = { field: 'data', code: 'invalid_type', message: 'Must be a JSON object.' } as const;
  throw new EverpostError(fault.message, {
    code: 'VALIDATION_ERROR',
    status: 422,
    errors: [fault],
  });
}
