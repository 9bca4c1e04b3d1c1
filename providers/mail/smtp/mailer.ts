import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import { type Delivery, SmtpConnection } from './connection.ts';
import { envelopeFault } from './message.ts';
import { type SmtpSettings, openSession } from './session.ts';

export type { SmtpSettings };

/**
 * Default maximum number of connections. Over a long distance, one connection gets at most ten
 * replies a second, so many connections are needed.
 */
const connectionsDefault = 20;
/**
 * Maximum number of connections to a server that replies fast. More connections would not send
 * faster, and each of them may have a message whose outcome is unknown if the process is killed.
 */
const nearConnectionsMax = 8;
/** A server is fast if the fastest of its last replies took fewer milliseconds than this. */
const nearMs = 10;
/** Number of last replies that are compared. */
const answersMax = 16;
/**
 * Maximum number of milliseconds that a message waits behind other messages. The time is short,
 * because the lease of the message continues.
 */
const waitMs = 30_000;
/**
 * Milliseconds without new connections after the server has refused one, if other connections are
 * open.
 */
const refusedMs = 10_000;

/**
 * Creates a mailer that sends to one SMTP server over a pool of connections. Everpost has its own
 * SMTP client, because each outcome must say if the server has accepted the message, has refused
 * it, or may have accepted it.
 */
export function smtpMailer(settings: SmtpSettings): Mailer {
  const pool = new SmtpPool(settings);
  return {
    provider: `smtp ${settings.host}:${settings.port}`,
    hasSimulator: settings.hasSimulator ?? true,
    defaultRatePerSecond: 200,
    // Twice as many messages as connections, because the commands of the next message already wait
    // while one message is written.
    maxConcurrency: 2 * (settings.connectionsMax ?? connectionsDefault),
    notesBegin: true,
    send: (message) => pool.send(message),
    async quotaPerSecond() {
      return null;
    },
    close: () => pool.close(),
  };
}

/**
 * The connections to one server, and the messages that wait for them. A connection is opened when a
 * message finds no free connection. A connection takes its next message as soon as it can write the
 * commands of that message.
 */
class SmtpPool {
  readonly #settings: SmtpSettings;
  readonly #queue: Delivery[] = [];
  readonly #open = new Set<SmtpConnection>();
  /**
   * Free connections, in the order of their last use. The connection at the end is used next, so
   * connections at the beginning stay unused and close.
   */
  readonly #idle: SmtpConnection[] = [];
  /** Milliseconds that the server took for its last replies to whole messages. */
  readonly #answersMs: number[] = [];
  #opening = 0;
  /** Number of failed attempts to open a connection since the last successful one. */
  #refused = 0;
  /** Earliest time for opening a connection after a failed attempt, in milliseconds since 1970. */
  #openAgainAt = 0;
  #waitTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
  }

  send(message: OutgoingMessage): Promise<SendOutcome> {
    const fault = envelopeFault(message);
    if (fault) return Promise.resolve({ kind: 'refused', ...fault });
    if (this.#isClosed)
      return Promise.resolve({
        kind: 'retry',
        error: 'The worker is stopping: it has closed its connections to the mail server.',
      });
    return new Promise((settle) => {
      const resolve = (outcome: SendOutcome) => {
        // The outcome is noted at once, so that it is written together with the note about the next
        // message.
        message.notes?.end(outcome);
        settle(outcome);
      };
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

  /**
   * Gives waiting messages to free connections, and opens connections for the remaining messages.
   */
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
    const { connectionsMax = connectionsDefault } = this.#settings;
    const max = this.#isFar() ? connectionsMax : Math.min(connectionsMax, nearConnectionsMax);
    if (this.#opening + this.#open.size < max) return true;
    // A message in its second try needs a new connection, although others may be free. To make
    // room, the connection that was unused for longest is closed.
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
        onAnswer: (ms) => this.#onAnswer(ms),
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
   * If the server refuses all connections, each failed attempt to connect fails one waiting
   * message.
   */
  #onRefused(error: unknown): void {
    this.#openAgainAt = Date.now() + refusedMs;
    this.#refused += 1;
    if (this.#open.size + this.#opening === 0) {
      const outcome = { kind: 'retry', error: (error as Error).message } as const;
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

  #onAnswer(ms: number): void {
    this.#answersMs.push(ms);
    if (this.#answersMs.length > answersMax) this.#answersMs.shift();
    if (this.#queue.length > 0 && this.#isFar()) this.#serve();
  }

  #isFar(): boolean {
    return this.#answersMs.length > 0 && Math.min(...this.#answersMs) >= nearMs;
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
      const error = `No connection to the mail server was free within ${waitMs / 1000} seconds.`;
      this.#queue.shift()?.resolve({ kind: 'retry', error });
    }
  }
}
