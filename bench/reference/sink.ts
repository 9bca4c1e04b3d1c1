import { createServer } from 'node:net';

/**
 * A minimal mail server, in its own process, on PORT. Answers the message `count` with the number
 * of mails. After the message `record`, the server records each arrival, until `arrivals` asks for
 * them.
 */

export interface Arrival {
  /** Time at which the end of the message was read, in milliseconds since 1970. */
  at: number;
  /** The address of the recipient. */
  to: string;
}

const dataEnd = Buffer.from('\r\n.\r\n');
let messages = 0;
let bytes = 0;
let arrivals: Arrival[] | null = null;

const server = createServer({ noDelay: true }, (socket) => {
  let inData = false;
  let to = '';
  let tail = Buffer.alloc(0);
  const readData = (chunk: Buffer): Buffer | null => {
    const seen = Buffer.concat([tail, chunk]);
    const end = seen.indexOf(dataEnd);
    bytes += chunk.length;
    if (end < 0) {
      tail = Buffer.from(seen.subarray(Math.max(0, seen.length - dataEnd.length + 1)));
      return null;
    }
    tail = Buffer.alloc(0);
    inData = false;
    messages += 1;
    arrivals?.push({ at: Date.now(), to });
    socket.write('250 ok\r\n');
    return seen.subarray(end + dataEnd.length);
  };
  let pending = '';
  const readCommands = (chunk: Buffer): Buffer | null => {
    pending += chunk.toString('latin1');
    for (;;) {
      const end = pending.indexOf('\r\n');
      if (end < 0) return null;
      const verb = pending.slice(0, 4).toUpperCase();
      if (arrivals && verb === 'RCPT') to = pending.slice('RCPT TO:<'.length, end - 1);
      pending = pending.slice(end + 2);
      if (verb === 'DATA') {
        socket.write('354 go on\r\n');
        inData = true;
        const rest = Buffer.from(pending, 'latin1');
        pending = '';
        return rest.length > 0 ? rest : null;
      }
      socket.write(
        verb === 'EHLO'
          ? '250-sink\r\n250 PIPELINING\r\n'
          : verb === 'QUIT'
            ? '221 bye\r\n'
            : '250 ok\r\n',
      );
    }
  };
  socket.on('data', (chunk: Buffer) => {
    let rest: Buffer | null = chunk;
    while (rest && rest.length > 0) rest = inData ? readData(rest) : readCommands(rest);
  });
  socket.on('error', () => undefined);
  socket.write('220 sink\r\n');
});

process.on('message', (message) => {
  if (message === 'count') process.send?.({ messages, bytes });
  if (message === 'record') arrivals = [];
  if (message === 'arrivals') {
    process.send?.(arrivals ?? []);
    arrivals = null;
  }
});
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
server.listen(Number(process.env['PORT']), '127.0.0.1', () => process.send?.({ ready: true }));
