import { formatMailboxes, parseMailboxes } from '../email-address.ts';
import { containsOptOutLink } from '../template/html.ts';

/**
 * Headers that a sender cannot set. Some are generated from the message, so a custom value would
 * contradict the message. Others record the work of mail servers (RFC 5322, 3.6.6 and 3.6.7; RFC
 * 8601; RFC 8617), or the address for bounces, which the return path defines.
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

/** Returns true if senders must not set this header, in any letter case. */
export function isStructuralHeader(name: string): boolean {
  const key = name.toLowerCase();
  return structural.has(key) || structuralBeginnings.some((start) => key.startsWith(start));
}

/** Returns true if a text is a valid header name (RFC 5322, 2.2). */
export function isHeaderName(text: string): boolean {
  return /^[!-9;-~]+$/.test(text);
}

/**
 * Prepares the custom headers of a request. Structural names are dropped, and if two names differ
 * only in case, the last counts. `Reply-To` is returned as `replyTo`, in the form of
 * `formatMailboxes`; null: it is absent or cannot be read.
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
  const replyTo = parseMailboxes(kept.get('reply-to')?.[1] ?? '');
  kept.delete('reply-to');
  return {
    headers: Object.fromEntries(kept.values()),
    replyTo: replyTo && formatMailboxes(replyTo),
  };
}

export type MessageClass = 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
export type SourceType = 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW';

/**
 * Returns true if mail of a class goes only to subscribed contacts. HEADLESS mail counts as
 * transactional if a request sends it, and as marketing in campaigns and workflows.
 */
export function needsSubscription(messageClass: string, sourceType: string): boolean {
  if (messageClass === 'HEADLESS') return sourceType !== 'TRANSACTIONAL';
  return messageClass === 'MARKETING';
}

export interface Header {
  name: string;
  value: string;
}

export interface ClassHeadersInput {
  messageClass: MessageClass;
  sourceType: SourceType;
  /** The rendered HTML body. */
  body: string;
  contactId: string;
  unsubscribeUrl: string;
  /** Headers of the request. If two names differ only in case, the last wins. */
  customHeaders?: Record<string, string> | null | undefined;
}

/**
 * Returns the headers of a message class, followed by the custom ones. Marketing mail, and other
 * mail whose body has an opt-out link, gets the headers of a one-click opt-out (RFC 8058).
 * Marketing mail and campaigns get headers that suppress automatic replies (RFC 3834).
 *
 * A custom header replaces a generated one of the same name in any letter case. `List-Unsubscribe`
 * and `List-Unsubscribe-Post` belong together, so a custom one of them replaces both.
 */
export function classHeaders(input: ClassHeadersInput): Header[] {
  const { messageClass, sourceType, body, contactId, unsubscribeUrl, customHeaders } = input;
  const generated: Header[] = [];
  if (messageClass === 'MARKETING' || containsOptOutLink(body, contactId)) {
    generated.push(
      { name: 'List-Unsubscribe', value: `<${unsubscribeUrl}>` },
      { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
    );
  }
  if (messageClass === 'MARKETING' || sourceType === 'CAMPAIGN') {
    generated.push(
      { name: 'Precedence', value: 'bulk' },
      { name: 'Auto-Submitted', value: 'auto-generated' },
      { name: 'X-Auto-Response-Suppress', value: 'All' },
    );
  }
  const custom = new Map<string, Header>();
  for (const [name, value] of Object.entries(customHeaders ?? {})) {
    custom.set(name.toLowerCase(), { name, value });
  }
  const ownOptOut = custom.has('list-unsubscribe') || custom.has('list-unsubscribe-post');
  const kept = generated.filter(({ name }) => {
    const key = name.toLowerCase();
    return !custom.has(key) && !(ownOptOut && key.startsWith('list-unsubscribe'));
  });
  return [...kept, ...custom.values()];
}
