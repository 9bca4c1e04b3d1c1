import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { SendAgain } from '../account/shared/verification.tsx';
import { accountApi, EverpostError } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { pageAddress } from '../../api/session.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Bones } from '../../design/parts.tsx';
import { ProblemAlert } from '../../design/problem-alert.tsx';
import { useAddress } from '../../shell/address.ts';
import { useUser } from '../../shell/user.ts';

async function verify(token: string): Promise<'verified' | 'another account'> {
  try {
    await accountApi.post('/auth/verify-email', { body: { token } });
  } catch (error) {
    const isAnother = error instanceof EverpostError && error.code === 'UNAUTHORIZED';
    if (isAnother) return 'another account';
    throw error;
  }
  await readAgain('user');
  return 'verified';
}

/**
 * Verifies the user's address by a link from a mail. The link works once, so its token is sent
 * once.
 */
export function Page() {
  const [{ token }] = useAddress({ token: '' });
  const { data, error, refetch } = useQuery({
    queryKey: ['verification', token],
    queryFn: () => verify(token),
    retry: false,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  if (data === 'another account') return <AnotherAccount />;
  if (data === 'verified') {
    return (
      <>
        <PageHead title="Email verified" />
        <p>
          <Link to="/">Go on to your project</Link>
        </p>
      </>
    );
  }
  if (!error) return <Bones />;
  const { code = '', status = 0 } = error instanceof EverpostError ? error : {};
  if (code === 'INVALID_TOKEN' || status === 422) return <Over />;
  return (
    <>
      <PageHead title="Verify your email address" />
      <ProblemAlert error={error} onRetry={() => void refetch()} />
    </>
  );
}

/** Shown if the link is valid, but not for the account of the session. */
function AnotherAccount() {
  const { email } = useUser();
  const next = pageAddress();
  return (
    <>
      <PageHead title="This link is for another account" />
      <p>
        You are logged in as {email}. Log in to the account that got the mail; then the link works.
      </p>
      <p>
        <Link to="/auth/login" search={{ next }}>
          Log in to the other account
        </Link>
      </p>
    </>
  );
}

function Over() {
  const { email, emailVerified } = useUser();
  return (
    <>
      <PageHead title="This link is no longer valid" />
      <p>
        {emailVerified
          ? `The address ${email} is verified already, so you need no link.`
          : `It works once, for one hour. A new one can be sent to ${email}.`}
      </p>
      <div className="actions">
        <SendAgain />
        <Link to="/">Go to your project</Link>
      </div>
    </>
  );
}
