import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { TextField } from '../design/fields.tsx';
import { Form, useForm } from '../design/form.tsx';
import { useNotify } from '../design/notices.tsx';
import { useUser } from '../shell/user.ts';

/** Asks for an address and sends a test there. */
export function SendTest({
  send,
  onClose,
}: {
  send: (email: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const { email } = useUser();
  const { say } = useNotify();
  const form = useForm({ email }, async (values) => {
    await send(values.email);
    say(`The test is on its way to ${values.email}.`);
    onClose();
  });
  return (
    <Dialog
      title="Send test"
      description="The mail as it is on this page, saved or not. It counts in no numbers."
      onClose={onClose}
    >
      <Form form={form}>
        <TextField label="To" type="email" {...form.field('email')} />
        <div className="actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Send
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
