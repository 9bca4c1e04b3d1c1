import type { LookupAddress } from 'node:dns';
import { type Socket, connect, isIP, type LookupFunction } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

export interface Reply {
  /** The reply code, from 200 to 599. */
  code: number;
  /** The lines of the reply, with their codes. A multiline reply has more than one. */
  lines: string[];
}

export interface WireSettings {
  host: string;
  port: number;
  /** The addresses of the host. Absent: they are looked up. */
  addresses?: LookupAddress[] | undefined;
  /** True: TLS from the first byte. */
  secure: boolean;
  /** True if the server's certificate must be valid. */
  checkCertificate: boolean;
  /** Idle milliseconds after which the server counts as unavailable. */
  timeoutMs: number;
}

/**
 * Maximum number of characters of a reply. Without a maximum, an endless reply would fill the
 * memory. A line has at most 512 characters (RFC 5321, 4.5.3.1.5), and the longest reply lists
 * extensions.
 */
const replyCharsMax = 32 * 1024;
/**
 * Idle milliseconds after which keep-alive packets are sent, so that routers keep the address
 * translation of the connection.
 */
const keepAliveMs = 30_000;
/**
 * Milliseconds until the next address of the host is tried. Node's default, 250, is too short for a
 * distant server.
 */
const addressTimeoutMs = 2_000;
/** Milliseconds that a server may take to close the connection after QUIT. */
const closeMs = 1_000;

/** A connection to a mail server: it writes bytes and reads replies. */
export class Wire {
  onReply: (reply: Reply) => void = () => {};
  /** Called once when the connection ends, unless `quit` ended it. */
  onEnd: (error: Error) => void = () => {};
  /** Called when the connection is open, before any TLS handshake. */
  onConnected: () => void = () => {};
  /** Called after the TLS handshake, if `secure` is set. */
  onSecured: () => void = () => {};
  readonly #settings: WireSettings;
  #socket: Socket;
  #isEnded = false;
  /** The incomplete last line. `#lines` has the complete lines of an incomplete reply. */
  #rest = '';
  #lines: string[] = [];
  #chars = 0;

  constructor(settings: WireSettings) {
    const { host, port, secure, addresses } = settings;
    this.#settings = settings;
    const lookup: LookupFunction = (_name, _options, done) => done(null, addresses ?? []);
    const address = {
      ...(addresses && { lookup }),
      host,
      port,
      autoSelectFamilyAttemptTimeout: addressTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
      noDelay: true,
    };
    this.#socket = secure ? connectTls({ ...address, ...this.#tlsOptions() }) : connect(address);
    this.#socket.once('connect', () => this.onConnected());
    this.#socket.once('secureConnect', () => this.onSecured());
    this.#listen();
  }

  /** The version of TLS, such as `TLSv1.3`; null: the connection is not encrypted. */
  get tlsProtocol(): string | null {
    return this.#socket instanceof TLSSocket ? this.#socket.getProtocol() : null;
  }

  /** Switches to TLS after the server has agreed. `done` is called after the handshake. */
  secure(done: () => void): void {
    // Plain text that came before TLS may have been sent by an attacker (RFC 3207, 6).
    if (this.#rest !== '' || this.#lines.length > 0) {
      this.end(new Error('The server sent unexpected data after its reply to STARTTLS.'));
      return;
    }
    const plain = this.#socket;
    plain.off('data', this.#onData).off('end', this.#onClosed).setTimeout(0);
    this.#socket = connectTls({ socket: plain, host: this.#settings.host, ...this.#tlsOptions() });
    this.#listen();
    this.#socket.once('secureConnect', done);
  }

  /**
   * Writes two texts in one packet if possible. Returns false if the caller should wait for
   * `onceDrained`.
   */
  write(first: Buffer | string, second = ''): boolean {
    const socket = this.#socket;
    if (second === '') return socket.write(first);
    socket.cork();
    socket.write(first);
    const goesOn = socket.write(second);
    socket.uncork();
    return goesOn;
  }

  onceDrained(go: () => void): void {
    this.#socket.once('drain', go);
  }

  /** Closes the connection at once. Calls `onEnd` unless the connection has ended before. */
  end(error: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#socket.destroy();
    this.onEnd(error);
  }

  /**
   * Closes the connection with QUIT. Resolves when the server has closed it, or after `closeMs`.
   */
  quit(): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    this.#isEnded = true;
    const socket = this.#socket;
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(), closeMs).unref();
      socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      socket.end('QUIT\r\n');
    });
  }

  #tlsOptions() {
    const { host, checkCertificate } = this.#settings;
    return {
      rejectUnauthorized: checkCertificate,
      // The server name in TLS must not be an IP address (RFC 6066, 3).
      ...(isIP(host) === 0 && { servername: host }),
    };
  }

  readonly #onData = (chunk: Buffer) => this.#read(chunk);
  readonly #onClosed = () => this.end(new Error('The server closed the connection.'));

  #listen(): void {
    this.#socket
      .on('data', this.#onData)
      .on('end', this.#onClosed)
      .on('close', this.#onClosed)
      .on('error', (error) => this.end(error))
      .on('timeout', () => this.end(new Error('The mail server did not answer in time.')))
      .setTimeout(this.#settings.timeoutMs);
  }

  #read(chunk: Buffer): void {
    if (this.#isEnded) return;
    this.#chars += chunk.length;
    // Chunks are only concatenated until a line ends. If a long line arrives byte by byte,
    // searching the whole line at each chunk would be slow.
    this.#rest += chunk.toString('latin1');
    if (this.#chars > replyCharsMax) this.end(new Error('The reply of the server is too long.'));
    else if (chunk.includes(lineFeed)) this.#readLines();
  }

  #readLines(): void {
    const text = this.#rest;
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#readLine(text.slice(start, text[end - 1] === '\r' ? end - 1 : end));
      start = end + 1;
      if (this.#isEnded) return;
    }
    this.#rest = text.slice(start);
  }

  #readLine(line: string): void {
    const [, code, mark] = /^([2-5]\d\d)(?:$|([ -]))/.exec(line) ?? [];
    if (code === undefined) {
      // Some servers send empty lines between replies.
      if (line.trim() === '' && this.#lines.length === 0) return;
      this.end(new Error(`The server does not speak SMTP: ${line.slice(0, 200)}`));
      return;
    }
    this.#lines.push(line);
    if (mark === '-') return;
    const lines = this.#lines;
    this.#lines = [];
    this.#chars = 0;
    this.onReply({ code: Number(code), lines });
  }
}

const lineFeed = 0x0a;

/**
 * Returns a reply on one line. The reply is read as UTF-8 if it is valid UTF-8, otherwise as
 * Latin-1.
 */
export function replyText({ lines }: Reply): string {
  const text = lines.join(' ');
  if (!/[\x80-\xff]/.test(text)) return text;
  const decoded = Buffer.from(text, 'latin1').toString();
  return decoded.includes('\ufffd') ? text : decoded;
}
