import { connectionHeaders } from '../webhook/connection-headers.ts';

/** Checks of a subscription's settings. */

/** Headers that Everpost sets itself, or that belong to the connection. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'user-agent', ...connectionHeaders]);
const ownBeginnings = ['content-', 'webhook-', 'everpost-', 'proxy-'];

/** Returns true if a subscription must not set this header. The case does not matter. */
export function isOwnHeader(name: string): boolean {
  const key = name.toLowerCase();
  return ownHeaders.has(key) || ownBeginnings.some((start) => key.startsWith(start));
}

/** Returns true if a text is a token (RFC 9110, 5.6.2), as header names are. */
export function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** Returns true if a text can be a header value here: printable ASCII without surrounding space. */
export function isHeaderValue(text: string): boolean {
  return /^[ -~]*$/.test(text) && text.trim() === text;
}

/** Returns true for a valid item of the list of events: `*`, `<prefix>.*` or an event name. */
export function isItem(item: string): boolean {
  if (item === '*') return true;
  const name = item.endsWith('.*') ? item.slice(0, -2) : item;
  return name !== '' && !name.includes('*');
}

export function isCallable(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  const isHttp = protocol === 'http:' || protocol === 'https:';
  return isHttp && username === '' && password === '' && hash === '' && !text.includes('#');
}
