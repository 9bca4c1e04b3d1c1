import { Link, useNavigate } from '@tanstack/react-router';
import { EverpostError } from '../../api/api.ts';
import { takeNext } from '../../api/session.ts';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';
import { proveCode } from '../../sign-in/prove-code.ts';
import { CodeForm } from '../../sign-in/code-form.tsx';
import { enter } from './log-in.tsx';
import { PasskeyButton } from '../../sign-in/passkey-button.tsx';

/**
 * Asks for the second factor of a sign-in. `methods` lists the user's factors. After a sign-in at
 * another site, `methods` is empty, and all factors are offered.
 */
export function Page() {
  const [{ methods, next }] = useAddress({ methods: '', next: '' });
  const navigate = useNavigate();
  const has = (...factors: string[]) =>
    methods === '' || factors.some((factor) => methods.split(',').includes(factor));
  const done = () => enter(next || takeNext() || '/');
  const prove = async (code: string) => {
    try {
      await proveCode(code);
      done();
    } catch (error) {
      if (!(error instanceof EverpostError) || error.code !== 'UNAUTHORIZED') throw error;
      await navigate({ to: '/auth/login', search: { error: 'expired', next } });
    }
  };
  return (
    <>
      <PageHead title="Second factor" />
      {has('totp', 'recovery') && <CodeForm prove={prove} />}
      {has('passkey') && <PasskeyButton onDone={done}>Use a passkey</PasskeyButton>}
      <p>
        <Link to="/auth/login" search={{ next }}>
          Log in again from the beginning
        </Link>
      </p>
    </>
  );
}
