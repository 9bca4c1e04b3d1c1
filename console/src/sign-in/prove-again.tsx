import { useEffect, useState } from 'react';
import { accountApi, setAskForProof } from '../api/api.ts';
import { hasPasskeys } from '../api/passkeys.ts';
import { useRead } from '../api/queries.ts';
import { findUser, keepNext, pageAddress } from '../api/session.ts';
import { CodeForm } from './code-form.tsx';
import { OtherWays } from './other-ways.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { proveCode } from './prove-code.ts';
import { useSignInMethods } from './methods.ts';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { TextField } from '../design/fields.tsx';
import { Form, useForm } from '../design/form.tsx';

interface Question {
  methods: readonly string[];
  answer: (isProven: boolean) => void;
}

/** Asks the user to prove who they are, when a request needs a recent sign-in. */
export function ProveAgain() {
  const [question, setQuestion] = useState<Question | null>(null);
  useEffect(() => {
    setAskForProof(
      (methods) => new Promise((resolve) => setQuestion({ methods, answer: resolve })),
    );
    return () => setAskForProof(async () => false);
  }, []);
  if (!question) return null;
  const close = (isProven: boolean) => {
    setQuestion(null);
    question.answer(isProven);
  };
  return <Proof methods={question.methods} onClose={close} />;
}

/** Asks for a second factor if the user has one, otherwise for a new sign-in. */
function Proof({
  methods,
  onClose,
}: {
  methods: readonly string[];
  onClose: (isProven: boolean) => void;
}) {
  const hasFactor = methods.includes('totp') || methods.includes('passkey');
  const known = useSignInMethods();
  const sites = known && {
    github: methods.includes('github'),
    google: methods.includes('google'),
    oidc: known.oidc.filter(({ id }) => methods.includes(`oidc:${id}`)),
  };
  const prove = async (code: string) => {
    await proveCode(code);
    onClose(true);
  };
  return (
    <Dialog
      title="Confirm that it is you"
      description="This change needs a recent log-in."
      onClose={() => onClose(false)}
    >
      {methods.includes('totp') && <CodeForm prove={prove} />}
      {!hasFactor && methods.includes('password') && <PasswordForm onDone={() => onClose(true)} />}
      <div className="stack">
        {methods.includes('passkey') && hasPasskeys && (
          <PasskeyButton onDone={() => onClose(true)}>Use a passkey</PasskeyButton>
        )}
        {sites && <OtherWays methods={sites} isFresh onLeave={() => keepNext(pageAddress())} />}
      </div>
    </Dialog>
  );
}

function PasswordForm({ onDone }: { onDone: () => void }) {
  const { data: user } = useRead(['user'], findUser);
  const email = user?.email ?? '';
  const form = useForm({ password: '' }, async ({ password }) => {
    await accountApi.post('/auth/login', { body: { email, password } });
    onDone();
  });
  return (
    <Form form={form}>
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        hint={`The password of ${email}`}
        {...form.field('password')}
      />
      <Button kind="primary" type="submit" isBusy={form.isBusy}>
        Continue
      </Button>
    </Form>
  );
}
