/** Texts encoded with letters, digits, `-` and `_` (RFC 4648, 5), for use in URLs. */

/** Encodes a text (as UTF-8) in base64url without padding. */
export function toBase64Url(text: string): string {
  const isAscii = /^[\0-\x7f]*$/.test(text);
  const bytes = isAscii ? [] : new TextEncoder().encode(text);
  const binary = isAscii ? text : Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes a text that `toBase64Url` has encoded; null for any other input. */
export function fromBase64Url(encoded: string): string | null {
  if (!/^[\w-]+$/.test(encoded)) return null;
  try {
    const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
