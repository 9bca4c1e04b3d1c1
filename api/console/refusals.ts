import type { LoginRefusal } from '../accounts/oauth.ts';

/**
 * The sentences for failed sign-ins and failed links to a provider, by the `error` in the page's
 * address.
 */
const sentences: Readonly<Record<LoginRefusal | 'identity_taken', string>> = {
  oauth_failed: 'The sign-in was not completed. Begin again from this page.',
  email_not_verified: 'The provider has not verified your email address. Verify it there first.',
  domain_not_allowed:
    'Users with an email address of this domain cannot sign in with this provider.',
  wrong_method:
    'An account with this address exists, and signs in another way. Sign in that way first. ' +
    'Then you can link the provider on the account page.',
  not_invited: 'You have no account here. Ask an admin of a project to invite you.',
  signups_disabled: 'This server makes no new accounts.',
  provider_unavailable: 'The provider does not answer. Try again later, or use another way.',
  identity_taken: 'This user of the provider is already linked to another account.',
};

/** Returns the sentence for the `error` in the address of a page; null: there is no error. */
export function refusalText(error: string | undefined): string | null {
  if (error === undefined || error === '') return null;
  const isKnown = Object.hasOwn(sentences, error);
  return sentences[isKnown ? (error as keyof typeof sentences) : 'oauth_failed'];
}
