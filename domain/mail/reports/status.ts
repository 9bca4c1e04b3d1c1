import type { Feedback } from '../feedback.ts';

type BounceType = Extract<Feedback, { kind: 'bounce' }>['bounceType'];

/**
 * Returns the first enhanced status code of a failure in a text (RFC 3463), for example `5.1.1`;
 * null: there is none. An IP address does not count.
 */
export function statusIn(text: string): string | null {
  const [, status] = /(?<![\w.]|(?<!\d)-)([45]\.\d{1,3}\.\d{1,3})(?!\w|\.\d)/.exec(text) ?? [];
  return status ?? null;
}

/** Returns true if a status names only its class: `5.0.0`, `4.0.0`. */
export function isUnspecific(status: string): boolean {
  return status.endsWith('.0.0');
}

/**
 * Returns true if the status says that the address does not exist, or no longer (RFC 3463, 3.2, 3.3
 * and 3.5).
 */
function isGone(status: string): boolean {
  // 5.1.4 means an ambiguous recipient; 5.1.7 and 5.1.8 mean faults of the sender's address.
  if (status === '5.1.4' || status === '5.1.7' || status === '5.1.8') return false;
  return status.startsWith('5.1.') || status === '5.2.1' || status === '5.4.4';
}

/**
 * Returns the type of a bounce with an enhanced status code. The bounce is transient if the address
 * may be good, because the mailbox is full, or the message or its sender was rejected.
 * @param text the text of the server that rejected the message
 */
export function bounceTypeOf(status: string, text: string): BounceType {
  if (isGone(status)) return 'Permanent';
  if (!status.startsWith('5.')) return 'Transient';
  if (status === '5.0.0' || status.startsWith('5.5.')) return 'Undetermined';
  return /\b55[01]\b/.test(text) && namesUnknown(text) ? 'Undetermined' : 'Transient';
}

/**
 * Returns the type of a bounce whose text has no enhanced status code. A guess from words is never
 * permanent.
 */
export function guessedBounceType(text: string): BounceType {
  return namesUnknown(text) ? 'Undetermined' : 'Transient';
}

/** Returns true if a text says that a user or a host does not exist. */
export function namesUnknown(text: string): boolean {
  return !/host not found, try again/i.test(text) && unknown.some((words) => words.test(text));
}

/** Phrases of mail servers for an unknown user or host. Several servers share some of them. */
const unknown: readonly RegExp[] = [
  /unknown (?:user|local[ -]?part|recipient|address|mailbox|host|or illegal alias)/i,
  /no such (?:user|recipient|mailbox|address|person|host|domain|local user)/i,
  /(?:account|address|user|mailbox|recipient|domain)\b.{0,80}\b(?:does not|doesn.t|do not) exist/i,
  // Postfix
  /user unknown|(?:host|domain) name not found|host not found|name service error/i,
  // Exim
  /unrouteable (?:address|mail domain)|mx records point to non-existent hosts/i,
  // qmail
  /no mailbox here by that name|couldn.t find (?:any host named|a mail exchanger)/i,
  /this address no longer accepts mail/i,
  // Sendmail and old Exchange servers
  /host unknown|recipient name is not recognized/i,
  // Exchange and Exchange Online
  /recip(?:ient)?notfound|recipient address rejected: access denied/i,
  /(?:address|recipient|mailbox)\b.{0,60}(?:couldn.t be|wasn.t|was not|not) found/i,
  // Large providers
  /doesn.t have an? .{1,40} account|mailbox (?:unavailable|not found|unknown)/i,
  /not a (?:valid|known) (?:mailbox|user|recipient|address)|invalid (?:recipient|mailbox|user)/i,
  /account (?:has been |is )?(?:disabled|inactive|closed|deactivated)/i,
];
