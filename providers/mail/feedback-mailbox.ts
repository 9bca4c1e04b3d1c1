import { ImapFlow } from 'imapflow';
import { readFields } from '../../domain/mail/reports/fields.ts';
import { deliveredTo, readBytesMax, recipientHeaders } from './arrived-message.ts';

/** A mailbox to which a mail server delivers reports, read by IMAP. */
export interface FeedbackMailbox {
  /**
   * Hands on unseen messages, and marks each as seen after it was taken. So a message whose reader
   * dies is handed on again. The owners of messages take turns; each gets its oldest message first.
   * @throws when the mailbox cannot be read, or a function of `reader` throws
   */
  readUnseen(reader: MailboxReader): Promise<{ taken: number; hasMore: boolean }>;
}

export interface MailboxReader {
  /**
   * Returns the owner of each message, by its recipients in their stored form. Owners are any texts
   * that differ.
   */
  ownersOf(messages: readonly (readonly string[])[]): Promise<readonly string[]>;
  /**
   * Resolves after the commit of the message's effects.
   * @param raw its first `readBytesMax` bytes
   */
  take(raw: Buffer): Promise<void>;
  /** Returns false to stop before the next message. */
  shouldContinue(): boolean;
}

export interface FeedbackMailboxSettings {
  host: string;
  port: number;
  user: string;
  password: string;
  /** TLS from the first byte. Otherwise STARTTLS is used when the server offers it. */
  secure: boolean;
  mailbox: string;
  /** The mailbox to which messages are moved after they were taken; null: they stay. */
  moveTo: string | null;
}

/** Milliseconds for a connection, for its greeting, and without an answer of the server. */
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
      // A lost connection also fails the command under way, which throws.
      client.on('error', () => {});
      try {
        await client.connect();
        // Refuses to begin without it: a message that cannot be moved would stay behind.
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
          // Another program may have deleted it meanwhile.
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

/** Maximum number of messages of which one look reads the recipients. */
const seenMax = 10_000;
/** Number of messages of which one command reads the recipients. */
const commandMax = 500;

/** Returns the oldest and the newest messages, so that a flood hides neither. */
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

/** Returns messages in an order in which their owners take turns. */
function inTurn(uids: readonly number[], owners: readonly string[]): number[] {
  const turns = new Map<string, number>();
  const placed = uids.map((uid, index) => {
    const owner = owners[index] ?? '';
    const turn = turns.get(owner) ?? 0;
    turns.set(owner, turn + 1);
    return { uid, turn };
  });
  // The sort is stable, so the oldest message of a turn comes first.
  return placed.toSorted((a, b) => a.turn - b.turn).map(({ uid }) => uid);
}

/** Returns an error of the mailbox as a sentence for operators. It never has the password. */
export function mailboxErrorText(error: unknown): string {
  const { responseText, message } = error as { responseText?: string; message?: string };
  return responseText ?? message ?? String(error);
}
