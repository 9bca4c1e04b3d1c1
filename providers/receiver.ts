import { readFileSync } from 'node:fs';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import { normaliseEmail } from '../domain/email-address.ts';
import { limits } from '../domain/limits.ts';
import { listen } from './listening.ts';
import { readBytesMax } from './mail/arrived-message.ts';

/** A small SMTP server that takes reports and received mail, and nothing else. */

export interface ReceiverSettings {
  port: number;
  host: string;
  /** Files with the certificate and the key; null: connections are not encrypted. */
  tls: { cert: string; key: string } | null;
}

export interface ReceiverHandler {
  /**
   * Returns true if mail to an address is taken.
   * @param address in its stored form
   * @throws when it cannot be decided now: the sender tries again
   */
  takes(address: string): Promise<boolean>;
  /**
   * Takes a message. Resolves after the commit of its effects.
   * @param message.raw its first `readBytesMax` bytes
   * @param message.sender of the envelope; '': a program sent it
   * @throws when it should come again
   */
  take(message: { raw: Buffer; recipients: string[]; sender: string }): Promise<void>;
  /** Called with an error of `takes` or `take`. */
  onError(error: unknown): void;
}

/** Most recipients of a message. */
const recipientsMax = 100;
/** Most connections of one address, and in all. Each holds `readBytesMax` bytes at most. */
const addressConnectionsMax = 20;
const connectionsMax = 200;
/** Milliseconds without a command or data after which a connection is closed. */
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
  /** Answers a command: positively, with the reply that `work` throws, or with 451. */
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
    // There are no accounts, and no mail is relayed.
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
        // The server itself answers 552 then.
        if (!stream.sizeExceeded) await handler.take({ raw, recipients, sender });
      });
    },
  });
  // Clients that reset their connection are not an error of ours.
  server.on('error', () => {});
  const at = { name: 'INBOUND_SMTP_PORT', port, host, hostSetting: 'INBOUND_SMTP_HOST' };
  await listen(server.server, at);
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Reads a message to its end, and returns its beginning. */
async function readBeginning(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes < readBytesMax) chunks.push(chunk);
    bytes += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, readBytesMax);
}

/** A reply with this code and text. */
class Refusal extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}
