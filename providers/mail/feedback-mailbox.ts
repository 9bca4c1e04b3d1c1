import { ImapFlow } from 'imapflow';
import { readFields } from '../../domain/mail/reports/fields.ts';
import { deliveredTo, readBytesMax, recipientHeaders } from './arrived-message.ts';

/** A mailbox to which a mail server delivers reports. It is read over IMAP. */
export interface FeedbackMailbox {
  /**
   * Passes unseen messages to `reader`. A message is marked as seen after `take` has resolved, so
   * that the message is passed again if the process dies before. Owners of messages take turns; the
   * oldest message of each owner comes first.
   * @throws when the mailbox cannot be read, or a function of `reader` throws
   */
  readUnseen(reader: MailboxReader): Promise<{ taken: number; hasMore: boolean }>;
}

export interface MailboxReader {
  /**
   * Returns an owner for each message, from its recipients in stored form. Messages with equal
   * texts have the same owner.
   */
  ownersOf(messages: readonly (readonly string[])[]): Promise<readonly string[]>;
  /**
   * Processes a message. Resolves after its effects are committed.
   * @param raw the first `readBytesMax` bytes of the message
   */
  take(raw: Buffer): Promise<void>;
  /** Returns false if reading must stop before the next message. */
  shouldContinue(): boolean;
}

export interface FeedbackMailboxSettings {
  host: string;
  port: number;
  user: string;
  password: string;
  /** True: TLS from the first byte. False: STARTTLS if the server offers it. */
  secure: boolean;
  mailbox: string;
  /** The mailbox to which processed messages are moved; null: the messages are not moved. */
  moveTo: string | null;
}

/** Maximum number of milliseconds for a connection, and then for the greeting of the server. */
const connectMs = 30_000;
const idleMs = 60_000;

export function createFeedbackMailbox(settings: FeedbackMailboxSettings): FeedbackMailbox {
  const { host, port, secure, user, password: pass, mailbox, moveTo } = settings;
  return {
    async readUnseen({ ownersOf, take, shouldContinue }) {
      const client = new ImapFlow({
        host,
        port,
        secure,
        auth: { user, pass },
        logger: false,
        connectionTimeout: connectMs,
        greetingTimeout: connectMs,
        socketTimeout: idleMs,
      });
      // A lost connection also makes the current command throw, so this event needs no action.
      client.on('error', () => {});
      try {
        await client.connect();
        // Fails now if the target mailbox is missing, because processed messages could not be
        // moved.
        if (moveTo !== null) await client.status(moveTo, { messages: true });
        await client.mailboxOpen(mailbox);
        const unseen = (await client.search({ seen: false }, { uid: true })) || [];
        const seen = someOf(unseen);
        const owners = await ownersOf(await readRecipients(client, seen));
        let taken = 0;
        for (const uid of inTurn(seen, owners)) {
          if (!shouldContinue()) return { taken, hasMore: true };
          const range = String(uid);
          const message = await client.fetchOne(
            range,
            { source: { start: 0, maxLength: readBytesMax } },
            { uid: true },
          );
          // Another program may have deleted the message.
          if (!message || !message.source) continue;
          await take(message.source);
          await client.messageFlagsAdd(range, ['\\Seen'], { uid: true });
          if (moveTo !== null) await client.messageMove(range, moveTo, { uid: true });
          taken += 1;
        }
        return { taken, hasMore: seen.length < unseen.length };
      } finally {
        await client.logout().catch(() => client.close());
      }
    },
  };
}

/** Maximum number of messages whose recipients are read at a time. */
const seenMax = 10_000;
/** Number of messages whose recipients one command reads. */
const commandMax = 500;

/** Returns the oldest and the newest messages, so that a flood of messages hides neither. */
function someOf(uids: readonly number[]): readonly number[] {
  if (uids.length <= seenMax) return uids;
  return [...uids.slice(0, seenMax / 2), ...uids.slice(-seenMax / 2)];
}

/** Returns the recipients in the headers of each message. */
async function readRecipients(client: ImapFlow, uids: readonly number[]): Promise<string[][]> {
  const byUid = new Map<number, string[]>();
  for (let at = 0; at < uids.length; at += commandMax) {
    const range = uids.slice(at, at + commandMax).join(',');
    const wanted = { uid: true, headers: [...recipientHeaders] };
    for await (const { uid, headers } of client.fetch(range, wanted, { uid: true })) {
      const text = headers?.toString('latin1') ?? '';
      byUid.set(uid, deliveredTo({ headers: readFields(text) }));
    }
  }
  return uids.map((uid) => byUid.get(uid) ?? []);
}

/** Returns messages in an order in which owners take turns. */
function inTurn(uids: readonly number[], owners: readonly string[]): number[] {
  const turns = new Map<string, number>();
  const placed = uids.map((uid, index) => {
    const owner = owners[index] ?? '';
    const turn = turns.get(owner) ?? 0;
    turns.set(owner, turn + 1);
    return { uid, turn };
  });
  // The sort is stable, so older messages come first within a turn.
  return placed.toSorted((a, b) => a.turn - b.turn).map(({ uid }) => uid);
}

/** Returns an error of the mailbox as a sentence for operators, without the password. */
export function mailboxErrorText(error: unknown): string {
  const { responseText, message } = error as { responseText?: string; message?: string };
  return responseText ?? message ?? String(error);
}
