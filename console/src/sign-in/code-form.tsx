import { Button } from '../design/button.tsx';
import { TextField } from '../design/fields.tsx';
import { Form, useForm } from '../design/form.tsx';

/** Asks for a code of an authenticator app, or a recovery code. */
export function CodeForm({ prove }: { prove: (code: string) => Promise<void> }) {
  const form = useForm({ code: '' }, ({ code }) => prove(code));
  return (
    <Form form={form}>
      <TextField
        label="Code of your app, or a recovery code"
        autoComplete="one-time-code"
        {...form.field('code')}
      />
      <Button kind="primary" type="submit" isBusy={form.isBusy}>
        Continue
      </Button>
    </Form>
  );
}
