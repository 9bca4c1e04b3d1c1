import type { ReceivedMail } from '../../domain/mail/inbound.ts';
import { type ArrivedMessage, type Reading, readReport } from '../../domain/mail/reports/report.ts';
import {
  deliveredTo,
  fingerprintOf,
  readArrivedMessage,
  readBytesMax,
  returnPathIn,
} from './arrived-message.ts';
import { readReceivedMail } from './inbound-mail.ts';

/** A message that arrived over SMTP, by webhook or in the mailbox, before it is parsed. */
export interface RawMessage {
  /** The message, or its first `readBytesMax` bytes. */
  raw: Buffer;
  /** Recipients of the envelope, in stored form; null: the headers have the recipients. */
  recipients: readonly string[] | null;
  /**
   * Sender of the envelope; '': a program sent the message. null: the header `Return-Path` has the
   * sender.
   */
  sender: string | null;
}

/** A message that arrived, after it is parsed. */
export interface ReadMessage {
  recipients: readonly string[];
  fingerprint: string;
  reading: Reading;
  arrivedAt: Date;
  /** Returns the message as ordinary mail; null: it has no valid sender. */
  readMail(): Promise<ReceivedMail | null>;
}

/** The reading of a message that cannot be parsed, which is ignored like automatic mail. */
const unreadable = { kind: 'automatic' } as const;

/** Parses a message that has just arrived. */
export async function readIncoming(given: RawMessage): Promise<ReadMessage> {
  const arrivedAt = new Date();
  const raw = given.raw.subarray(0, readBytesMax);
  const parsed = await readArrivedMessage(raw);
  const sender = given.sender ?? (parsed && returnPathIn(parsed));
  const message: ArrivedMessage | null = parsed && { ...parsed, sender };
  const fingerprint = fingerprintOf(raw);
  return {
    recipients: given.recipients ?? (message ? deliveredTo(message) : []),
    fingerprint,
    reading: message ? readReport(message) : unreadable,
    arrivedAt,
    readMail: () => readReceivedMail(raw, { sender, fingerprint, arrivedAt }),
  };
}
