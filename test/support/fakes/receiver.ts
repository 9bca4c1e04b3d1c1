import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen, use } from '../use.ts';

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
  /** The response waits for this promise. */
  until?: Promise<void>;
}

/**
 * A webhook receiver. Each path returns its configured responses in order, and then repeats the
 * last one.
 */
export interface Receiver {
  url: string;
  answer(path: string, ...answers: ReceiverAnswer[]): void;
  /** Sets a function that chooses the response of a path by the request's body. */
  decide(path: string, answer: (body: string) => ReceiverAnswer): void;
  requests(path: string): ReceivedRequest[];
  /**
   * Calls `seen` with each body that a path receives. The response waits until the promise
   * resolves.
   */
  watch(path: string, seen: (body: string) => Promise<void>): void;
}

export async function useReceiver(): Promise<Receiver> {
  const answers = new Map<string, ReceiverAnswer[]>();
  const received = new Map<string, ReceivedRequest[]>();
  const deciders = new Map<string, (body: string) => ReceiverAnswer>();
  const watchers = new Map<string, (body: string) => Promise<void>>();
  const server = createServer((request, response) => {
    const at = Date.now();
    const path = request.url ?? '/';
    const reply = async (body: string): Promise<void> => {
      const { method = '', headers } = request;
      received.set(path, [...(received.get(path) ?? []), { at, method, headers, body }]);
      const queue = answers.get(path) ?? [{ status: 404 }];
      const told = queue.length > 1 ? queue.shift()! : queue[0]!;
      const answer = deciders.get(path)?.(body) ?? told;
      await answer.until;
      await watchers.get(path)?.(body);
      const isText = typeof answer.body === 'string';
      response.writeHead(answer.status, {
        'content-type': isText ? 'text/plain' : 'application/json',
        ...answer.headers,
      });
      response.end(isText ? answer.body : JSON.stringify(answer.body ?? {}));
    };
    void text(request).then(reply);
  });
  const { url } = use(await listen(server));
  return {
    url,
    answer: (path, ...given) => void answers.set(path, given),
    decide: (path, answer) => void deciders.set(path, answer),
    requests: (path) => received.get(path) ?? [],
    watch: (path, seen) => void watchers.set(path, seen),
  };
}
