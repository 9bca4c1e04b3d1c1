import { Link, useNavigate } from '@tanstack/react-router';
import { accountApi, EverpostError } from '../../api/api.ts';
import { queryClient } from '../../api/queries.ts';
import { base, keepNext, nextPage } from '../../api/session.ts';
import { Button } from '../../design/button.tsx';
import { TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';
import { textOfRefusal } from '../../sign-in/refusals.ts';
import { useSignInMethods } from '../../sign-in/methods.ts';
import { OtherWays } from '../../sign-in/other-ways.tsx';
import { PasskeyButton } from '../../sign-in/passkey-button.tsx';

/** Opens the page that was asked for before the log-in. */
export function enter(next: string): void {
  queryClient.clear();
  location.assign(base + nextPage(next));
}

/** Returns the factors that can complete a pending sign-in; null: no sign-in is pending. */
function pendingFactors(error: unknown): string | null {
  if (!(error instanceof EverpostError) || error.code !== 'SECOND_FACTOR_PENDING') return null;
  return ((error.details['methods'] ?? []) as string[]).join();
}

export function Page() {
  const [{ next, error }] = useAddress({ next: '', error: '' });
  const methods = useSignInMethods();
  const refusal = textOfRefusal(error);
  return (
    <>
      <PageHead title="Log in" />
      {refusal && (
        <div className="alert" role="alert">
          {refusal}
        </div>
      )}
      {methods?.password !== false && <PasswordForm next={next} />}
      {methods && (
        <div className="stack">
          {methods.passkey && (
            <PasskeyButton onDone={() => enter(next)}>Sign in with a passkey</PasskeyButton>
          )}
          <OtherWays methods={methods} onLeave={() => next !== '' && keepNext(next)} />
        </div>
      )}
      {methods?.password !== false && (
        <p className="actions">
          {methods?.signUp !== false && <Link to="/auth/signup">Sign up</Link>}
          <Link to="/auth/forgot-password">Forgot password?</Link>
        </p>
      )}
    </>
  );
}

function PasswordForm({ next }: { next: string }) {
  const navigate = useNavigate();
  const form = useForm({ email: '', password: '' }, async (values) => {
    try {
      await accountApi.post('/auth/login', { body: values });
      enter(next);
    } catch (failure) {
      const methods = pendingFactors(failure);
      if (methods === null) throw failure;
      await navigate({ to: '/auth/second-factor', search: { methods, next } });
    }
  });
  return (
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
  );
}
