import { createServer } from 'node:net';
import { listen, use } from '../use.ts';

/** An SMTP server that counts accepted messages, and can be made to fail. */
export interface CountingSink {
  port: number;
  /** Messages per recipient: the number that must never be 2. */
  counts: Map<string, number>;
  /** Accepted messages per email id. */
  emails: Map<string, number>;
  /** Messages taken so far. */
  taken: number;
  faults: SinkFaults;
}

export interface SinkFaults {
  /** Breaks the connection instead of replying, after every so many messages. */
  dropEvery?: number;
  /** Returns true for recipients that it delays with 450. */
  putsOff?: (address: string) => boolean;
  /** Returns true for recipients that it refuses with 550. */
  refuses?: (address: string) => boolean;
  /** Milliseconds from the end of a message to its reply. */
  slowMs?: number;
  /** Closes each connection at once. */
  isAway?: boolean;
}

const emailIdLine = /^X-Everpost-Email: (\S+)/m;
const dataEnd = '\r\n.\r\n';

export async function useCountingSink(): Promise<CountingSink> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
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
      sink.counts.set(to, (sink.counts.get(to) ?? 0) + 1);
      if (id) sink.emails.set(id, (sink.emails.get(id) ?? 0) + 1);
      sink.taken += 1;
      const { dropEvery, slowMs = 0 } = sink.faults;
      if (dropEvery && sink.taken % dropEvery === 0) socket.destroy();
      else if (slowMs > 0) setTimeout(() => socket.write('250 queued\r\n'), slowMs);
      else socket.write('250 queued\r\n');
      return true;
    };
    const readCommand = (): boolean => {
      const end = pending.indexOf('\r\n');
      if (end < 0) return false;
      const line = pending.slice(0, end);
      pending = pending.slice(end + 2);
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'DATA') {
        inData = true;
        socket.write('354 go on\r\n');
      } else if (verb === 'RCPT') {
        to = /<([^>]*)>/.exec(line)?.[1] ?? '';
        socket.write(answerTo(to));
      } else {
        socket.write(verb === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
      }
      return true;
    };
    const answerTo = (address: string) => {
      if (sink.faults.refuses?.(address)) return '550 never\r\n';
      return sink.faults.putsOff?.(address) ? '450 later\r\n' : '250 ok\r\n';
    };
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      while (pending !== '' && (inData ? readData() : readCommand()));
    });
    socket.write('220 sink\r\n');
  });
  const { port } = use(await listen(server));
  const sink: CountingSink = {
    port,
    counts: new Map(),
    emails: new Map(),
    taken: 0,
    faults: {},
  };
  return sink;
}
