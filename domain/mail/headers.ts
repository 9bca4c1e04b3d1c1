import { normaliseEmail } from './email-address.ts';

/**
 * Headers that a sender cannot set. Some are generated from the message, and a second one would
 * forge it. Others record what mail servers did with it (RFC 5322, 3.6.6 and 3.6.7; RFC 8601; RFC
 * 8617), or where its bounces go, which the return path defines.
 */
const structural = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'sender',
  'return-path',
  'date',
  'message-id',
  'mime-version',
  'dkim-signature',
  'received',
  'received-spf',
  'authentication-results',
  'errors-to',
]);
const structuralBeginnings = ['x-everpost-', 'content-', 'resent-', 'arc-'];

/** Whether a sender must not set this header, in any case. */
export function isStructuralHeader(name: string): boolean {
  const key = name.toLowerCase();
  return structural.has(key) || structuralBeginnings.some((start) => key.startsWith(start));
}

/** Whether a text is a valid header name (RFC 5322, 2.2). */
export function isHeaderName(text: string): boolean {
  return /^[!-9;-~]+$/.test(text);
}

/**
 * The custom headers of a request as they are used: structural names are dropped, of two names that
 * differ only in case the last wins, and `Reply-To` is taken out as the one address it holds.
 */
export function readCustomHeaders(given: Readonly<Record<string, string>> | undefined): {
  headers: Record<string, string>;
  replyTo: string | null;
} {
  const kept = new Map<string, [name: string, value: string]>();
  for (const [name, value] of Object.entries(given ?? {})) {
    const key = name.toLowerCase();
    if (!isStructuralHeader(name)) kept.set(key, [name, value]);
  }
  const replyTo = addressOf(kept.get('reply-to')?.[1] ?? '');
  kept.delete('reply-to');
  return { headers: Object.fromEntries(kept.values()), replyTo };
}

/** The address in a header value, alone or in `Name <address>`; null unless exactly one. */
function addressOf(value: string): string | null {
  const inBrackets = /^[^<>]*<([^<>]*)>\s*$/.exec(value);
  return normaliseEmail(inBrackets?.[1] ?? value);
}
