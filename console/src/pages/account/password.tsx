import { accountApi } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { Card } from '../../design/parts.tsx';
import { useUser } from '../../shell/user.ts';

const empty = { currentPassword: '', newPassword: '' };

export function Password() {
  const { email } = useUser();
  const { say } = useNotify();
  const form = useForm(empty, async (body) => {
    await accountApi.post('/users/@me/password', { body });
    say('Your password is changed. Your other sessions have ended.');
    form.reset(empty);
    await readAgain('sessions');
  });
  return (
    <Card label="Password">
      <Form form={form}>
        {/* Password managers store the address together with the password. */}
        <input hidden readOnly name="email" autoComplete="username" value={email} />
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          {...form.field('currentPassword')}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          hint="At least 8 characters. It ends all your other sessions."
          {...form.field('newPassword')}
        />
        <div className="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Card>
  );
}
