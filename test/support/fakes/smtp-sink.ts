import { createServer, type AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { atEnd, listen, use } from '../use.ts';
import type { Certificate } from './certificate.ts';

export interface SunkMessage {
  from: string;
  to: string;
  raw: Buffer;
  /**
   * The reports that the client has requested (RFC 3461), for the message and for the recipient.
   */
  dsn: unknown;
}

export interface SmtpSink {
  port: number;
  messages: SunkMessage[];
  /** Recipients of messages whose first byte has arrived, with the time in milliseconds. */
  begun: { to: string; at: number }[];
  /** Connections opened so far. */
  connections: number;
  /**
   * Number of messages accepted for a recipient. More than 1 means that a message was sent twice.
   */
  countTo(address: string): number;
}

/**
 * Starts an SMTP server that keeps the messages it receives. `refuseTo` returns an SMTP code for a
 * recipient (450, 550, …) or null. With `user`, the server requires this user with the password
 * `secret`; with `startTls`, it offers encryption with an untrusted certificate.
 */
export async function useSmtpSink(
  options: {
    refuseTo?: (address: string) => number | null;
    user?: string;
    maxBytes?: number;
    startTls?: boolean;
    /** The certificate of the server; absent: an untrusted one. */
    certificate?: Certificate;
    /** True: the server supports requests for reports (RFC 3461). */
    dsn?: boolean;
    /** Milliseconds until the reply to a message. */
    replyMs?: number;
  } = {},
): Promise<SmtpSink> {
  const messages: SunkMessage[] = [];
  const server = new SMTPServer({
    authOptional: options.user === undefined,
    allowInsecureAuth: true,
    hideDSN: !options.dsn,
    disabledCommands: options.startTls ? [] : ['STARTTLS'],
    ...(options.certificate && {
      cert: options.certificate.pem,
      key: options.certificate.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }),
    ...(options.maxBytes ? { size: options.maxBytes } : {}),
    onConnect(_session, done) {
      sink.connections += 1;
      done();
    },
    onAuth(auth, _session, done) {
      if (auth.username === options.user && auth.password === 'secret') {
        return done(null, { user: auth.username });
      }
      return done(smtpError(535, 'Wrong user or password'));
    },
    onRcptTo({ address }, _session, done) {
      const code = options.refuseTo?.(address);
      done(code ? smtpError(code, `No mail for ${address}`) : null);
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      const [{ address: to } = { address: '' }] = envelope.rcptTo;
      stream.once('data', () => sink.begun.push({ to, at: Date.now() }));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const raw = Buffer.concat(chunks);
        for (const { address, dsn } of envelope.rcptTo) {
          messages.push({ from, to: address, raw, dsn: { ...envelope.dsn, ...dsn } });
        }
        setTimeout(done, options.replyMs ?? 0);
      });
    },
  });
  // A killed client resets its connection.
  server.on('error', () => {});
  const sink: SmtpSink = {
    port: await listening(server),
    messages,
    begun: [],
    connections: 0,
    countTo: (address) => messages.filter(({ to }) => to === address).length,
  };
  atEnd(() => new Promise<void>((resolve) => server.close(resolve)));
  return sink;
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

async function listening(server: SMTPServer): Promise<number> {
  const tcp = server.listen(0, '127.0.0.1');
  await new Promise((resolve) => tcp.once('listening', resolve));
  return (tcp.address() as AddressInfo).port;
}

/** A stage of an SMTP dialogue; `middle`: during the message data. */
export type SmtpStage = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'middle' | 'end';
/** A reply line, or the behaviour of a server that fails. */
export type SmtpAct = 'close' | 'reset' | 'silence' | `${number} ${string}`;

export interface ScriptedSmtp {
  port: number;
  /** Number of messages that arrived up to the final dot. */
  complete: number;
  /** Commands received. */
  commands: string[];
  close(): Promise<void>;
}

const usualAnswers: Record<Exclude<SmtpStage, 'middle'>, string> = {
  greeting: '220 test',
  EHLO: '250 test',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  end: '250 queued',
};
const dataEnd = '\r\n.\r\n';

/** Starts a TCP server that speaks SMTP as usual, except at the stages of `script`. */
export async function useScriptedSmtp(
  script: Partial<Record<SmtpStage, SmtpAct>>,
  { pipelining = false } = {},
): Promise<ScriptedSmtp> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    let pending = '';
    let inData = false;
    let silent = false;
    let refused = false;
    const act = (stage: SmtpStage) => {
      const usual = stage === 'middle' ? '' : usualAnswers[stage];
      // A client that sends all commands at once also sends DATA after a refusal.
      const what = stage === 'DATA' && refused ? '503 no recipient' : (script[stage] ?? usual);
      silent ||= what === 'silence';
      if (what === 'close') socket.end();
      else if (what === 'reset') socket.resetAndDestroy();
      else if (!silent && what !== '') {
        const extended = stage === 'EHLO' && pipelining && what === usual;
        socket.write(extended ? '250-test\r\n250 PIPELINING\r\n' : `${what}\r\n`);
      }
      if (stage === 'MAIL') refused = false;
      refused ||= (stage === 'MAIL' || stage === 'RCPT') && /^[45]/.test(what);
      inData = stage === 'DATA' && what.startsWith('354');
    };
    const readData = () => {
      const end = pending.indexOf(dataEnd);
      if (end < 0) {
        // A client cannot finish a large message if the server stops reading.
        if (script.middle) {
          socket.pause();
          act('middle');
        }
        return false;
      }
      running.complete += 1;
      pending = pending.slice(end + dataEnd.length);
      act('end');
      return true;
    };
    const readCommand = () => {
      const end = pending.indexOf('\r\n');
      if (end < 0) return false;
      const verb = pending.slice(0, 4);
      running.commands.push(pending.slice(0, end));
      pending = pending.slice(end + 2);
      if (verb === 'EHLO' || verb === 'MAIL' || verb === 'RCPT' || verb === 'DATA') act(verb);
      else socket.write(verb === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
      return true;
    };
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      while (pending !== '' && (inData ? readData() : readCommand()));
    });
    act('greeting');
  });
  const running: ScriptedSmtp = {
    ...use(await listen(server)),
    complete: 0,
    commands: [],
  };
  return running;
}
