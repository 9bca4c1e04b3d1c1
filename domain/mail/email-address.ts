/** RFC 5321: local part at most 64, whole address at most 254 characters. */
const addressMax = 254;
const localPart = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/;
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const startsWithLetter = /^[a-z]/;

/**
 * The stored form of an email address (trimmed, its ASCII letters in lower case), or null when it is
 * invalid.
 * Only ASCII: other local parts need SMTPUTF8, which providers such as SES reject; an international
 * domain must be given in its `xn--` form, so that each mailbox has one spelling. Quoted local
 * parts, spaces, commas, angle brackets and control characters are refused, because they would
 * change the meaning of a header. Dots in the local part may stand anywhere: real mailboxes have
 * double and trailing ones. IP addresses are not accepted as domains.
 */
export function normaliseEmail(value: string): string | null {
  const trimmed = value.trim();
  if (trimmed.length > addressMax) return null;
  const address = lowerAscii(trimmed);
  const [local, domain, ...rest] = address.split('@');
  if (local === undefined || domain === undefined || rest.length > 0) return null;
  if (!localPart.test(local)) return null;
  const labels = domain.split('.');
  if (labels.length < 2 || !labels.every((label) => domainLabel.test(label))) return null;
  return startsWithLetter.test(labels.at(-1)!) ? address : null;
}

/**
 * Text with its ASCII letters in lower case, as addresses are compared. Other letters stay: the Kelvin
 * sign is not the letter k, although its lower case is.
 */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The domain of an address in its stored form. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1);
}

/** An address as public pages may show it: `ada@x.example` becomes `a…@x.example`. */
export function maskEmail(email: string): string {
  return `${email.slice(0, 1)}…@${domainOf(email)}`;
}
