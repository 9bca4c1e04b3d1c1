import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { readBytesMax } from '../../providers/mail/arrived-message.ts';
import { type ReceiverHandler, startReceiver } from '../../providers/receiver.ts';
import { use } from '../support/use.ts';

/** The SMTP server that takes reports, and what it refuses. */

const taken: { raw: Buffer; recipients: string[] }[] = [];
const errors: unknown[] = [];
let failure: Error | null = null;

const handler: ReceiverHandler = {
  async takes(address) {
    if (failure) throw failure;
    return /^known\d*@bounces\.test$/.test(address);
  },
  async take(message) {
    if (failure) throw failure;
    taken.push(message);
  },
  onError: (error) => void errors.push(error),
};
const { port } = use(await startReceiver({ port: 0, host: '127.0.0.1', tls: null }, handler));

/** Connects, and returns a function that sends a command and resolves with the last reply line. */
async function dial() {
  const socket = connect({ port, host: '127.0.0.1' });
  use({ close: () => socket.destroy() });
  socket.on('error', () => {});
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const reply = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) return 'closed';
      if (!/^\d{3}-/.test(value)) return value;
    }
  };
  const greeting = await reply();
  return {
    greeting,
    async say(line: string) {
      socket.write(`${line}\r\n`);
      return reply();
    },
  };
}

async function greet() {
  const { say } = await dial();
  await say('EHLO mx.test');
  expect(await say('MAIL FROM:<>')).toMatch(/^250/);
  return say;
}

describe('the receiver', () => {
  it('takes mail for its addresses in any case, and refuses all other', async () => {
    const say = await greet();
    expect(await say('RCPT TO:<x@gmail.example>')).toMatch(/^550/);
    expect(await say('RCPT TO:<known@other.test>')).toMatch(/^550/);
    expect(await say('RCPT TO:<KNOWN@Bounces.Test>')).toMatch(/^250/);
    expect(await say('DATA')).toMatch(/^354/);
    expect(await say('Subject: Hi\r\n\r\nHi\r\n.')).toMatch(/^250/);
    expect(taken.at(-1)).toEqual({
      raw: Buffer.from('Subject: Hi\r\n\r\nHi\r\n'),
      recipients: ['known@bounces.test'],
      sender: '',
    });
  });

  it('has no accounts, and offers no encryption without a certificate', async () => {
    const { say } = await dial();
    await say('EHLO mx.test');
    expect(await say('AUTH PLAIN AGFkYQBhZGE=')).toMatch(/^5/);
    expect(await say('STARTTLS')).toMatch(/^5/);
  });

  it('refuses more than 10 MB and keeps only the beginning of a large message', async () => {
    const say = await greet();
    expect(await say('RCPT TO:<known@bounces.test>')).toMatch(/^250/);
    await say('DATA');
    const before = taken.length;
    const line = `${'x'.repeat(998)}\r\n`;
    expect(await say(`${line.repeat(11 * 1024)}.`)).toMatch(/^552/);
    expect(taken).toHaveLength(before);
    await say('MAIL FROM:<>');
    await say('RCPT TO:<known@bounces.test>');
    await say('DATA');
    expect(await say(`${line.repeat(2 * 1024)}.`)).toMatch(/^250/);
    expect(taken.at(-1)?.raw).toHaveLength(readBytesMax);
    const { say: announce } = await dial();
    await announce('EHLO mx.test');
    expect(await announce(`MAIL FROM:<> SIZE=${11 * 1024 * 1024}`)).toMatch(/^552/);
  });

  it('takes 100 recipients of one message', async () => {
    const say = await greet();
    for (let at = 0; at < 100; at += 1) {
      expect(await say(`RCPT TO:<known${at}@bounces.test>`)).toMatch(/^250/);
    }
    expect(await say('RCPT TO:<known@bounces.test>')).toMatch(/^452/);
  });

  it('asks for another try when a message cannot be recorded now', async () => {
    const say = await greet();
    await say('RCPT TO:<known@bounces.test>');
    await say('DATA');
    failure = new Error('no database');
    expect(await say('Hi\r\n.')).toMatch(/^451/);
    await say('MAIL FROM:<>');
    expect(await say('RCPT TO:<known@bounces.test>')).toMatch(/^451/);
    failure = null;
    expect(errors).toHaveLength(2);
  });

  it('takes 20 connections of one address', async () => {
    const first = [];
    while (first.length < 30) {
      const { greeting } = await dial();
      first.push(greeting.slice(0, 3));
      if (greeting.startsWith('421')) break;
    }
    // Connections of the tests before have ended.
    expect(first.indexOf('421')).toBe(20);
  });
});
