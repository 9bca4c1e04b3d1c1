/** Why a sign-in, or a link to a provider, failed: one sentence per code. */
const refusals: Record<string, string> = {
  oauth_failed: 'The sign-in was not completed. Begin again.',
  email_not_verified: 'The provider has not verified your email address. Verify it there first.',
  domain_not_allowed: 'Addresses of this domain cannot sign in with this provider.',
  wrong_method:
    'An account with this address exists, and signs in another way. Sign in that way first; then ' +
    'you can link the provider on the account page.',
  not_invited: 'You have no account here. Ask an administrator of a project to invite you.',
  signups_disabled: 'This server makes no new accounts.',
  provider_unavailable: 'The provider does not answer. Try again later, or use another way.',
  identity_taken: 'This user of the provider is already linked to another account.',
  expired: 'The sign-in took too long, or had too many wrong codes. Log in again.',
};

/** Returns the sentence for the `error` in the address of a page; null: there is no error. */
export function textOfRefusal(error: string): string | null {
  if (error === '') return null;
  return refusals[error] ?? refusals['oauth_failed']!;
}
