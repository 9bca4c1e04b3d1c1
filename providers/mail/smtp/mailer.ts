import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import { type Delivery, SmtpConnection } from './connection.ts';
import { envelopeFault } from './message.ts';
import { type SmtpSettings, openSession } from './session.ts';

export type { SmtpSettings };

/**
 * Maximum number of connections. A distant server allows each one at most ten replies a second, so
 * there are many; for a near one, four would do as well.
 */
const connectionsMax = 20;
/**
 * The longest wait behind other messages, in milliseconds: part of the lease that the sender has on
 * a message.
 */
const waitMs = 30_000;
/** Milliseconds until we ask a server again that has refused one more connection. */
const refusedMs = 10_000;

/**
 * A mailer that hands messages to one SMTP server over a pool of connections. The client is our own,
 * because an outcome must say whether the server has taken a message, refused it, or may have taken it.
 */
export function smtpMailer(settings: SmtpSettings): Mailer {
  const pool = new SmtpPool(settings);
  return {
    provider: `smtp ${settings.host}:${settings.port}`,
    reportsDelivery: false,
    defaultRatePerSecond: 200,
    // Twice the connections: the next message's commands follow the message that is being written.
    maxConcurrency: 2 * connectionsMax,
    send: (message) => pool.send(message),
    async quotaPerSecond() {
      return null;
    },
    close: () => pool.close(),
  };
}

/**
 * Opens connections when a message finds none free, and keeps the messages that wait. A connection
 * takes the next message itself, as soon as it can write its commands.
 */
class SmtpPool {
  readonly #settings: SmtpSettings;
  readonly #queue: Delivery[] = [];
  readonly #open = new Set<SmtpConnection>();
  /** The last connection was used last. The others grow old and are closed. */
  readonly #idle: SmtpConnection[] = [];
  #opening = 0;
  /** Connections that could not be opened, since the last one that could. */
  #refused = 0;
  /** When to try again if the server accepts one more connection. */
  #openAgainAt = 0;
  #waitTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
  }

  send(message: OutgoingMessage): Promise<SendOutcome> {
    const fault = envelopeFault(message);
    if (fault) return Promise.resolve({ kind: 'refused', ...fault });
    if (this.#isClosed) return Promise.resolve({ kind: 'retry', error: 'The mailer is closed.' });
    return new Promise((resolve) => {
      const startBy = Date.now() + waitMs;
      this.#queue.push({ message, resolve, startBy, isSecondTry: false });
      this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#waitTimer);
    await Promise.all([...this.#open].map((connection) => connection.quit()));
  }

  /** Gives waiting messages to free connections, and opens more for the rest. */
  #serve(): void {
    this.#refuseLate();
    while (this.#queue.length > 0 && this.#idle.at(-1)?.work()) this.#idle.pop();
    const hasSome = this.#open.size + this.#opening > 0;
    const isEnough = hasSome && Date.now() < this.#openAgainAt;
    while (!isEnough && this.#opening < this.#queue.length && this.#hasRoom()) {
      this.#opening += 1;
      void this.#openOne();
    }
    const [first] = this.#queue;
    if (!first || this.#waitTimer) return;
    this.#waitTimer = setTimeout(() => this.#onWaited(), first.startBy - Date.now() + 1);
  }

  #hasRoom(): boolean {
    if (this.#opening + this.#open.size < connectionsMax) return true;
    // No free connection can take the waiting message, so a free one gives way to a new one.
    const idle = this.#idle.shift();
    if (!idle) return false;
    this.#open.delete(idle);
    void idle.quit();
    return true;
  }

  async #openOne(): Promise<void> {
    try {
      const session = await openSession(this.#settings);
      this.#opening -= 1;
      this.#refused = 0;
      const connection = new SmtpConnection(session, {
        take: (isFresh) => this.#take(isFresh),
        putBack: (delivery) => void this.#queue.unshift(delivery),
        onIdle: (free) => void this.#idle.push(free),
        onEnd: (ended) => this.#onEnd(ended),
      });
      if (this.#isClosed) return void connection.quit();
      this.#open.add(connection);
      if (!connection.work()) this.#idle.push(connection);
    } catch (error) {
      this.#opening -= 1;
      this.#onRefused(error);
    }
  }

  /**
   * The server accepts no connection at all: each failed connection attempt fails one waiting
   * message.
   */
  #onRefused(error: unknown): void {
    this.#openAgainAt = Date.now() + refusedMs;
    this.#refused += 1;
    if (this.#open.size + this.#opening === 0) {
      const outcome = { kind: 'retry', error: errorText(error) } as const;
      for (const { resolve } of this.#queue.splice(0, this.#refused)) resolve(outcome);
      this.#refused = 0;
    }
    this.#serve();
  }

  #take(isFresh: boolean): Delivery | undefined {
    this.#refuseLate();
    const at = isFresh ? 0 : this.#queue.findIndex(({ isSecondTry }) => !isSecondTry);
    return at < 0 ? undefined : this.#queue.splice(at, 1)[0];
  }

  #onEnd(connection: SmtpConnection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#serve();
  }

  #onWaited(): void {
    this.#waitTimer = undefined;
    this.#serve();
  }

  #refuseLate(): void {
    const now = Date.now();
    while (this.#queue[0] && this.#queue[0].startBy < now) {
      this.#queue
        .shift()
        ?.resolve({ kind: 'retry', error: 'The server accepts no more messages for now.' });
    }
  }
}

/** Returns the text of an error. With several addresses, each has its own error. */
function errorText(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(errorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
