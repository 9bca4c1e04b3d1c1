import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readReport } from '../../../domain/mail/reports/report.ts';
import { parseMime } from '../../../providers/mail/arrived-message.ts';
import { readPlainReport } from '../../../providers/mail/plain-report.ts';
import { complaint, deliveryStatus } from '../../support/fakes/reports.ts';

/** The reader of plain reports, beside the MIME parser, which reads every message. */

const forms = path.join(import.meta.dirname, 'report-forms');
const files = readdirSync(forms);
const rawOf = (file: string) => readFileSync(path.join(forms, file), 'utf8');

type Message = NonNullable<ReturnType<typeof readPlainReport>>;
const readingOf = (message: Message | null) => message && readReport({ ...message, sender: null });

/** Reads a message in both ways. Returns false if only the MIME parser can read it. */
async function readBoth(raw: Buffer): Promise<boolean> {
  const plain = readPlainReport(raw);
  if (!plain) return false;
  const parsed = await parseMime(raw);
  expect(readingOf(plain)).toEqual(readingOf(parsed));
  for (const name of ['from', 'to', 'return-path', 'delivered-to', 'auto-submitted'])
    expect(plain.headers.get(name)).toEqual(parsed?.headers.get(name));
  return true;
}

describe('a plain report', () => {
  it('of every mail server is read like by the MIME parser, with both line ends', async () => {
    const read: string[] = [];
    for (const file of files) {
      const text = rawOf(file);
      const isPlain = await readBoth(Buffer.from(text));
      expect(await readBoth(Buffer.from(text.replaceAll('\n', '\r\n')))).toBe(isPlain);
      if (isPlain) read.push(file);
    }
    expect(read.length).toBeGreaterThan(15);
    expect(read).toContain('postfix-user-unknown.eml');
  });

  it('stays the same when it is changed in any place, or is left to the MIME parser', async () => {
    const mail = { returnPath: 'a@b.example', emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21' };
    const originals = [
      deliveryStatus({ ...mail, to: 'ada@mail.example' }),
      complaint({ ...mail, to: 'ada@mail.example' }),
      ...['postfix-delayed.eml', 'gmail-delayed.eml', 'sendmail-relayed.eml'].map(rawOf),
    ];
    const snippets = [
      '\n',
      '\n\n',
      '\r',
      ' ',
      '--',
      '--b1',
      '--b1--',
      '=?utf-8?q?a?=',
      '"',
      ';',
      'é',
      'Content-Transfer-Encoding: base64\n',
      'Content-Type: text/html\n',
      'Content-Type: multipart/mixed; boundary=x\n',
      'Content-Disposition: attachment\n',
    ];
    const change = fc.record({
      original: fc.constantFrom(...originals),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      removed: fc.nat(40),
      added: fc.constantFrom(...snippets),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ original, at, removed, added }) => {
        const place = Math.floor(at * original.length);
        const text = original.slice(0, place) + added + original.slice(place + removed);
        await readBoth(Buffer.from(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is none when it is cut, encoded or has nested parts', () => {
    const text = rawOf('postfix-user-unknown.eml');
    const isPlain = (raw: string) => readPlainReport(Buffer.from(raw)) !== null;
    expect(isPlain(text)).toBe(true);
    expect(isPlain(text.slice(0, -60))).toBe(false);
    expect(isPlain(text.replace('virtual', 'virtüal'))).toBe(false);
    const type = 'Content-Type: message/delivery-status';
    expect(isPlain(text.replace(type, `Content-Transfer-Encoding: base64\n${type}`))).toBe(false);
    expect(isPlain(text.replace(type, 'Content-Type: multipart/mixed; boundary=x'))).toBe(false);
  });
});
