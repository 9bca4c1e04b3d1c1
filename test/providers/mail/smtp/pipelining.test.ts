import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Mailer, OutgoingMessage } from '../../../../providers/mail/mailer.ts';
import { guarded } from '../../../../providers/mail/guarded-mailer.ts';
import { smtpMailer } from '../../../../providers/mail/smtp/mailer.ts';
import { type AnswerTo, useSmtpPeer } from '../../../support/fakes/smtp-peer.ts';
import { use } from '../../../support/use.ts';
import { waitFor } from '../../../support/wait-for.ts';

function mailerTo(port: number, more: { user?: string; secure?: boolean } = {}): Mailer {
  const smtp = { host: '127.0.0.1', port, secure: false, timeoutMs: 5_000, ...more };
  return use(guarded(smtpMailer({ ...smtp, password: 'secret' })));
}

function message(number: number, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    emailId: `e${number}`,
    envelopeFrom: 'shop@shop.test',
    to: `${number}@x.test`,
    raw: Buffer.from(`Subject: ${number}\r\n\r\nHello\r\n`),
    tracked: false,
    ...more,
  };
}

/** Delays the greetings of all connections but the first, so that all messages use that one. */
const oneConnection: AnswerTo = (command, { connection }) =>
  command === 'greeting' && connection > 1 ? '421 too many connections' : undefined;

/** Sends so many messages at once; all use one connection, unless it ends. */
async function sendTo(answerTo: AnswerTo, count: number) {
  const peer = await useSmtpPeer(answerTo);
  const mailer = mailerTo(peer.port);
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, index) => mailer.send(message(index + 1))),
  );
  return { peer, mailer, outcomes, kinds: outcomes.map(({ kind }) => kind) };
}

/** As `answerTo`, over one connection. */
const overOne =
  (answerTo: AnswerTo): AnswerTo =>
  (command, at) =>
    oneConnection(command, at) ?? answerTo(command, at);

describe('SMTP, several messages over one connection', () => {
  it('writes a message and the commands of the next one together', async () => {
    const { peer, kinds } = await sendTo(oneConnection, 3);
    expect(kinds).toEqual(['accepted', 'accepted', 'accepted']);
    expect(peer.packets).toContain(
      'Subject: 1\r\n\r\nHello\r\n.\r\nMAIL FROM:<shop@shop.test>\r\nRCPT TO:<2@x.test>\r\nDATA\r\n',
    );
  });

  it('writes one command at a time where the server takes no more', async () => {
    const { peer, kinds } = await sendTo(
      overOne((command) => (command.startsWith('EHLO') ? '250 peer' : undefined)),
      3,
    );
    expect(kinds).toEqual(['accepted', 'accepted', 'accepted']);
    const commands = peer.packets.filter((packet) => /^(MAIL|RCPT|DATA)/.test(packet));
    expect(commands).toHaveLength(9);
    expect(commands.every((packet) => packet.indexOf('\r\n') === packet.length - 2)).toBe(true);
  });

  it.each([
    ['MAIL FROM', '550 no', ['accepted', 'refused', 'accepted']],
    ['MAIL FROM', '451 later', ['accepted', 'retry', 'accepted']],
    ['RCPT TO', '550 unknown', ['accepted', 'refused', 'accepted']],
    ['RCPT TO', '450 later', ['accepted', 'retry', 'accepted']],
    ['DATA', '554 no', ['accepted', 'refused', 'accepted']],
    ['.', '554 spam', ['accepted', 'refused', 'accepted']],
    ['.', '452 full', ['accepted', 'retry', 'accepted']],
  ])('answer to %s of the second "%s" is about that one alone', async (verb, line, kinds) => {
    let isRefused = false;
    const sent = await sendTo(
      overOne((command, { nth }) => {
        if (command.startsWith('MAIL') || command === 'RSET') isRefused = false;
        if (command.startsWith(verb) && nth === 2) {
          isRefused = true;
          return line;
        }
        return isRefused && command === 'DATA' ? '503 no recipient' : undefined;
      }),
      3,
    );
    expect(sent.kinds).toEqual(kinds);
    expect(sent.peer.accepted).toEqual(['1@x.test', '3@x.test']);
    expect(sent.outcomes[1]).toMatchObject({ error: expect.stringContaining(line) });
  });

  it('makes the server forget a refused message before the next', async () => {
    let hasSender = false;
    const { kinds } = await sendTo(
      overOne((command) => {
        if (command === 'RSET' || command === '.') hasSender = false;
        if (command.startsWith('MAIL')) {
          if (hasSender) return '503 nested MAIL';
          hasSender = true;
        }
        if (command === 'RCPT TO:<1@x.test>') return '550 unknown';
        return undefined;
      }),
      2,
    );
    expect(kinds).toEqual(['refused', 'accepted']);
  });

  it('ends the empty message when the server wants data without recipients, and counts it as refused', async () => {
    const { peer, outcomes } = await sendTo(
      overOne((command) => (command === 'RCPT TO:<1@x.test>' ? '550 unknown' : undefined)),
      2,
    );
    expect(outcomes).toEqual([
      {
        kind: 'refused',
        error: 'The server refused the recipient: 550 unknown',
        isRecipient: true,
      },
      { kind: 'accepted', messageId: 'e2@smtp', delivered: false, isUnreported: true },
    ]);
    expect(peer.messages).toEqual(['', 'Subject: 2\r\n\r\nHello\r\n']);
  });

  it('sends no data without a recipient', async () => {
    const peer = await useSmtpPeer((command) =>
      command.startsWith('MAIL') ? '550 no' : undefined,
    );
    expect((await mailerTo(peer.port).send(message(1))).kind).toBe('refused');
    expect(peer.messages).toEqual([]);
  });

  it('doubles the dots that begin a line, wherever they stand', async () => {
    const peer = await useSmtpPeer();
    const line = `${'x'.repeat(61)}\r\n.`;
    const raw = Buffer.from(`.a\r\n..b\r\n.\r\n${line.repeat(3_000)}`);
    expect((await mailerTo(peer.port).send(message(1, { raw }))).kind).toBe('accepted');
    const [wired = ''] = peer.messages;
    expect(wired.replace(/^\./gm, '')).toBe(`${raw.toString()}\r\n`);
    expect(wired.match(/^\./gm)).toHaveLength(3_003);
  });
});

describe('SMTP, a connection that ends', () => {
  it('sends each message once through a server that ends each connection after two', async () => {
    const { peer, kinds } = await sendTo((command, { nth, socket }) => {
      if (command !== '.' || nth < 2) return undefined;
      socket.end('250 queued\r\n');
      return '';
    }, 60);
    expect(kinds.every((kind) => kind === 'accepted')).toBe(true);
    expect(peer.messages).toHaveLength(60);
    expect(new Set(peer.messages).size).toBe(60);
  });

  it.each(['421 enough', 'close', 'reset'])(
    '"%s" to the next message: it goes over another connection',
    async (line) => {
      let isOver = false;
      const { peer, kinds } = await sendTo((command, { connection, nth }) => {
        if (command === 'greeting') return connection > 1 && !isOver ? '421 wait' : undefined;
        if (connection > 1 || !command.startsWith('MAIL') || nth < 2) return undefined;
        isOver = true;
        return line;
      }, 2);
      expect(kinds).toEqual(['accepted', 'accepted']);
      expect(peer.accepted).toEqual(['1@x.test', '2@x.test']);
    },
  );

  it('a second connection that ends the same way puts the message off', async () => {
    const peer = await useSmtpPeer((command, { nth, connection }) =>
      command.startsWith('MAIL') && (nth > 1 || connection > 1) ? '421 enough' : undefined,
    );
    const mailer = mailerTo(peer.port);
    expect((await mailer.send(message(1))).kind).toBe('accepted');
    expect(await mailer.send(message(2))).toEqual({
      kind: 'retry',
      error: 'The server refused the message: 421 enough',
      isAboutMessage: false,
    });
    expect(peer.connections).toBe(2);
  });

  it.each([
    ['close', 'uncertain'],
    ['reset', 'uncertain'],
    ['421 closing', 'retry'],
    ['nonsense', 'uncertain'],
  ])(
    '"%s" instead of an answer to a message → %s, and the next one is sent',
    async (line, kind) => {
      let isOver = false;
      const { peer, kinds } = await sendTo((command, { connection }) => {
        if (command === 'greeting') return connection > 1 && !isOver ? '421 wait' : undefined;
        if (command !== '.' || connection > 1) return undefined;
        isOver = true;
        return line;
      }, 2);
      expect(kinds).toEqual([kind, 'accepted']);
      expect(peer.accepted).toEqual(['2@x.test']);
    },
  );

  it('makes do with the connections that a server allows', async () => {
    const { kinds } = await sendTo(oneConnection, 30);
    expect(kinds.every((kind) => kind === 'accepted')).toBe(true);
  });

  it('opens another one for a message after the server has closed an idle one', async () => {
    const peer = await useSmtpPeer((command, { connection, socket }) => {
      if (command === '.' && connection === 1) setTimeout(() => socket.destroy(), 20);
      return undefined;
    });
    const mailer = mailerTo(peer.port);
    for (const number of [1, 2]) {
      expect((await mailer.send(message(number))).kind).toBe('accepted');
      if (number === 1) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(peer.connections).toBe(2);
  });
});

describe('SMTP, what a server says', () => {
  it('understands answers of many lines, in pieces', async () => {
    const peer = await useSmtpPeer((command, { socket }) => {
      if (command !== '.') return undefined;
      const bytes = [...Buffer.from('250-first\r\n250-second\r\n250 third\r\n')];
      const next = () => {
        const byte = bytes.shift();
        if (byte !== undefined) socket.write(Buffer.from([byte]), () => setImmediate(next));
      };
      next();
      return '';
    });
    expect((await mailerTo(peer.port).send(message(1))).kind).toBe('accepted');
  });

  it('keeps letters beyond ASCII', async () => {
    const peer = await useSmtpPeer((command) =>
      command.startsWith('RCPT') ? '550-Empfänger\r\n550 unbekannt' : undefined,
    );
    expect(await mailerTo(peer.port).send(message(1))).toEqual({
      kind: 'refused',
      error: 'The server refused the recipient: 550-Empfänger 550 unbekannt',
      isRecipient: true,
    });
  });

  it.each([
    ['one endless line', '250 '.padEnd(100_000, 'x')],
    ['endless lines', '250-x\r\n'.repeat(20_000)],
  ])('hangs up on %s', async (_what, answer) => {
    const peer = await useSmtpPeer((command) => (command.startsWith('EHLO') ? answer : undefined));
    expect(await mailerTo(peer.port).send(message(1))).toEqual({
      kind: 'retry',
      error: 'The reply of the server is too long.',
    });
  });

  it.each(['SSH-2.0-OpenSSH', '999 what'])('does not send mail to "%s"', async (greeting) => {
    const peer = await useSmtpPeer((command) => (command === 'greeting' ? greeting : undefined));
    expect(await mailerTo(peer.port).send(message(1))).toEqual({
      kind: 'retry',
      error: `The server does not speak SMTP: ${greeting}`,
    });
  });

  it('greets a server of the old kind with HELO', async () => {
    const peer = await useSmtpPeer((command) =>
      command.startsWith('EHLO') ? '502 what' : undefined,
    );
    expect((await mailerTo(peer.port).send(message(1))).kind).toBe('accepted');
    expect(peer.commands[0]).toMatch(/^HELO /);
  });

  it('logs in with AUTH LOGIN where there is no PLAIN', async () => {
    const peer = await useSmtpPeer((command, { nth }) => {
      if (command.startsWith('EHLO')) return '250-peer\r\n250 AUTH LOGIN CRAM-MD5';
      if (command === 'AUTH LOGIN') return nth === 1 ? '334 VXNlcm5hbWU6' : undefined;
      if (command === 'ZXZlcnBvc3Q=') return '334 UGFzc3dvcmQ6';
      return command === 'c2VjcmV0' ? '235 welcome' : undefined;
    });
    const mailer = mailerTo(peer.port, { user: 'everpost' });
    expect((await mailer.send(message(1))).kind).toBe('accepted');
    expect(peer.commands.slice(0, 3)).toEqual(['AUTH LOGIN', 'ZXZlcnBvc3Q=', 'c2VjcmV0']);
  });

  it('trusts nothing that was said before the encryption', async () => {
    const peer = await useSmtpPeer((command) => {
      if (command.startsWith('EHLO')) return '250-peer\r\n250 STARTTLS';
      return command === 'STARTTLS' ? '220 go on\r\n250 AUTH' : undefined;
    });
    const outcome = await mailerTo(peer.port).send(message(1));
    expect(outcome.kind).toBe('retry');
    expect(peer.messages).toEqual([]);
  });

  it('announces the size where the server wants it', async () => {
    const peer = await useSmtpPeer((command) =>
      command.startsWith('EHLO') ? '250-peer\r\n250 SIZE' : undefined,
    );
    expect((await mailerTo(peer.port).send(message(1))).kind).toBe('accepted');
    expect(peer.commands[0]).toBe('MAIL FROM:<shop@shop.test> SIZE=21');
  });
});

describe('SMTP, time', () => {
  afterEach(() => void vi.useRealTimers());

  it('closes an idle connection', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const peer = await useSmtpPeer();
    await mailerTo(peer.port).send(message(1));
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await waitFor('QUIT', () => peer.commands.includes('QUIT'));
  });

  it('says goodbye when it is closed', async () => {
    const { peer, mailer } = await sendTo(oneConnection, 2);
    await mailer.close();
    expect(peer.commands.at(-1)).toBe('QUIT');
  });

  it('gives messages back that have waited for others too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const peer = await useSmtpPeer((command) => (command.startsWith('MAIL') ? '' : undefined));
    const mailer = mailerTo(peer.port);
    const sends = Array.from({ length: 25 }, (_, number) => mailer.send(message(number)));
    vi.advanceTimersByTime(30_001);
    expect(await Promise.all(sends.slice(20))).toEqual(
      Array.from({ length: 5 }, () => ({
        kind: 'retry',
        error: 'No connection to the mail server was free within 30 seconds.',
      })),
    );
    vi.useRealTimers();
  });
});
