import { PageHead } from '../../design/page-head.tsx';
import { Unverified } from './shared/verification.tsx';
import { useSignInMethods } from '../../sign-in/methods.ts';
import { useUser } from '../../shell/user.ts';
import { DeleteAccount } from './delete-account.tsx';
import { Events } from './events.tsx';
import { Factors } from './factors/factors.tsx';
import { Identities } from './identities.tsx';
import { Invitations, useInvitations } from './invitations.tsx';
import { Password } from './password.tsx';
import { Sessions } from './sessions.tsx';

/** The user's own account. */
export function Page() {
  const { email, type } = useUser();
  const methods = useSignInMethods();
  const invitations = useInvitations();
  return (
    <>
      <PageHead title="Account" state={<span className="second">{email}</span>} />
      <Unverified />
      <Invitations query={invitations} />
      {type === 'PASSWORD' && methods?.password !== false && <Password />}
      <Factors />
      {methods && <Identities providers={methods.oidc} />}
      <Sessions />
      <Events />
      <DeleteAccount />
    </>
  );
}
