import { createRequire } from 'node:module';
import type { AddressInfo, Server, Socket } from 'node:net';
import { atEnd } from '../use.ts';

/** The parts of hoodiecrow-imap that the tests use. The package itself has no types. */
interface Imap {
  server: Server;
  appendMessage(folder: unknown, flags: string[], date: false, raw: string): void;
  getMailbox(name: string): { messages: unknown[] };
  listen(port: number, listening: () => void): void;
}
type CreateImap = (options: object) => Imap;

export interface ImapServer {
  port: number;
  /** True: the server closes each new connection at once. */
  refuses: boolean;
  /** Puts an unseen message into INBOX. */
  deliver(raw: string): void;
  /** Number of messages in a mailbox. */
  messagesIn(mailbox: string): number;
}

/** Starts an in-memory IMAP server with the empty mailboxes INBOX and Done. */
export async function useImapServer(user: string, password: string): Promise<ImapServer> {
  const create = createRequire(import.meta.url)('hoodiecrow-imap') as CreateImap;
  const imap = create({
    plugins: ['ID', 'UIDPLUS', 'MOVE'],
    storage: { INBOX: {}, '': { folders: { Done: {} } } },
    users: { [user]: { password } },
  });
  const sockets = new Set<Socket>();
  imap.server.prependListener('connection', (socket: Socket) => {
    sockets.add(socket);
    if (running.refuses) socket.destroy();
  });
  await new Promise<void>((resolve) => imap.listen(0, resolve));
  const running: ImapServer = {
    port: (imap.server.address() as AddressInfo).port,
    refuses: false,
    deliver: (raw) => imap.appendMessage(imap.getMailbox('INBOX'), [], false, raw),
    messagesIn: (mailbox) => imap.getMailbox(mailbox).messages.length,
  };
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    imap.server.close();
  });
  return running;
}
