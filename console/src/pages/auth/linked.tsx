import { Link } from '@tanstack/react-router';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';
import { textOfRefusal } from '../../sign-in/refusals.ts';
import { useSignInMethods } from '../../sign-in/methods.ts';

/**
 * The result of linking the account to a provider. After the provider has responded, the API
 * redirects the user to this page.
 */
export function Page() {
  const [{ provider, error }] = useAddress({ provider: '', error: '' });
  const name = useSignInMethods()?.oidc.find(({ id }) => id === provider)?.name;
  const refusal = textOfRefusal(error);
  return (
    <>
      <PageHead title={refusal ? 'Not linked' : 'Linked'} />
      {refusal ? (
        <div className="alert" role="alert">
          {refusal}
        </div>
      ) : (
        <p>{name ?? 'The provider'} is linked to your account. You can sign in with it.</p>
      )}
      <p>
        <Link to="/account">Your account</Link>
      </p>
    </>
  );
}
