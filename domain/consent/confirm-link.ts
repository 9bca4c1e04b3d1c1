/**
 * The link of a confirmation mail. Anyone with its token can confirm, so no stored copy of the mail
 * contains the token. The mail is rendered with a secret placeholder, which is masked in the stored
 * copy and replaced by the token when the mail is sent.
 */

export function confirmUrl(apiUrl: string, token: string): string {
  return `${apiUrl}/confirm/${token}`;
}

/** Matches a masked link in a text, also as a part of another URL. */
const masked = /(\/confirm\/|%2Fconfirm%2F)\*\*\*/gi;

const mask = '***';

export function hasConfirmLink(text: string, placeholder: string): boolean {
  return text.includes(`/confirm/${placeholder}`) || text.includes(`%2Fconfirm%2F${placeholder}`);
}

/**
 * Returns a rendered text in its stored form. Contact values, which anyone may have written, can
 * look like a masked link. They are changed, so that `fillConfirmLinks` puts no token into them.
 */
export function maskConfirmLinks(text: string, placeholder: string): string {
  return text.replaceAll(masked, '$1**').replaceAll(placeholder, mask);
}

/** Puts the token into the links of a stored text. */
export function fillConfirmLinks(text: string, token: string): string {
  return text.replaceAll(masked, (_, path: string) => `${path}${token}`);
}
