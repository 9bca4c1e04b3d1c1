import { createServer, type Socket } from 'node:net';
import { listen, use } from '../use.ts';

/** An SMTP server that counts accepted messages and can be made to fail. */
export interface CountingSink {
  port: number;
  /** Number of accepted messages, by recipient. More than 1 means that a message was sent twice. */
  counts: Map<string, number>;
  /** Number of accepted messages, by email id. */
  emails: Map<string, number>;
  /** Number of accepted messages. */
  taken: number;
  faults: SinkFaults;
  /** Closes all connections, and refuses further ones. */
  stop(): void;
}

export interface SinkFaults {
  /** Each time this many messages have arrived, closes the connection instead of replying. */
  dropEvery?: number;
  /** Returns true for recipients to which the server replies with 450. */
  putsOff?: (address: string) => boolean;
  /** Returns true for recipients to which the server replies with 550. */
  refuses?: (address: string) => boolean;
  /** Milliseconds between the end of a message and the reply. */
  slowMs?: number;
  /** Closes each connection at once. */
  isAway?: boolean;
  /** Accepts all input, and replies to nothing. */
  isSilent?: boolean;
  /** Replies to the next log-in with 535, and closes connections that were logged in. */
  refusesLogin?: boolean;
  /** Replies to each message with 451, before its data. */
  putsOffAll?: boolean;
}

const emailIdLine = /^X-Everpost-Email: (\S+)/m;
const dataEnd = '\r\n.\r\n';
const usual: Record<string, string> = { DATA: '354 go on', QUIT: '221 bye' };

function count(sink: CountingSink, to: string, emailId: string | undefined): void {
  sink.counts.set(to, (sink.counts.get(to) ?? 0) + 1);
  if (emailId) sink.emails.set(emailId, (sink.emails.get(emailId) ?? 0) + 1);
  sink.taken += 1;
}

/**
 * Starts the server.
 * @param total a sink that also counts the messages of this server.
 */
export async function useCountingSink(total?: CountingSink): Promise<CountingSink> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    if (sink.faults.isAway) {
      socket.destroy();
      return;
    }
    let pending = '';
    let inData = false;
    let to = '';
    const readData = (): boolean => {
      const end = pending.indexOf(dataEnd);
      if (end < 0) return false;
      const id = emailIdLine.exec(pending.slice(0, end))?.[1];
      pending = pending.slice(end + dataEnd.length);
      inData = false;
      for (const counter of total ? [sink, total] : [sink]) count(counter, to, id);
      const { dropEvery, slowMs = 0 } = sink.faults;
      if (dropEvery && sink.taken % dropEvery === 0) socket.destroy();
      else if (slowMs > 0) setTimeout(() => reply('250 queued'), slowMs);
      else reply('250 queued');
      return true;
    };
    const readCommand = (): boolean => {
      const end = pending.indexOf('\r\n');
      if (end < 0) return false;
      const line = pending.slice(0, end);
      pending = pending.slice(end + 2);
      const verb = line.slice(0, 4).toUpperCase();
      inData = verb === 'DATA';
      if (verb === 'RCPT') to = /<([^>]*)>/.exec(line)?.[1] ?? '';
      reply(answerTo(verb));
      if (verb === 'MAIL' && sink.faults.refusesLogin) socket.end();
      return true;
    };
    const reply = (line: string) => {
      if (!sink.faults.isSilent) socket.write(`${line}\r\n`);
    };
    const answerTo = (verb: string): string => {
      const { refuses, putsOff, putsOffAll, refusesLogin } = sink.faults;
      if (verb === 'EHLO') return '250-sink\r\n250 AUTH PLAIN';
      if (verb === 'AUTH') return refusesLogin ? '535 5.7.8 frozen' : '235 ok';
      if (verb === 'MAIL' && refusesLogin) return '421 4.7.0 frozen';
      if (verb === 'MAIL' && putsOffAll) return '451 4.3.0 later';
      if (verb === 'RCPT' && refuses?.(to)) return '550 never';
      if (verb === 'RCPT' && putsOff?.(to)) return '450 later';
      return usual[verb] ?? '250 ok';
    };
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      while (pending !== '' && (inData ? readData() : readCommand()));
    });
    reply('220 sink');
  });
  const { port } = use(await listen(server));
  const sink: CountingSink = {
    port,
    counts: new Map(),
    emails: new Map(),
    taken: 0,
    faults: {},
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return sink;
}
