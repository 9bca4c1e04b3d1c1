import { normaliseEmail } from './email-address.ts';

/**
 * Headers a sender cannot set. Some are made from the message itself, and a second one would forge
 * it. Others say what mail servers did with it (RFC 5322, 3.6.6 and 3.6.7; RFC 8601; RFC 8617), or
 * where its errors go, which is known by its return path.
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

/** Whether a header is not a sender's to set, in any case. */
export function isStructuralHeader(name: string): boolean {
  const key = name.toLowerCase();
  return structural.has(key) || structuralBeginnings.some((start) => key.startsWith(start));
}

/** Whether a text consists of what a header name may (RFC 5322, 2.2). */
export function isHeaderName(text: string): boolean {
  return /^[!-9;-~]+$/.test(text);
}

/**
 * The custom headers of a request as they are used: structural names are dropped, of two names
 * equal but for case the last wins, and `Reply-To` is taken out as the one address it holds.
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

/** The address of a header value, alone or as `Name <address>`; null when there is not one. */
function addressOf(value: string): string | null {
  const inBrackets = /^[^<>]*<([^<>]*)>\s*$/.exec(value);
  return normaliseEmail(inBrackets?.[1] ?? value);
}
