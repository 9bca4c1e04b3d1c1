/**
 * Maximum number of characters of a host name (RFC 1035, section 2.3.4, without the trailing dot).
 */
const nameCharsMax = 253;
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the stored form of a host name: in lower case and Punycode, without the trailing dot.
 * null: the text is something else, such as a URL, an email address, an IP address or a name
 * without a dot.
 */
export function normaliseDomainName(text: string): string | null {
  const name = text.trim();
  // The URL parser below would not read these characters as part of a host.
  if (/[\s/\\:@?#%[\]]/.test(name)) return null;
  const url = URL.parse(`http://${name}`);
  const host = url?.hostname.replace(/\.$/, '') ?? '';
  const labels = host.split('.');
  const isName =
    host.length <= nameCharsMax && labels.length > 1 && labels.every((part) => label.test(part));
  // The URL parser turns every notation of an IPv4 address into four numbers. The last label of a
  // host name is never a number.
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? host : null;
}

/** Top-level names reserved for tests and documentation, which never exist (RFC 2606). */
const reserved = new Set(['test', 'example', 'localhost', 'invalid']);

export function isReservedName(name: string): boolean {
  return reserved.has(name.slice(name.lastIndexOf('.') + 1));
}
