import { readFileSync } from 'node:fs';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import { normaliseEmail } from '../domain/email-address.ts';
import { limits } from '../domain/limits.ts';
import { listen } from './listening.ts';
import { readBytesMax } from './mail/arrived-message.ts';

/** A small SMTP server that only receives reports and mail. */

export interface ReceiverSettings {
  port: number;
  host: string;
  /** The files with the certificate and the key; null: connections are not encrypted. */
  tls: { cert: string; key: string } | null;
}

export interface ReceiverHandler {
  /**
   * Returns true if mail to an address is accepted.
   * @param address in its stored form
   * @throws when this cannot be decided now; then the sender tries again
   */
  takes(address: string): Promise<boolean>;
  /**
   * Processes a message. Resolves after its effects are committed.
   * @param message.raw the first `readBytesMax` bytes
   * @param message.sender the envelope sender; '': a program sent the message
   * @throws when the sender should try again
   */
  take(message: { raw: Buffer; recipients: string[]; sender: string }): Promise<void>;
  /** Called with each error of `takes` or `take`. */
  onError(error: unknown): void;
}

/** Maximum number of recipients of a message. */
const recipientsMax = 100;
/**
 * Maximum number of connections from one address, and in all. Each connection needs memory for
 * `readBytesMax` bytes at most.
 */
const addressConnectionsMax = 20;
const connectionsMax = 200;
/** Idle milliseconds after which a connection is closed. */
const idleMs = 60_000;

/**
 * Starts the server. Resolves with a function that stops it.
 * @throws Error with a sentence for the operator when a file or the port cannot be used
 */
export async function startReceiver(
  { port, host, tls }: ReceiverSettings,
  handler: ReceiverHandler,
): Promise<{ port: number; close(): Promise<void> }> {
  const open = new Map<string, string>();
  /**
   * Answers a command: positively, with the refusal that `work` throws, or with 451 after any other
   * error.
   */
  async function answer(callback: (error?: Error | null) => void, work: () => Promise<void>) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) handler.onError(error);
      callback(error instanceof Refusal ? error : new Refusal(451, 'Try again later'));
      return;
    }
    callback();
  }
  const server = new SMTPServer({
    ...(tls && { cert: readFileSync(tls.cert), key: readFileSync(tls.key) }),
    // No login is needed, because no mail is relayed.
    authOptional: true,
    disabledCommands: tls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: limits.incomingBytes,
    rejectOversized: true,
    maxClients: connectionsMax,
    socketTimeout: idleMs,
    logger: false,
    onConnect({ id, remoteAddress }, callback) {
      const others = [...open.values()].filter((address) => address === remoteAddress);
      if (others.length >= addressConnectionsMax) {
        callback(new Refusal(421, 'Too many connections'));
        return;
      }
      open.set(id, remoteAddress);
      callback();
    },
    onClose: ({ id }) => void open.delete(id),
    onRcptTo({ address: given }, { envelope }, callback) {
      void answer(callback, async () => {
        if (envelope.rcptTo.length >= recipientsMax) throw new Refusal(452, 'Too many recipients');
        const address = normaliseEmail(given);
        const isTaken = address !== null && (await handler.takes(address));
        if (!isTaken) throw new Refusal(550, 'No such address here');
      });
    },
    onData(stream, { envelope }, callback) {
      void answer(callback, async () => {
        const sender = envelope.mailFrom ? envelope.mailFrom.address : '';
        const recipients = envelope.rcptTo.flatMap(({ address }) => normaliseEmail(address) ?? []);
        const raw = await readBeginning(stream);
        // If the message is too large, the library answers 552.
        if (!stream.sizeExceeded) await handler.take({ raw, recipients, sender });
      });
    },
  });
  // A client that resets its connection is no error of this server.
  server.on('error', () => {});
  const at = { name: 'INBOUND_SMTP_PORT', port, host, hostSetting: 'INBOUND_SMTP_HOST' };
  await listen(server.server, at);
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Reads a message to its end. Returns only its beginning. */
async function readBeginning(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes < readBytesMax) chunks.push(chunk);
    bytes += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, readBytesMax);
}

/** Thrown to answer a command with this code and text. */
class Refusal extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}
