import { useNavigate } from '@tanstack/react-router';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { Bones } from '../../../design/parts.tsx';
import type { Ready } from '../../../journey/ready/ready.ts';
import { useProject } from '../../../shell/project.ts';
import { EventField } from '../../../values/event-field.tsx';
import { createReady } from './create-ready.ts';

/** Asks for the values that a new workflow needs. If `ready` is null, the workflow is blank. */
export function CreateDialog({ ready, onClose }: { ready: Ready | null; onClose: () => void }) {
  const { api, project } = useProject();
  const { data: domains } = useRead([project.id, 'domains'], () => api.get('/domains'), {
    isEnabled: ready !== null,
  });
  const title = ready ? ready.name : 'Blank workflow';
  const verified = domains?.find((domain) => domain.verified)?.domain;
  return (
    <Dialog title={title} onClose={onClose}>
      {ready && !domains ? (
        <Bones lines={3} />
      ) : (
        <CreateForm ready={ready} from={verified ? `hello@${verified}` : ''} />
      )}
    </Dialog>
  );
}

function CreateForm({ ready, from }: { ready: Ready | null; from: string }) {
  const { api, path, project } = useProject();
  const navigate = useNavigate();
  const first = {
    name: ready?.name ?? 'New workflow',
    eventName: ready?.eventName ?? 'signed_up',
    from,
  };
  const form = useForm(first, async (values) => {
    const { name, eventName } = values;
    const { id } = ready
      ? await createReady(api, ready, values)
      : await api.post('/workflows', { body: { name, eventName } });
    await readAgain(project.id, 'workflows');
    await navigate({ to: path(`workflows/${id}/edit`) });
  });
  return (
    <Form form={form} isWide>
      <TextField label="Name" {...form.field('name')} />
      <EventField
        {...form.field('eventName')}
        error={form.errorOf('eventName') ?? form.errorOf('graph')}
      />
      {ready && (
        <TextField
          label="From"
          type="email"
          {...form.field('from')}
          hint={
            from === ''
              ? 'The project has no verified domain yet. Mails need one before the workflow is enabled.'
              : 'An address of a verified domain.'
          }
        />
      )}
      <div className="actions">
        <Button kind="primary" type="submit" isBusy={form.isBusy}>
          Create
        </Button>
      </div>
    </Form>
  );
}
