import { Link } from '@tanstack/react-router';
import { accountApi } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { enter } from './log-in.tsx';
import { useSignInMethods } from '../../sign-in/methods.ts';

export function Page() {
  const methods = useSignInMethods();
  const form = useForm({ email: '', password: '' }, async (values) => {
    await accountApi.post('/auth/signup', { body: values });
    enter('/projects/new');
  });
  return (
    <>
      <PageHead title="Sign up" />
      {methods?.signUp === false ? (
        <p>This server makes no accounts by password.</p>
      ) : (
        <Form form={form}>
          <TextField label="Email" type="email" autoComplete="username" {...form.field('email')} />
          <TextField
            label="Password"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters, and none of the most common passwords."
            {...form.field('password')}
          />
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Sign up
          </Button>
        </Form>
      )}
      <p>
        You have an account? <Link to="/auth/login">Log in</Link>
      </p>
    </>
  );
}
