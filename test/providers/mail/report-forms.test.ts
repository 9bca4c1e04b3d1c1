import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../support/processes/cpu-time.ts';
import { type Fields, readFields } from '../../../domain/mail/reports/fields.ts';
import { outcomeFor, readReport } from '../../../domain/mail/reports/report.ts';
import { provenEmailId } from '../../../domain/mail/return-path.ts';
import {
  deliveredTo,
  fingerprintOf,
  readArrivedMessage,
  readBytesMax,
} from '../../../providers/mail/arrived-message.ts';

const forms = path.join(import.meta.dirname, 'report-forms');
const emailId = 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21';
const address = 'ada@mail.example';
const isProof = (id: string, proof: string) => id === emailId && proof === '0123456789abcdef0123';

const rawOf = (form: string) =>
  Buffer.from(readFileSync(path.join(forms, `${form}.eml`), 'utf8').replaceAll('\n', '\r\n'));

async function read(raw: Buffer) {
  const message = await readArrivedMessage(raw);
  return message && readReport({ ...message, sender: null });
}

const bounce = (bounceType: string, status: string | null, guess = false) => ({
  kind: 'bounce',
  bounceType,
  status,
  ...(guess && { guess }),
});

/** Each form, and what it says about the mail to ada@mail.example. */
const outcomes: Record<string, object | 'automatic' | 'ordinary'> = {
  'postfix-user-unknown': bounce('Permanent', '5.1.1'),
  'postfix-local-unknown': bounce('Permanent', '5.1.1'),
  'postfix-host-not-found': bounce('Permanent', '5.4.4'),
  'postfix-delayed': { kind: 'delayed', status: '4.4.1' },
  'postfix-delivered': { kind: 'delivery', status: '2.0.0' },
  'postfix-relayed': { kind: 'accepted' },
  'postfix-expired': bounce('Transient', '4.4.1'),
  'postfix-mailbox-full': bounce('Transient', '5.2.2'),
  'postfix-blocked': bounce('Transient', '5.7.1'),
  'exim-user-unknown': bounce('Permanent', '5.1.1'),
  'exim-no-code': bounce('Undetermined', '5.0.0'),
  'exim-unrouteable': bounce('Undetermined', null, true),
  'exim-plain-user-unknown': bounce('Permanent', '5.1.1', true),
  'exim-plain-full': bounce('Transient', null, true),
  'qmail-no-mailbox': bounce('Permanent', '5.1.1', true),
  'qmail-host-unknown': bounce('Permanent', '5.1.2', true),
  'qmail-remote-no-code': bounce('Undetermined', null, true),
  'qmail-expired': bounce('Transient', null, true),
  'sendmail-user-unknown': bounce('Permanent', '5.1.1'),
  'sendmail-host-unknown': bounce('Permanent', '5.1.2'),
  'sendmail-delayed': { kind: 'delayed', status: '4.4.1' },
  'sendmail-relayed': { kind: 'accepted' },
  'sendmail-plain': bounce('Undetermined', null, true),
  'exchange-not-found': bounce('Permanent', '5.1.10'),
  'exchange-online-denied': bounce('Undetermined', '5.4.1'),
  'exchange-mailbox-full': bounce('Transient', '5.2.2'),
  'exchange-too-large': bounce('Transient', '5.3.4'),
  'exchange-delivered': { kind: 'delivery', status: '2.0.0', text: null },
  'exchange-relayed': { kind: 'accepted' },
  'exchange-plain': bounce('Undetermined', null, true),
  'gmail-no-account': bounce('Permanent', '5.1.1'),
  'gmail-over-quota': bounce('Transient', '5.2.2'),
  'gmail-unauthenticated': bounce('Transient', '5.7.26'),
  'gmail-delayed': { kind: 'delayed', status: '4.4.1' },
  'yahoo-no-account': bounce('Undetermined', '5.0.0'),
  'outlook-unavailable': bounce('Undetermined', '5.5.0'),
  'icloud-policy': bounce('Transient', '5.7.1'),
  'no-status': bounce('Undetermined', null, true),
  'policy-names-user': bounce('Undetermined', '5.7.1'),
  'several-recipients': bounce('Transient', '5.2.2'),
  'envelope-id': bounce('Permanent', '5.1.1'),
  expanded: { kind: 'accepted' },
  'arf-abuse': { kind: 'complaint', text: 'abuse' },
  'arf-no-return-path': { kind: 'complaint', text: 'abuse' },
  'arf-fraud': { kind: 'complaint', text: 'fraud' },
  'arf-not-spam': 'automatic',
  'arf-auth-failure': 'automatic',
  'mdn-displayed': 'automatic',
  vacation: 'automatic',
  'autoreply-header': 'automatic',
  'autoreply-precedence': 'automatic',
  'autoreply-exchange': 'automatic',
  person: 'ordinary',
};

describe('reports in the forms of mail servers and providers', () => {
  it('are all expected here', () => {
    const names = readdirSync(forms).map((file) => path.basename(file, '.eml'));
    expect(names.toSorted()).toEqual(Object.keys(outcomes).toSorted());
  });

  it.each(Object.entries(outcomes))('%s', async (form, outcome) => {
    const reading = await read(rawOf(form));
    if (typeof outcome === 'string') return expect(reading).toEqual({ kind: outcome });
    if (reading?.kind !== 'report') return expect(reading).toMatchObject({ kind: 'report' });
    expect(outcomeFor(reading.report, address, { mustName: false })).toMatchObject(outcome);
    return undefined;
  });

  it.each([
    'exim-unrouteable',
    'qmail-no-mailbox',
    'sendmail-plain',
    'gmail-no-account',
    'arf-abuse',
  ])('name the return path of the mail: %s', async (form) => {
    const reading = await read(rawOf(form));
    const found = reading?.kind === 'report' ? reading.report.returnPaths : [];
    expect(found.map((path) => provenEmailId(path, isProof))).toEqual([emailId]);
  });

  it.each(['postfix-user-unknown', 'postfix-delayed', 'envelope-id', 'arf-no-return-path'])(
    'name the mail and its recipient in any case: %s',
    async (form) => {
      const reading = await read(rawOf(form));
      if (reading?.kind !== 'report') throw new Error('no report');
      expect(reading.report.emailIds).toEqual([emailId]);
      expect(outcomeFor(reading.report, 'Ada@mail.example', { mustName: true })).not.toBeNull();
      expect(outcomeFor(reading.report, 'eve@mail.example', { mustName: true })).toBeNull();
    },
  );

  it('have the text of the server in one line, of at most 500 characters', async () => {
    const text = async (raw: Buffer) => {
      const reading = await read(raw);
      if (reading?.kind !== 'report') throw new Error('no report');
      const outcome = outcomeFor(reading.report, address, { mustName: false });
      return outcome && 'text' in outcome ? outcome.text : null;
    };
    expect(await text(rawOf('postfix-user-unknown'))).toBe(
      '550 5.1.1 <ada@mail.example>: Recipient address rejected: User unknown in virtual mailbox table',
    );
    expect(await text(rawOf('exim-unrouteable'))).toBe('Unrouteable address');
    const long = rawOf('postfix-user-unknown').toString().replaceAll('virtual', 'x'.repeat(900));
    expect(await text(Buffer.from(long))).toHaveLength(500);
  });

  it('are read although the message is cut', async () => {
    const raw = rawOf('gmail-no-account');
    const reading = await read(raw.subarray(0, raw.indexOf('<p>Thank you')));
    expect(reading).toMatchObject({ kind: 'report', report: { emailIds: [emailId] } });
  });
});

describe('any other message', () => {
  it.each(['', '\0\0\0', 'not a message', '\n\n\n', 'Content-Type: multipart/report\n\n--x\n'])(
    'is ordinary: %j',
    async (raw) => expect(await read(Buffer.from(raw))).toEqual({ kind: 'ordinary' }),
  );

  it('is unreadable when it is nested too deeply', async () => {
    const raw = Array.from(
      { length: 300 },
      (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n`,
    ).join('');
    expect(await readArrivedMessage(Buffer.from(raw))).toBeNull();
  });

  it('holds up the process for less than 200 ms when it is large', async () => {
    const line = `${'550 5.1.1-5.1.1- user '.repeat(3)}address ${'x'.repeat(40)}\n`;
    const raw = Buffer.from(
      `From: postmaster@mail.example\n\n${line.repeat(20_000)}`.slice(0, readBytesMax),
    );
    await read(raw);
    const started = cpuMs();
    await read(raw);
    expect(cpuMs() - started).toBeLessThan(200);
  });
});

describe('a message without an envelope', () => {
  it('was delivered to the addresses in its headers', async () => {
    const raw = 'Delivered-To: A@x.example\nTo: "B, b" <b@x.example>, c@x.example (C)\n\nHi';
    const message = await readArrivedMessage(Buffer.from(raw));
    expect(message && deliveredTo(message)).toEqual(['a@x.example', 'b@x.example', 'c@x.example']);
  });

  it('is known again with other line ends', () => {
    expect(fingerprintOf(Buffer.from('A: b\n\nHi\n'))).toBe(
      fingerprintOf(Buffer.from('A: b\r\n\r\nHi')),
    );
    expect(fingerprintOf(Buffer.from('A: b\n\nHi'))).not.toBe(
      fingerprintOf(Buffer.from('A: b\n\nHo')),
    );
  });
});

describe('headers', () => {
  const entries = (fields: Fields) => Object.fromEntries(fields);

  it('end at the first empty line, and continue on lines that begin with a blank', () => {
    const text = '\r\nA: 1\r\n  2\r\nno header\r\na:3\r\n \r\nB: 4';
    expect(entries(readFields(text))).toEqual({ a: ['1 2', '3'] });
  });
});
