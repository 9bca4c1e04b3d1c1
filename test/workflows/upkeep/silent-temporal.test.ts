import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { connectTemporal } from '../../../workflows/client/connection.ts';
import { listen, use } from '../../support/use.ts';

it('a Temporal server that says nothing is given up after five seconds', async () => {
  const server = createServer((socket) => void socket.on('error', () => {}));
  const { port } = use(await listen(server));
  const settings = { apiKey: null, tlsCert: null, tlsKey: null, tlsCa: null };
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
