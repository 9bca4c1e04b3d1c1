import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DkimAlgorithm, dkimLabel, dkimText } from '../../../../domain/sender/dkim-record.ts';
import { makeDkimKey, readPrivateKey } from '../../../../providers/mail/dkim/keys.ts';
import { signatureHeaders } from '../../../../providers/mail/dkim/signature.ts';
import { createDkimThreads } from '../../../../providers/mail/dkim/threads.ts';
import { type ComposedMail, composeMessage } from '../../../../providers/mail/mime.ts';
import { signatureTags, verifyDkim } from '../../../support/dkim.ts';
import { atEnd } from '../../../support/use.ts';

const domain = 'shop.example';
const zone: Record<string, string> = {};
const keyOf = (algorithm: DkimAlgorithm) => {
  const made = makeDkimKey(algorithm);
  const selector = dkimLabel({ selector: 's1', algorithm });
  zone[`${selector}._domainkey.${domain}`] = dkimText(made);
  return { selector, algorithm, privateKey: readPrivateKey(made.privateKey) };
};
const [rsa, ed25519] = [keyOf('rsa'), keyOf('ed25519')];
const now = new Date('2026-11-26T10:00:00Z');

const signed = (raw: Buffer, keys = [rsa]) =>
  Buffer.concat([Buffer.from(signatureHeaders(raw, { domain, keys }, now)), raw]);
const results = async (raw: Buffer) => (await verifyDkim(raw, zone)).map(({ result }) => result);

const mail: ComposedMail = {
  emailId: '0190a0a0-0000-7000-8000-000000000001',
  date: now,
  from: { name: 'Łódź Shop', address: `team@${domain}` },
  to: { name: null, address: 'ada@x.example' },
  replyTo: 'help@shop.example',
  subject: 'Grüße, und ein Betreff, der so lang ist, dass er in mehreren Zeilen stehen muss',
  html: '<p>Grüße  an   alle</p>\n\n<p>ein Ende \t</p>\n\n\n',
  headers: [
    { name: 'List-Unsubscribe', value: '<https://api.example/unsubscribe/1>' },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
    { name: 'X-Own', value: 'a value' },
  ],
  attachments: [],
};
const file = {
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  disposition: 'attachment' as const,
  contentId: null,
  content: Buffer.alloc(1_000_000, 'x').toString('base64'),
};

describe('a signature', () => {
  it.each([
    ['a mail with umlauts and headers in several lines', mail],
    ['a mail with a file of a megabyte', { ...mail, attachments: [file] }],
    ['a mail without a word', { ...mail, html: '', text: '', subject: '' }],
  ])('is right for another verifier: %s', async (_, given) => {
    expect(await results(signed(await composeMessage(given)))).toEqual(['pass']);
  });

  it('stands in the first lines, which are short, with its tags', async () => {
    const raw = signed(await composeMessage(mail));
    expect(raw.toString().startsWith('DKIM-Signature: v=1; a=rsa-sha256;')).toBe(true);
    for (const line of raw.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    expect(signatureTags(raw)).toEqual({
      v: '1',
      a: 'rsa-sha256',
      c: 'relaxed/relaxed',
      d: domain,
      s: 's1',
      t: String(now.getTime() / 1000),
      h:
        'From:From:To:To:Cc:Subject:Subject:Date:Date:Message-ID:Message-ID:Reply-To:Reply-To:' +
        'MIME-Version:MIME-Version:Content-Type:Content-Type:List-Unsubscribe:List-Unsubscribe:' +
        'List-Unsubscribe-Post:List-Unsubscribe-Post:X-Everpost-Email',
      bh: expect.any(String),
      b: expect.any(String),
    });
  });

  it.each([
    ['a byte of the body', (text: string) => text.replace('an', 'am')],
    ['the subject', (text: string) => text.replace('Subject: ', 'Subject: Re: ')],
    ['the opt-out link', (text: string) => text.replace('unsubscribe/1', 'unsubscribe/2')],
    ['a second sender', (text: string) => text.replace('From: ', 'From: eve@x.example\r\nFrom: ')],
    [
      'a second sender below',
      (text: string) => text.replace('To: ', 'From: eve@x.example\r\nTo: '),
    ],
    ['a copy', (text: string) => text.replace('To: ', 'Cc: eve@x.example\r\nTo: ')],
  ])('is wrong after a change of %s', async (_, change) => {
    const raw = signed(await composeMessage(mail)).toString();
    const changed = change(raw);
    expect(changed).not.toBe(raw);
    expect((await results(Buffer.from(changed)))[0]).not.toBe('pass');
  });

  it('survives what servers on the way do to blanks and unknown headers', async () => {
    const raw = signed(await composeMessage(mail)).toString();
    const moved = raw
      .replace('Subject: ', 'SUBJECT:   ')
      .replace('X-Own: a value', 'X-Own: another value')
      .replace(/$/, '\r\n\r\n');
    expect(await results(Buffer.from(`Received: from x by y\r\n${moved}`))).toEqual(['pass']);
  });

  it('is made by each key', async () => {
    const raw = signed(await composeMessage(mail), [rsa, ed25519]);
    expect(await verifyDkim(raw, zone)).toEqual([
      { domain, selector: 's1', algorithm: 'rsa-sha256', result: 'pass' },
      { domain, selector: 's1-e', algorithm: 'ed25519-sha256', result: 'pass' },
    ]);
  });

  it('is right whatever blanks and lines a body has', { timeout: 60_000 }, async () => {
    const line = fc.string({ unit: fc.constantFrom(' ', '\t', 'a', '.', '='), maxLength: 12 });
    const body = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\r\n'));
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const raw = Buffer.from(`From: a@${domain}\r\nSubject:\r\n\r\na\r\n${text}\r\n`);
        expect(await results(signed(raw))).toEqual(['pass']);
      }),
      { numRuns: 150 },
    );
  });

  it('is right where a long body is read in pieces', async () => {
    const lines = Array.from({ length: 9_000 }, (_, at) => `${' '.repeat(at % 7)}line ${at} \t `);
    const raw = Buffer.from(`From: a@${domain}\r\n\r\n${lines.join('\r\n')}\r\n`);
    expect(raw.length).toBeGreaterThan(128 * 1024);
    expect(await results(signed(raw))).toEqual(['pass']);
  });
});

describe('the threads', () => {
  const threads = createDkimThreads();
  atEnd(() => threads.close());

  it('sign a message with a key that they have made', async () => {
    const { privateKey, publicKey } = await threads.makeKey('rsa', 'shop');
    const keys = [
      { selector: 's2', algorithm: 'rsa' as const, privateKey: readPrivateKey(privateKey) },
    ];
    const records = { [`s2._domainkey.${domain}`]: dkimText({ algorithm: 'rsa', publicKey }) };
    const raw = await composeMessage({ ...mail, attachments: [file] });
    const given = Buffer.from(raw);
    const message = await threads.sign(raw, { domain, keys }, 'shop');
    expect((await verifyDkim(message, records)).map(({ result }) => result)).toEqual(['pass']);
    expect(message.subarray(-raw.length)).toEqual(given);
  });

  it('refuse to sign with a key of another kind', async () => {
    const raw = await composeMessage(mail);
    const keys = [{ ...ed25519, algorithm: 'rsa' as const }];
    await expect(threads.sign(raw, { domain, keys }, 'shop')).rejects.toThrow('cannot sign');
  });
});
