import { hostname } from 'node:os';
import { type Reply, Wire, replyText } from './wire.ts';

export interface SmtpSettings {
  host: string;
  port: number;
  /** TLS from the first byte. Otherwise STARTTLS is used when the server offers it. */
  secure: boolean;
  user?: string | undefined;
  password?: string | undefined;
  /** Asks servers that support it (RFC 3461) to report deliveries, too. */
  successReports?: boolean | undefined;
  /** False: mail to `simulator.test` is sent like any other. Default true. */
  hasSimulator?: boolean | undefined;
  /** Idle time after which the server counts as unavailable, in ms. Default 120,000. */
  timeoutMs?: number | undefined;
}

/** A connection that is ready for messages, and what its server can do. */
export interface Session {
  wire: Wire;
  /** The server accepts several commands at once (RFC 2920). */
  pipelining: boolean;
  /** The server wants the size of a message in MAIL FROM (RFC 1870). */
  size: boolean;
  /** The largest message that the server accepts, in bytes; 0: unknown. */
  bytesMax: number;
  /** The server accepts addresses beyond ASCII (RFC 6531). */
  smtpUtf8: boolean;
  /** The reports to ask for; null: the server cannot be asked (RFC 3461). */
  reports: 'failures' | 'all' | null;
  /** True if nothing will report deliveries. */
  isUnreported: boolean;
}

/**
 * The longest wait for a connection with its greeting, and for a TLS handshake, in milliseconds.
 */
const connectMs = 10_000;
/** The longest wait for the replies to EHLO, and for those to a login, in milliseconds. */
const helloMs = 60_000;

/**
 * Connects, greets, encrypts and logs in.
 * @throws Error when a part of it fails. Such errors are never about a message.
 */
export async function openSession(settings: SmtpSettings): Promise<Session> {
  const { host, port, secure, user, timeoutMs = 120_000 } = settings;
  // Mail servers encrypt among themselves without checking certificates, and so do we. With a
  // password, or when the operator asked for TLS, the certificate is checked.
  const checkCertificate = secure || Boolean(user);
  const wire = new Wire({ host, port, secure, checkCertificate, timeoutMs });
  const within = <T>(ms: number, work: Promise<T>): Promise<T> => {
    const end = () => wire.end(new Error('The mail server did not answer in time.'));
    const timer = setTimeout(end, Math.min(ms, timeoutMs));
    return work.finally(() => clearTimeout(timer));
  };
  try {
    const dialogue = new Dialogue(wire);
    const greeting = await within(connectMs, dialogue.listen());
    if (greeting.code !== 220) throw refusal('the connection', greeting);
    let extensions = await within(helloMs, sayHello(dialogue));
    if (!secure && extensions.has('STARTTLS')) {
      const answer = await within(helloMs, dialogue.ask('STARTTLS'));
      if (answer.code !== 220) throw refusal('to encrypt', answer);
      await within(connectMs, dialogue.encrypt());
      // Greet again: an attacker may have forged the replies before TLS.
      extensions = await within(helloMs, sayHello(dialogue));
    }
    if (user && extensions.has('AUTH')) {
      await within(helloMs, logIn(dialogue, extensions, user, settings.password ?? ''));
    }
    dialogue.close();
    return {
      wire,
      pipelining: extensions.has('PIPELINING'),
      size: extensions.has('SIZE'),
      bytesMax: Number(extensions.get('SIZE')) || 0,
      smtpUtf8: extensions.has('SMTPUTF8'),
      reports: !extensions.has('DSN') ? null : settings.successReports ? 'all' : 'failures',
      isUnreported: !settings.successReports,
    };
  } catch (error) {
    wire.end(error as Error);
    throw error;
  }
}

/** Sends one command at a time and waits for its reply. */
class Dialogue {
  readonly #wire: Wire;
  #waiting: { resolve: (reply?: Reply) => void; reject: (error: Error) => void } | null = null;
  #error: Error | null = null;

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.onReply = (reply) => {
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting) waiting.resolve(reply);
      else wire.end(new Error(`Unexpected reply of the server: ${replyText(reply)}`));
    };
    wire.onEnd = (error) => {
      this.#error = error;
      this.#waiting?.reject(error);
    };
  }

  listen(): Promise<Reply> {
    return this.#wait(() => {}) as Promise<Reply>;
  }

  ask(command: string): Promise<Reply> {
    return this.#wait(() => this.#wire.write(`${command}\r\n`)) as Promise<Reply>;
  }

  async encrypt(): Promise<void> {
    await this.#wait((done) => this.#wire.secure(done));
  }

  /** @throws Error when the connection has ended meanwhile. */
  close(): void {
    if (this.#error) throw this.#error;
  }

  #wait(begin: (done: () => void) => void): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#error) return reject(this.#error);
      this.#waiting = { resolve, reject };
      begin(() => {
        this.#waiting = null;
        resolve(undefined);
      });
    });
  }
}

/** Returns the extensions of a server, with their parameters. */
async function sayHello(dialogue: Dialogue): Promise<Map<string, string>> {
  const name = ownName();
  const answer = await dialogue.ask(`EHLO ${name}`);
  if (isPositive(answer)) {
    return new Map(answer.lines.slice(1).map(readExtension));
  }
  if (answer.code === 421) throw refusal('the connection', answer);
  const second = await dialogue.ask(`HELO ${name}`);
  if (!isPositive(second)) throw refusal('the connection', second);
  // HELO lists no extensions. The login is tried if the operator has set a user.
  return new Map([['AUTH', 'PLAIN']]);
}

/** Reads a line such as `250-SIZE 1000`. Some old servers write `250-AUTH=LOGIN`. */
function readExtension(line: string): [name: string, parameters: string] {
  const text = line.slice(4).toUpperCase();
  const end = text.search(/[ =]/);
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}

/**
 * The name that we greet with. The address literal is allowed for a host without a name (RFC 5321,
 * 4.1.4).
 */
function ownName(): string {
  const name = hostname();
  return /^[\w-]+(\.[\w-]+)*\.[a-z][\w-]*$/i.test(name) ? name : '[127.0.0.1]';
}

async function logIn(
  dialogue: Dialogue,
  extensions: ReadonlyMap<string, string>,
  user: string,
  password: string,
): Promise<void> {
  const ways = (extensions.get('AUTH') ?? '').split(/[ =]+/);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  let answer: Reply;
  if (ways.includes('LOGIN') && !ways.includes('PLAIN')) {
    answer = await dialogue.ask('AUTH LOGIN');
    if (answer.code === 334) answer = await dialogue.ask(base64(user));
    if (answer.code === 334) answer = await dialogue.ask(base64(password));
  } else {
    answer = await dialogue.ask(`AUTH PLAIN ${base64(`\0${user}\0${password}`)}`);
  }
  if (!isPositive(answer)) throw refusal('the login', answer);
}

export function isPositive({ code }: Reply): boolean {
  return code >= 200 && code < 300;
}

function refusal(what: string, reply: Reply): Error {
  return new Error(`The server refused ${what}: ${replyText(reply)}`);
}
