import { normaliseEmail } from './email-address.ts';

/**
 * Headers a sender cannot set: they are made from the message itself, and a second one would let
 * somebody forge it.
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
  'content-type',
  'content-transfer-encoding',
  'dkim-signature',
]);

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
    if (!structural.has(key) && !key.startsWith('x-everpost-')) kept.set(key, [name, value]);
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
