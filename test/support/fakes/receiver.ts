import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedRequest {
  /** Milliseconds since the epoch. */
  at: number;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface ReceiverAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** The answer is held back until then; meanwhile the request hangs. */
  until?: Promise<void>;
}

/** A webhook receiver: answers each path as told, the last answer for ever. */
export interface Receiver {
  url: string;
  answer(path: string, ...answers: ReceiverAnswer[]): void;
  requests(path: string): ReceivedRequest[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const answers = new Map<string, ReceiverAnswer[]>();
  const received = new Map<string, ReceivedRequest[]>();
  const server = createServer((request, response) => {
    const at = Date.now();
    const path = request.url ?? '/';
    const reply = async (body: string): Promise<void> => {
      const { method = '', headers } = request;
      received.set(path, [...(received.get(path) ?? []), { at, method, headers, body }]);
      const queue = answers.get(path) ?? [{ status: 404 }];
      const answer = queue.length > 1 ? queue.shift()! : queue[0]!;
      await answer.until;
      const isText = typeof answer.body === 'string';
      response.writeHead(answer.status, {
        'content-type': isText ? 'text/plain' : 'application/json',
        ...answer.headers,
      });
      response.end(isText ? answer.body : JSON.stringify(answer.body ?? {}));
    };
    void text(request).then(reply);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (path, ...given) => void answers.set(path, given),
    requests: (path) => received.get(path) ?? [],
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
