import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { trySmtp } from '../../../../providers/mail/smtp/trial.ts';
import { useScriptedSmtp } from '../../../support/fakes/smtp-sink.ts';
import { listen } from '../../../support/use.ts';

const late = { tls: null, code: null, message: 'The mail server did not answer in time.' };

it('ends in time if the server does not greet', async () => {
  const { url } = await listen(createServer(() => {}));
  const server = { host: '127.0.0.1', port: Number(new URL(url).port), secure: false };
  expect(await trySmtp(server, null, 100)).toEqual({ ...late, stage: 'connect' });
});

it('ends in time if the server sends a reply that never ends', async () => {
  const { url } = await listen(
    createServer((socket) => {
      socket.on('error', () => {});
      const timer = setInterval(() => socket.write('220-'), 10);
      socket.on('close', () => clearInterval(timer));
    }),
  );
  const server = { host: '127.0.0.1', port: Number(new URL(url).port), secure: false };
  expect(await trySmtp(server, null, 100)).toEqual({ ...late, stage: 'connect' });
});

it('ends in time if the server does not reply to the message', async () => {
  const { port } = await useScriptedSmtp({ end: 'silence' });
  const message = {
    emailId: 'e1',
    envelopeFrom: 'shop@shop.test',
    to: 'ada@x.test',
    raw: Buffer.from('Subject: Hi\r\n\r\nHello\r\n'),
    tracked: false,
  };
  const server = { host: '127.0.0.1', port, secure: false };
  expect(await trySmtp(server, message, 200)).toEqual({ ...late, stage: 'data' });
});
