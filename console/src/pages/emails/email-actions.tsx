import { useState } from 'react';
import type { Email } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useProject } from '../../shell/project.ts';
import { timeZone } from '../../words/times.ts';

/** The actions on a mail that was not sent yet: cancel it, or send it at another time. */
export function EmailActions({ email }: { email: Email }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const confirm = useConfirm();
  const [isMoving, setMoving] = useState(false);
  const { id, toEmail } = email;
  const cancel = () =>
    confirm({
      title: 'Cancel this email?',
      text: `It is never sent to ${toEmail}.`,
      verb: 'Cancel email',
      async send() {
        await api.delete('/emails/{id}', { path: { id } });
        await readAgain(project.id, 'emails');
        say('The email was cancelled.');
      },
    });
  return (
    <>
      <Button onClick={() => setMoving(true)}>Reschedule</Button>
      <Button kind="danger" onClick={cancel}>
        Cancel email
      </Button>
      {isMoving && <Reschedule email={email} onClose={() => setMoving(false)} />}
    </>
  );
}

function Reschedule({ email: { id }, onClose }: { email: Email; onClose: () => void }) {
  const { api, project } = useProject();
  const form = useForm({ scheduledFor: '' }, async ({ scheduledFor }) => {
    const time = new Date(scheduledFor);
    const body = { scheduledFor: Number.isNaN(time.getTime()) ? scheduledFor : time.toISOString() };
    await api.patch('/emails/{id}', { path: { id }, body });
    await readAgain(project.id, 'emails');
    onClose();
  });
  return (
    <Dialog title="Reschedule" onClose={onClose}>
      <Form form={form}>
        <TextField
          label="Date and time"
          type="datetime-local"
          hint={`In the time zone ${timeZone()}.`}
          {...form.field('scheduledFor')}
        />
        <div className="actions">
          <Button onClick={onClose}>Keep</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Reschedule
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
