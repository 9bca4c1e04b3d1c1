import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { connectTemporal } from '../../../workflows/client/connection.ts';
import { listen, use } from '../../support/use.ts';

const settings = { apiKey: null, tlsCert: null, tlsKey: null, tlsCa: null };

it('a Temporal server that says nothing is given up after five seconds', async () => {
  const server = createServer((socket) => void socket.on('error', () => {}));
  const { port } = use(await listen(server));
  const address = `127.0.0.1:${port}`;
  const temporal = use(connectTemporal({ ...settings, address, namespace: 'default' }));
  const began = performance.now();
  const { workflow } = temporal.client;
  const calls = [
    temporal.answers().then((answers) => expect(answers).toBe(false)),
    expect(workflow.getHandle('x').describe()).rejects.toThrow(),
    expect(workflow.getHandle('x').signal('changed')).rejects.toThrow(),
    expect(workflow.start('x', { taskQueue: 'x', workflowId: 'x' })).rejects.toThrow(),
  ];
  await Promise.all(calls);
  expect(performance.now() - began).toBeLessThan(15_000);
}, 30_000);

it('calls name their namespace without an AsyncLocalStorage, which would slow down all promises', async () => {
  const namespaces: unknown[] = [];
  const server = createHttp2Server().on('stream', (stream, headers) => {
    namespaces.push(headers['temporal-namespace']);
    // The status UNIMPLEMENTED of gRPC.
    stream.respond({ ':status': 200, 'grpc-status': 12 }, { endStream: true });
  });
  const { port } = use(await listen(server));
  const storage = vi.spyOn(AsyncLocalStorage.prototype, 'run');
  const address = `127.0.0.1:${port}`;
  const temporal = use(connectTemporal({ ...settings, address, namespace: 'shop' }));
  expect(await temporal.answers()).toBe(false);
  expect(namespaces).toEqual(['shop']);
  expect(storage).not.toHaveBeenCalled();
});
