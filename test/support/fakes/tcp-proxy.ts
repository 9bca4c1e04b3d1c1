import { connect, createServer, type Socket } from 'node:net';
import { atEnd, listen, use } from '../use.ts';

/** A proxy for connections to a server, which a test can disturb. */
export interface TcpProxy {
  /** host:port to which clients connect instead of the server. */
  address: string;
  /**
   * `open` forwards everything. `deaf` forwards requests but drops responses, so that the server
   * does the work and the client gets no response. `silent` drops everything. Dropped data are not
   * sent later. `closed` closes each new connection at once.
   */
  mode: 'open' | 'deaf' | 'silent' | 'closed';
  /** Delay in each direction, in milliseconds. */
  delayMs: number;
  /** Closes all connections. New connections can be made. */
  cut(): void;
}

/** Starts a proxy between a client and the server at `target` (host:port). */
export async function useTcpProxy(target: string): Promise<TcpProxy> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const later = (act: () => void) => {
    if (proxy.delayMs === 0) act();
    else setTimeout(act, proxy.delayMs);
  };
  const server = createServer((near) => {
    if (proxy.mode === 'closed') {
      near.destroy();
      return;
    }
    const far = connect(Number(port), host);
    keep(near);
    keep(far);
    near.on('data', (data) => void (proxy.mode === 'silent' || later(() => far.write(data))));
    far.on('data', (data) => void (proxy.mode !== 'open' || later(() => near.write(data))));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const { port: ownPort } = use(await listen(server));
  // `cut` also closes the connections to the target.
  atEnd(() => proxy.cut());
  const proxy: TcpProxy = {
    address: `127.0.0.1:${ownPort}`,
    mode: 'open',
    delayMs: 0,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
