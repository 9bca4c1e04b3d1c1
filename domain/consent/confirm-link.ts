/**
 * The link of a confirmation mail. Anyone with its token can confirm, so no stored copy of the mail
 * contains the token: the mail is rendered with a secret placeholder, which is masked in the stored
 * copy and replaced by the token when the mail leaves.
 */

/** The address that a token is confirmed at. */
export function confirmUrl(apiUrl: string, token: string): string {
  return `${apiUrl}/confirm/${token}`;
}

/** A masked link in a text, also as a part of another address. */
const masked = /(\/confirm\/|%2Fconfirm%2F)\*\*\*/gi;

/** The token of a link that is shown. */
const mask = '***';

export function hasConfirmLink(text: string, placeholder: string): boolean {
  return text.includes(`/confirm/${placeholder}`) || text.includes(`%2Fconfirm%2F${placeholder}`);
}

/**
 * A rendered text as it is stored. What looks like a masked link in values of the contact, which anybody may
 * have written, will not get the token.
 */
export function maskConfirmLinks(text: string, placeholder: string): string {
  return text.replaceAll(masked, '$1**').replaceAll(placeholder, mask);
}

/** A stored text with the token in its links. */
export function fillConfirmLinks(text: string, token: string): string {
  return text.replaceAll(masked, (_, path: string) => `${path}${token}`);
}
