import { ImapFlow } from 'imapflow';
import { readBytesMax } from './arrived-message.ts';

/** A mailbox to which a mail server delivers reports, read by IMAP. */
export interface FeedbackMailbox {
  /**
   * Hands on the unseen messages, oldest first, and marks each as seen after it was taken. So a
   * message whose reader dies is handed on again.
   * @param take resolves after the commit of the message's effects. It gets the first
   *   `readBytesMax` bytes
   * @param shouldContinue returns false to stop before the next message
   * @throws when the mailbox cannot be read, or `take` does
   */
  readUnseen(
    take: (raw: Buffer) => Promise<void>,
    shouldContinue: () => boolean,
  ): Promise<{ taken: number; hasMore: boolean }>;
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
    async readUnseen(take, shouldContinue) {
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
        let taken = 0;
        for (const uid of unseen) {
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
        return { taken, hasMore: false };
      } finally {
        await client.logout().catch(() => client.close());
      }
    },
  };
}

/** Returns an error of the mailbox as a sentence for operators. It never has the password. */
export function mailboxErrorText(error: unknown): string {
  const { responseText, message } = error as { responseText?: string; message?: string };
  return responseText ?? message ?? String(error);
}
