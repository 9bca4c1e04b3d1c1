import { hostname } from 'node:os';
import type { AddressGuard } from '../../web/address-guard.ts';
import { Dialogue } from './dialogue.ts';
import { type Reply, Wire, replyText } from './wire.ts';

export interface SmtpSettings {
  host: string;
  port: number;
  /** True: TLS from the first byte. False: STARTTLS if the server offers it. */
  secure: boolean;
  /**
   * `required`: the server must offer STARTTLS and have a valid certificate. `never`: STARTTLS is
   * not used. Default: see `secure`.
   */
  startTls?: 'required' | 'never' | undefined;
  /**
   * True if the server must offer a login. Default: mail is sent without a login if the server
   * offers no login.
   */
  loginRequired?: boolean | undefined;
  /** Decides which addresses the host may have. Default: any. */
  guard?: AddressGuard | undefined;
  user?: string | undefined;
  password?: string | undefined;
  /** True: servers that support this (RFC 3461) are asked to report successful deliveries, too. */
  successReports?: boolean | undefined;
  /** True if deliveries are reported in another way. */
  hasDeliveryReports?: boolean | undefined;
  /** False: mail to `simulator.test` is sent like all other mail. Default: true. */
  hasSimulator?: boolean | undefined;
  /** Idle milliseconds after which the server counts as unavailable. Default: 120,000. */
  timeoutMs?: number | undefined;
  /**
   * Maximum number of milliseconds until a session is ready. Default: only each step has a limit.
   */
  sessionMs?: number | undefined;
  /** Maximum number of connections. Default 20. */
  connectionsMax?: number | undefined;
}

/** The steps of opening a session. */
export type SessionStage = 'connect' | 'tls' | 'auth';

/** Thrown when a session could not be opened. The cause is never the message. */
export class SessionError extends Error {
  readonly stage: SessionStage;
  /** The server's last reply; null: the server has not replied. */
  readonly reply: Reply | null;

  constructor(stage: SessionStage, message: string, reply: Reply | null = null) {
    super(message);
    this.stage = stage;
    this.reply = reply;
  }
}

/** A connection that is ready for messages, with the capabilities of the server. */
export interface Session {
  wire: Wire;
  /** True if the server accepts several commands at once (RFC 2920). */
  pipelining: boolean;
  /** True if the server accepts the size of a message in MAIL FROM (RFC 1870). */
  size: boolean;
  /** Maximum number of bytes of a message; 0: unknown. */
  bytesMax: number;
  /** True if the server accepts addresses beyond ASCII (RFC 6531). */
  smtpUtf8: boolean;
  /** The reports that are requested; null: the server does not support requests (RFC 3461). */
  reports: 'failures' | 'all' | null;
  /** True if no report about deliveries will come. */
  isUnreported: boolean;
}

/** Maximum number of milliseconds for a connection with its greeting, and for a TLS handshake. */
const connectMs = 10_000;
/** Maximum number of milliseconds for the replies to EHLO, and for the replies to a login. */
const helloMs = 60_000;

/**
 * Connects, greets, encrypts and logs in.
 * @throws SessionError
 */
export async function openSession(settings: SmtpSettings): Promise<Session> {
  const opening = new Opening(settings);
  try {
    const wire = await opening.connect();
    const extensions = await opening.converse(wire);
    const successReports = settings.successReports === true;
    return {
      wire,
      pipelining: extensions.has('PIPELINING'),
      size: extensions.has('SIZE'),
      bytesMax: Number(extensions.get('SIZE')) || 0,
      smtpUtf8: extensions.has('SMTPUTF8'),
      reports: !extensions.has('DSN') ? null : successReports ? 'all' : 'failures',
      isUnreported: !successReports && settings.hasDeliveryReports !== true,
    };
  } catch (error) {
    throw opening.fail(error);
  }
}

/** A session that is being opened. */
class Opening {
  readonly #settings: SmtpSettings;
  readonly #timeoutMs: number;
  /** When the session must be ready, in milliseconds since 1970. */
  readonly #readyBy: number;
  #stage: SessionStage = 'connect';
  #wire: Wire | null = null;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
    this.#timeoutMs = settings.timeoutMs ?? 120_000;
    this.#readyBy = Date.now() + (settings.sessionMs ?? Infinity);
  }

  /** Closes the connection. Returns the error, with the step that failed. */
  fail(error: unknown): SessionError {
    const text = error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : '';
    const failed =
      error instanceof SessionError
        ? error
        : new SessionError(this.#stage, text || messageOf(error));
    this.#wire?.end(failed);
    return failed;
  }

  async connect(): Promise<Wire> {
    const { host, port, secure, user, startTls, guard } = this.#settings;
    const addresses = guard && (await this.#within(connectMs, guard.findAddresses(host)));
    // Mail servers usually encrypt without checking certificates, and so does Everpost. With a
    // password, or if TLS is required by a setting, the certificate is checked.
    const checkCertificate = secure || Boolean(user) || startTls === 'required';
    const timeoutMs = this.#timeoutMs;
    const wire = new Wire({ host, port, addresses, secure, checkCertificate, timeoutMs });
    this.#wire = wire;
    if (secure) {
      wire.onConnected = () => (this.#stage = 'tls');
      wire.onSecured = () => (this.#stage = 'connect');
    }
    return wire;
  }

  /** Greets, encrypts and logs in. Returns the extensions of the server. */
  async converse(wire: Wire): Promise<ReadonlyMap<string, string>> {
    const { secure, startTls, user, password, loginRequired } = this.#settings;
    const dialogue = new Dialogue(wire);
    const greeting = await this.#within(connectMs, dialogue.listen());
    if (greeting.code !== 220) throw refusal('connect', 'the connection', greeting);
    let extensions = await this.#within(helloMs, sayHello(dialogue));
    if (!secure && startTls !== 'never') {
      this.#stage = 'tls';
      if (extensions.has('STARTTLS')) extensions = await this.#encrypt(dialogue);
      else if (startTls) throw new Error('The server does not offer encryption (STARTTLS).');
    }
    if (user) {
      this.#stage = 'auth';
      if (extensions.has('AUTH')) {
        await this.#within(helloMs, logIn(dialogue, extensions, user, password ?? ''));
      } else if (loginRequired) throw new Error('The server does not offer a login (AUTH).');
    }
    dialogue.close();
    return extensions;
  }

  async #encrypt(dialogue: Dialogue): Promise<Map<string, string>> {
    const answer = await this.#within(helloMs, dialogue.ask('STARTTLS'));
    if (answer.code !== 220) throw refusal('tls', 'to encrypt', answer);
    await this.#within(connectMs, dialogue.encrypt());
    // Greet again after TLS, because an attacker may have forged the earlier replies.
    return this.#within(helloMs, sayHello(dialogue));
  }

  /** Waits for a step. Both the step and the whole session have a time limit. */
  async #within<T>(ms: number, step: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const waitMs = Math.min(ms, this.#timeoutMs, this.#readyBy - Date.now());
      timer = setTimeout(() => reject(new Error(lateText)), Math.max(0, waitMs));
    });
    try {
      return await Promise.race([step, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const lateText = 'The mail server did not answer in time.';

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Greets a server. Returns its extensions with their parameters. */
async function sayHello(dialogue: Dialogue): Promise<Map<string, string>> {
  const name = ownName();
  const answer = await dialogue.ask(`EHLO ${name}`);
  if (isPositive(answer)) {
    return new Map(answer.lines.slice(1).map(readExtension));
  }
  if (answer.code === 421) throw refusal('connect', 'the connection', answer);
  const second = await dialogue.ask(`HELO ${name}`);
  if (!isPositive(second)) throw refusal('connect', 'the connection', second);
  // The reply to HELO lists no extensions. If the operator has set a user, a login is tried.
  return new Map([['AUTH', 'PLAIN']]);
}

/** Parses a line such as `250-SIZE 1000`. Some old servers write `250-AUTH=LOGIN`. */
function readExtension(line: string): [name: string, parameters: string] {
  const text = line.slice(4).toUpperCase();
  const end = text.search(/[ =]/);
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}

/**
 * Returns the name with which Everpost greets a server. A host without a name may use its address
 * (RFC 5321, 4.1.4).
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
  if (!isPositive(answer)) throw refusal('auth', 'the login', answer);
}

export function isPositive({ code }: Reply): boolean {
  return code >= 200 && code < 300;
}

function refusal(stage: SessionStage, what: string, reply: Reply): SessionError {
  return new SessionError(stage, `The server refused ${what}: ${replyText(reply)}`, reply);
}
