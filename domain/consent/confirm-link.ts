/**
 * The link of a confirmation mail. Anyone with the token of the link can confirm, so stored mail
 * has a mask instead of the token. Sending the mail replaces the mask by the token.
 */

export function confirmUrl(apiUrl: string, token: string): string {
  return `${apiUrl}/confirm/${token}`;
}

/** Matches a masked link, also inside the encoded parameter of another URL. */
const masked = /(\/confirm\/|%2Fconfirm%2F)\*\*\*/gi;

const mask = '***';

export function hasConfirmLink(text: string, placeholder: string): boolean {
  return text.includes(`/confirm/${placeholder}`) || text.includes(`%2Fconfirm%2F${placeholder}`);
}

/**
 * Returns a rendered text for storage, with the links masked. A masked link in a contact's own
 * values is changed, so that `fillConfirmLinks` does not insert the token there.
 */
export function maskConfirmLinks(text: string, placeholder: string): string {
  return text.replaceAll(masked, '$1**').replaceAll(placeholder, mask);
}

/** Inserts the token into the masked links of a stored text. */
export function fillConfirmLinks(text: string, token: string): string {
  return text.replaceAll(masked, (_, path: string) => `${path}${token}`);
}
