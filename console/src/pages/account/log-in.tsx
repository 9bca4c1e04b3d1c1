import { Link } from '@tanstack/react-router';
import { accountApi } from '../../api/api.ts';
import { queryClient, useRead } from '../../api/queries.ts';
import { base, nextPage } from '../../api/session.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';

export function Page() {
  const [{ next }] = useAddress({ next: '' });
  const { data: ways } = useRead(['ways to sign in'], () => accountApi.get('/auth/oauth-config'));
  const form = useForm({ email: '', password: '' }, async (values) => {
    await accountApi.post('/auth/login', { body: values });
    queryClient.clear();
    location.assign(base + nextPage(next));
  });
  return (
    <>
      <PageHead title="Log in" />
      <Form form={form}>
        <TextField label="Email" type="email" autoComplete="username" {...form.field('email')} />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          {...form.field('password')}
        />
        <Button kind="primary" type="submit" isBusy={form.isBusy}>
          Log in
        </Button>
      </Form>
      {(ways?.data.github || ways?.data.google) && (
        <div className="stack">
          {ways.data.github && (
            <a className="button" href="/oauth/github">
              Continue with GitHub
            </a>
          )}
          {ways.data.google && (
            <a className="button" href="/oauth/google">
              Continue with Google
            </a>
          )}
        </div>
      )}
      <p className="actions">
        <Link to="/auth/signup">Sign up</Link>
        <Link to="/auth/forgot-password">Forgot password?</Link>
      </p>
    </>
  );
}
