import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { accountApi } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';

export function Page() {
  const [isSent, setSent] = useState(false);
  const form = useForm({ email: '' }, async (values) => {
    await accountApi.post('/auth/request-password-reset', { body: values });
    setSent(true);
  });
  return (
    <>
      <PageHead title="Forgot password" />
      {isSent ? (
        <p role="status">
          If there is an account with the address {form.values.email}, a mail with a link is on its
          way. The link works once, for one hour.
        </p>
      ) : (
        <Form form={form}>
          <TextField label="Email" type="email" autoComplete="username" {...form.field('email')} />
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Send link
          </Button>
        </Form>
      )}
      <p>
        <Link to="/auth/login">Log in</Link>
      </p>
    </>
  );
}
