/**
 * The link of a confirmation mail. Whoever has its token can confirm, so no stored copy of the mail has it:
 * the mail is rendered with a placeholder that nobody knows, which is masked in what is stored, and gets the
 * token when it leaves.
 */

/** The address that a token is confirmed at. */
export function confirmUrl(apiUrl: string, token: string): string {
  return `${apiUrl}/confirm/${token}`;
}

/** A masked link in a text, also as a part of another address. */
const masked = /(\/confirm\/|%2Fconfirm%2F)\*\*\*/gi;

/** The token of a link that is shown. */
const mask = '***';

/** Whether a rendered text has the link with this placeholder. */
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
