import { createServer, type Socket } from 'node:net';
import { listen, use } from '../use.ts';

/** An SMTP server for which the test determines each reply. */
export interface SmtpPeer {
  port: number;
  /** Number of connections that were opened. */
  connections: number;
  /** Packets received, in order. */
  packets: string[];
  /** Commands that got a reply, except EHLO; `.` is the end of a message. */
  commands: string[];
  /** Recipients of accepted messages, in order. */
  accepted: string[];
  /** The messages as received, with dots still doubled. */
  messages: string[];
}

/**
 * Reply lines; `close` or `reset`: the connection is closed or reset; undefined: the usual reply.
 */
export type PeerAnswer = string | undefined;

/**
 * Returns the reply to a command.
 * @param at.connection number of the connection, from 1
 * @param at.nth number of the command among those with its verb on the connection, from 1
 */
export type AnswerTo = (
  command: string,
  at: { connection: number; nth: number; socket: Socket },
) => PeerAnswer;

const usual: Record<string, string> = {
  greeting: '220 peer',
  EHLO: '250-peer\r\n250 PIPELINING',
  DATA: '354 go on',
  '.': '250 queued',
  QUIT: '221 bye',
};

/**
 * Starts the server. It replies to one command after the other, even if several arrive together.
 */
export async function useSmtpPeer(answerTo: AnswerTo = () => undefined): Promise<SmtpPeer> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    peer.connections += 1;
    const connection = peer.connections;
    const counts = new Map<string, number>();
    let pending = '';
    let inData = false;
    let to = '';
    const answer = (command: string): string => {
      const verb = command.slice(0, 4).trim().toUpperCase();
      const nth = (counts.get(verb) ?? 0) + 1;
      counts.set(verb, nth);
      const said = answerTo(command, { connection, nth, socket });
      const line = said ?? usual[command] ?? usual[verb] ?? '250 ok';
      if (verb !== 'EHLO' && command !== 'greeting') peer.commands.push(command);
      if (line === 'close') socket.end();
      else if (line === 'reset') socket.resetAndDestroy();
      else if (line !== '') socket.write(`${line}\r\n`);
      return line;
    };
    const readData = (): boolean => {
      const isEmpty = pending.startsWith('.\r\n');
      const end = isEmpty ? -2 : pending.indexOf('\r\n.\r\n');
      if (end === -1) return false;
      peer.messages.push(pending.slice(0, end + 2));
      pending = pending.slice(end + 5);
      inData = false;
      if (answer('.').startsWith('2')) peer.accepted.push(to);
      return true;
    };
    const readCommand = (): boolean => {
      const end = pending.indexOf('\r\n');
      if (end < 0) return false;
      const command = pending.slice(0, end);
      pending = pending.slice(end + 2);
      const line = answer(command);
      if (line.startsWith('250')) to = /^RCPT TO:<(.*)>/.exec(command)?.[1] ?? to;
      inData = command === 'DATA' && line.startsWith('354');
      return true;
    };
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      peer.packets.push(text);
      pending += text;
      while (pending !== '' && socket.writable && (inData ? readData() : readCommand()));
    });
    answer('greeting');
  });
  const { port } = use(await listen(server));
  const peer: SmtpPeer = {
    port,
    connections: 0,
    packets: [],
    commands: [],
    accepted: [],
    messages: [],
  };
  return peer;
}
