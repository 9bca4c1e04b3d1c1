import fc from 'fast-check';
import PostalMime, { decodeWords } from 'postal-mime';
import { describe, expect, it } from 'vitest';
import {
  composeMessage,
  messageBytesEstimate,
  textFromHtml,
  type ComposedMail,
  type MailAttachment,
} from '../../../providers/mail/mime.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

const emailId = 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21';

function mail(more: Partial<ComposedMail> = {}): ComposedMail {
  return {
    emailId,
    date: new Date('2026-11-21T08:30:01.000Z'),
    from: { name: 'Shop', address: 'hi@shop.test' },
    to: { name: null, address: 'ada@x.test' },
    replyTo: null,
    subject: 'Hi Ada',
    html: '<p>Hello</p>',
    headers: [],
    attachments: [],
    ...more,
  };
}

function file(more: Partial<MailAttachment> = {}): MailAttachment {
  return {
    filename: 'a.txt',
    contentType: 'text/plain',
    disposition: 'attachment',
    contentId: null,
    content: Buffer.from('file').toString('base64'),
    ...more,
  };
}

async function composed(more: Partial<ComposedMail> = {}) {
  const raw = await composeMessage(mail(more));
  const text = raw.toString('latin1');
  const headers = text
    .slice(0, text.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]/g, ' ')
    .split('\r\n');
  return { raw, text, headers, parsed: await PostalMime.parse(raw) };
}

/** Checks the rules that every message must meet, whatever its content. */
function expectWellFormed(text: string, headers: string[]) {
  expect(text).toMatch(/^[\r\n\t -~]*$/);
  expect(text).not.toMatch(/^\./m);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(text.split('\r\n').every((line) => line.length <= 998)).toBe(true);
  for (const name of ['From', 'To', 'Subject', 'Message-ID', 'Date', 'MIME-Version']) {
    const same = headers.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
    expect(same, name).toHaveLength(1);
  }
  expect(
    headers.filter((line) => /^(bcc|cc|sender|content-transfer-encoding):/i.test(line)),
  ).toEqual([]);
}

describe('headers', () => {
  it('are ours, once each', async () => {
    const { headers, text } = await composed({ replyTo: 'help@shop.test' });
    expectWellFormed(text, headers);
    expect(headers).toEqual([
      'From: Shop <hi@shop.test>',
      'Reply-To: help@shop.test',
      `Message-ID: <${emailId}@shop.test>`,
      'MIME-Version: 1.0',
      `X-Everpost-Email: ${emailId}`,
      'To: ada@x.test',
      'Subject: Hi Ada',
      'Date: Sat, 21 Nov 2026 08:30:01 +0000',
      `Content-Type: multipart/alternative; boundary="=_alternative_${emailId}"`,
    ]);
  });

  it('encode names and subjects that are not ASCII', async () => {
    const { parsed, text, headers } = await composed({
      from: { name: 'Bücher & Möbel', address: 'hi@shop.test' },
      to: { name: '💌 Ada, "die Erste"', address: 'ada@x.test' },
      subject: 'Grüße 👩‍👩‍👧‍👦 an dich, und noch viel mehr Wörter, damit es gefaltet wird 👍🏽',
    });
    expectWellFormed(text, headers);
    expect(parsed.from).toMatchObject({ name: 'Bücher & Möbel', address: 'hi@shop.test' });
    expect(parsed.to?.[0]).toMatchObject({ name: '💌 Ada, "die Erste"', address: 'ada@x.test' });
    expect(parsed.subject).toBe(
      'Grüße 👩‍👩‍👧‍👦 an dich, und noch viel mehr Wörter, damit es gefaltet wird 👍🏽',
    );
  });

  it('quote names with commas and brackets', async () => {
    const { parsed } = await composed({
      from: { name: 'Shop, Inc. <evil@evil.test>', address: 'hi@shop.test' },
    });
    expect(parsed.from).toMatchObject({
      name: 'Shop, Inc. <evil@evil.test>',
      address: 'hi@shop.test',
    });
  });

  it('carry international domains as punycode', async () => {
    const { headers } = await composed({
      from: { name: null, address: 'hi@bücher.test' },
      to: { name: null, address: 'ada@münchen.test' },
    });
    expect(headers).toContain('From: hi@xn--bcher-kva.test');
    expect(headers).toContain('To: ada@xn--mnchen-3ya.test');
    expect(headers).toContain(`Message-ID: <${emailId}@xn--bcher-kva.test>`);
  });

  it('cannot be injected through subject, names or custom values', async () => {
    const evil = 'A\r\nBcc: x@y.z\r\n\r\n<b>body</b>';
    const { parsed, text, headers } = await composed({
      subject: evil,
      from: { name: evil, address: 'hi@shop.test' },
      to: { name: evil, address: 'ada@x.test' },
      headers: [{ name: 'X-A', value: evil }],
    });
    expectWellFormed(text, headers);
    expect(parsed.bcc).toBeUndefined();
    expect(parsed.to).toHaveLength(1);
    expect(parsed.text?.trim()).toBe('Hello');
  });

  it('keep a custom value as one header, with its spelling', async () => {
    const url = `<https://api.shop.test/unsubscribe/${emailId}?e=${emailId}&x=${'y'.repeat(200)}>`;
    const { parsed, headers } = await composed({
      headers: [
        { name: 'List-Unsubscribe', value: url },
        { name: 'X-Größe', value: 'dropped, no header can be named so' },
        { name: 'X-Note', value: 'größer als 💌' },
        { name: 'in-reply-to', value: 'not an id' },
      ],
    });
    expect(headers).toContain(`List-Unsubscribe: ${url}`);
    const values = Object.fromEntries(
      parsed.headers.map(({ key, value }) => [key, decodeWords(value)]),
    );
    expect(values['list-unsubscribe']).toBe(url);
    expect(values['x-note']).toBe('größer als 💌');
    expect(values['in-reply-to']).toBe('not an id');
    expect(Object.keys(values).filter((key) => key.includes('gr'))).toEqual([]);
  });

  it('that are structural, and those SES would obey, cannot be set from outside', async () => {
    const names =
      'From TO cc Bcc Subject Sender Return-Path Reply-To Date Message-Id MIME-Version content-type ' +
      'Content-Transfer-Encoding DKIM-Signature X-Everpost-Email X-Everpost-Else X-SES-Message-Tags';
    const { text, headers } = await composed({
      headers: names.split(' ').map((name) => ({ name, value: 'forged' })),
    });
    expectWellFormed(text, headers);
    expect(text).not.toContain('forged');
  });

  it.each([
    ['of one long word', 'x'.repeat(998)],
    ['of long words', `${'y'.repeat(500)} ${'z'.repeat(497)}`],
    ['of emoji', '💌'.repeat(499)],
  ])('fit into legal lines: a subject and a custom value %s', async (_name, value) => {
    const { parsed, text, headers } = await composed({
      subject: value,
      headers: [{ name: 'X-Long', value }],
    });
    expectWellFormed(text, headers);
    expect(parsed.subject).toBe(value);
    const custom = parsed.headers.find(({ key }) => key === 'x-long');
    expect(decodeWords(custom?.value ?? '')).toBe(value);
  });
});

describe('a custom header', () => {
  it.each([
    ['List-ID', '"Weekly News" <weekly.news.example>'],
    ['X-SMTPAPI', '{"category":"receipt","to":["a"]}'],
    ['X-Note', 'a "quoted" word, a=b; and =?UTF-8?Q?Z=C3=B6e?='],
    ['Disposition-Notification-To', '"Doe, J. (x)" <j@x.example>'],
    ['X-Spaces', `a${' '.repeat(200)}b`],
    ['List-Archive', `<https://x.example/${'a'.repeat(300)}>`],
  ])('%s of ASCII stays as it is written: %s', async (name, value) => {
    const { headers, text } = await composed({ headers: [{ name, value }] });
    expectWellFormed(text, headers);
    expect(headers).toContain(`${name}: ${value}`);
  });

  const jorg = '=?UTF-8?Q?J=C3=B6rg?=';
  it.each([
    ['Disposition-Notification-To', 'Jörg <j@x.example>', `${jorg} <j@x.example>`],
    ['Disposition-Notification-To', '"Jörg" <j@x.example>', `${jorg} <j@x.example>`],
    ['Return-Receipt-To', 'Jörg<j@x.example>,<k@x.example>', `${jorg} <j@x.example>,<k@x.example>`],
    [
      'Return-Receipt-To',
      'J <j@x.example>, Jörg <k@x.example>',
      `J <j@x.example>, ${jorg} <k@x.example>`,
    ],
    ['Return-Receipt-To', 'j@x.example (Jörg)', `j@x.example (${jorg})`],
    [
      'List-ID',
      '"Jörg, J." <weekly.news.example>',
      '=?UTF-8?Q?J=C3=B6rg=2C_J=2E?= <weekly.news.example>',
    ],
    ['List-ID', 'N <wöchentlich.example>', 'N <xn--wchentlich-ecb.example>'],
    ['List-Archive', '<https://x.example/ü?q=ä>', '<https://x.example/%C3%BC?q=%C3%A4>'],
    ['Errors-Reply-To', '<j@bücher.example>', '<j@xn--bcher-kva.example>'],
  ])('%s has its phrases encoded alone: %s', async (name, value, sent) => {
    const { headers, text } = await composed({ headers: [{ name, value }] });
    expectWellFormed(text, headers);
    expect(headers).toContain(`${name}: ${sent}`);
  });

  it('has no line of blanks alone, nor has a subject', async () => {
    for (const blanks of [60, 100, 500, 980]) {
      const value = `Hello${' '.repeat(blanks)}world`;
      const { parsed, headers, text } = await composed({
        subject: value,
        headers: [
          { name: 'X-Long', value },
          { name: 'X-Blank', value: ' '.repeat(blanks) },
        ],
      });
      expectWellFormed(text, headers);
      const head = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n');
      expect(head.filter((line) => line.trim() === '')).toEqual([]);
      expect(parsed.subject).toBe(value);
      expect(decodeWords(parsed.headers.find(({ key }) => key === 'x-long')?.value ?? '')).toBe(
        value,
      );
    }
  });

  it('of ids and addresses of lists is one line where that is legal', async () => {
    const domain = `${'sub.'.repeat(40)}shop.test`;
    const url = `<https://api.shop.test/unsubscribe/${emailId}?e=${emailId}&t=news>`;
    const { text } = await composed({
      from: { name: null, address: `hi@${domain}` },
      headers: [{ name: 'List-Unsubscribe', value: `<mailto:u@shop.test>, ${url}` }],
    });
    const lines = text.split('\r\n');
    expect(lines).toContain(`Message-ID: <${emailId}@${domain}>`);
    expect(lines).toContain(`List-Unsubscribe: <mailto:u@shop.test>, ${url}`);
  });

  it('Reply-To carries all mailboxes with their names', async () => {
    const replyTo = '"Peter" <p@x.example>, "Zoë, S." <s@x.example>, t@x.example';
    const { parsed, headers, text } = await composed({ replyTo });
    expectWellFormed(text, headers);
    expect(parsed.replyTo).toEqual([
      { name: 'Peter', address: 'p@x.example' },
      { name: 'Zoë, S.', address: 's@x.example' },
      { name: '', address: 't@x.example' },
    ]);
  });

  it('of a subject that looks encoded is read as it was written', async () => {
    const subject = 'What is =?UTF-8?Q?this?= and "that"';
    expect((await composed({ subject })).parsed.subject).toBe(subject);
    const { headers } = await composed({ subject: 'A "quoted" word' });
    expect(headers).toContain('Subject: A "quoted" word');
  });
});

describe('parts', () => {
  it('are text first, then HTML, quoted-printable UTF-8', async () => {
    const html = '<p>Größe 💌</p>\n<p>a=b</p>\r\ntrailing \rspace  ';
    const { parsed, text } = await composed({ html });
    expect(text.match(/^Content-Type: .*$/gm)).toEqual([
      'Content-Type: multipart/alternative;',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Type: text/html; charset=utf-8',
    ]);
    expect(text.match(/Content-Transfer-Encoding: .*/g)).toEqual(
      Array(2).fill('Content-Transfer-Encoding: quoted-printable'),
    );
    expect(parsed.html?.trimEnd()).toBe('<p>Größe 💌</p>\n<p>a=b</p>\ntrailing \nspace');
    expect(parsed.text?.trim()).toBe('Größe 💌\n\na=b\n\ntrailing space');
  });

  it('take a text part the caller has already', async () => {
    const { parsed } = await composed({ text: 'my own words' });
    expect(parsed.text?.trim()).toBe('my own words');
  });

  it('hold inline files in "related" and attachments in "mixed"', async () => {
    const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
    const { parsed, text } = await composed({
      html: '<img src="cid:logo@shop" alt="Logo">',
      attachments: [
        file({ contentId: 'not-inline' }),
        file({
          disposition: 'inline',
          contentId: 'logo@shop',
          filename: 'logo.png',
          contentType: 'image/png',
          content: png.replace(/=+$/, ''),
        }),
      ],
    });
    const related = text.slice(
      text.indexOf(`--=_related_${emailId}\r\n`),
      text.indexOf(`--=_related_${emailId}--`),
    );
    expect(related).toContain('Content-ID: <logo@shop>');
    expect(related).toContain('Content-Type: text/html');
    expect(related).not.toContain('a.txt');
    expect(text.match(/multipart\/\w+/g)).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'multipart/related',
    ]);
    const attachments = parsed.attachments.map(({ filename, disposition, contentId, content }) => ({
      filename,
      disposition,
      contentId,
      bytes: Buffer.from(content as ArrayBuffer).toString('latin1'),
    }));
    expect(attachments).toEqual(
      expect.arrayContaining([
        {
          filename: 'a.txt',
          disposition: 'attachment',
          contentId: '<not-inline>',
          bytes: 'file',
        },
        {
          filename: 'logo.png',
          disposition: 'inline',
          contentId: '<logo@shop>',
          bytes: '\x89PNG\r\n\x1a\n',
        },
      ]),
    );
    expect(attachments).toHaveLength(2);
  });

  it('carry a cleaned name, and none in their type', async () => {
    const given = {
      filename: '../a\u202etxt.exe',
      contentType: 'application/pdf; name="b.exe"; charset=utf-8',
    };
    const { parsed, text } = await composed({ attachments: [file(given)] });
    expect(parsed.attachments[0]?.filename).toBe('atxt.exe');
    expect(text).toContain('Content-Type: application/pdf; charset=utf-8');
    expect(text).not.toContain('b.exe');
  });

  it.each([
    'Größenübersicht – für Ada (1).pdf',
    '报价单.pdf',
    '💌.png',
    'a b;c=d.txt',
    'x'.repeat(255),
  ])('carry the file name %s', async (filename) => {
    const { parsed, text, headers } = await composed({ attachments: [file({ filename })] });
    expectWellFormed(text, headers);
    expect(parsed.attachments[0]?.filename).toBe(filename);
  });

  it.each(['message/rfc822', 'multipart/mixed', 'text/plain; charset=x', 'a/b\r\nX-Evil: 1', 'x'])(
    'carry a file of type %j as base64',
    async (contentType) => {
      const { text, headers } = await composed({ attachments: [file({ contentType })] });
      expectWellFormed(text, headers);
      expect(text).toContain('Content-Transfer-Encoding: base64\r\n\r\nZmlsZQ==\r\n');
      expect(text).not.toMatch(/^X-Evil/m);
      expect(text.match(/multipart\/mixed/g)).toHaveLength(1);
    },
  );

  it.each([
    'message/rfc822',
    'Message/Partial; id=x',
    'message/delivery-status',
    'multipart/mixed; boundary=x',
  ])('carry a file of type %s as octets, with its name', async (contentType) => {
    const content = Buffer.from('From: a@x.example\r\nSubject: inner\r\n\r\nInner\r\n');
    const { parsed, text } = await composed({
      attachments: [
        file({ contentType, filename: 'orig.eml', content: content.toString('base64') }),
      ],
    });
    expect(text).toContain('Content-Type: application/octet-stream\r\n');
    expect(text).not.toMatch(/content-type: (message|multipart\/mixed; boundary=x)/i);
    const [attachment] = parsed.attachments;
    expect(attachment).toMatchObject({
      filename: 'orig.eml',
      mimeType: 'application/octet-stream',
    });
    expect(Buffer.from(attachment?.content as ArrayBuffer).equals(content)).toBe(true);
  });

  it('have no line that mailbox files would change', async () => {
    const html = '<p>\nFrom Monday on\n.dot\nFrom: me\nFromage</p>';
    const { parsed, text } = await composed({
      html,
      text: `From Monday\n${'x'.repeat(75)} From y`,
    });
    expect(text).not.toMatch(/^(From |\.)/m);
    expect(parsed.html?.trimEnd()).toBe(html);
    expect(parsed.text?.trimEnd()).toBe(`From Monday\n${'x'.repeat(75)} From y`);
  });

  it('carry 5 MB unchanged', async () => {
    const bytes = Buffer.alloc(5_000_000, 'any bytes \x00\xff');
    const { parsed, text, headers } = await composed({
      attachments: [file({ content: bytes.toString('base64') })],
    });
    expectWellFormed(text, headers);
    const content = parsed.attachments[0]?.content as ArrayBuffer;
    expect(Buffer.from(content).equals(bytes)).toBe(true);
  });

  it('are the same bytes for the same mail', async () => {
    expect(await composeMessage(mail())).toEqual(await composeMessage(mail()));
  });
});

it('any mail is well formed, and reads as it was written', async () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(word, word, word, word, word, async (subject, name, value, html, filename) => {
      const { parsed, text, headers } = await composed({
        subject,
        html,
        from: { name, address: 'hi@shop.test' },
        headers: [{ name: 'X-Custom', value }],
        attachments: [file({ filename: `${filename}.bin` })],
      });
      expectWellFormed(text, headers);
      const plain = (s: string) => s.replace(/\s+/g, ' ').trim();
      expect(plain(parsed.subject ?? '')).toBe(plain(subject));
      expect(plain(parsed.html ?? '')).toBe(plain(html));
      expect(parsed.to).toEqual([{ name: '', address: 'ada@x.test' }]);
      expect(parsed.from?.address).toBe('hi@shop.test');
      expect(text.length).toBeLessThanOrEqual(
        messageBytesEstimate({ ...mail(), subject, html, attachments: [file({ filename })] }),
      );
    }),
    { numRuns: 300 },
  );
});

describe('the estimate', () => {
  it.each([
    ['Latin text', mail({ html: 'plain words '.repeat(100_000) })],
    ['emoji', mail({ html: '💌'.repeat(300_000) })],
    ['a file', mail({ attachments: [file({ content: Buffer.alloc(9e6).toString('base64') })] })],
    ['a hostile header', mail({ headers: [{ name: 'X-A', value: '\u4e2d'.repeat(998) }] })],
  ])('is never below the truth: %s', async (_name, given) => {
    const raw = await composeMessage(given);
    expect(raw.length).toBeLessThanOrEqual(messageBytesEstimate(given));
  });

  it('does not call an ordinary mail with 10 MB of files too large', () => {
    const files = [file({ content: 'x'.repeat(14_000_000) })];
    const html = 'x'.repeat(2_000_000);
    expect(messageBytesEstimate(mail({ html, attachments: files }))).toBeLessThan(40 * 1024 * 1024);
  });
});

describe('text from HTML', () => {
  it.each([
    [
      '<p>See <a href="https://x.test/a?b=1&amp;c=2">this</a></p>',
      'See this (https://x.test/a?b=1&c=2)',
    ],
    ['<a href="https://x.test">https://x.test</a>', 'https://x.test'],
    ['<a href="mailto:a@x.test">a@x.test</a>', 'a@x.test'],
    ['<h1>Hi &amp; bye</h1><p>one<br>two</p>', 'Hi & bye\n\none\ntwo'],
    ['<ul><li>a<li>b</ul>', ' * a\n * b'],
    ['<a href="https://x.test"><img src="l.png" alt="Logo"></a>', 'Logo (https://x.test)'],
    ['<img src="https://api.shop.test/t/o/1.gif" alt="">', ''],
    [
      '<html><head><title>T</title><style>p{}</style></head><body><script>1</script>x</body></html>',
      'x',
    ],
    [
      '<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td><p>d</p></td></tr></table>',
      'a b\n\nc\n\nd',
    ],
    ['<p data-skip-in-text="true">a</p><p>b</p>', 'b'],
    ['<div data-skip-in-text>a<p>b</p></div>c', 'c'],
    ['<span data-skip-in-text="TRUE">a</span>b<img data-skip-in-text alt="x">', 'b'],
    ['<p data-skip-in-text="false">a <b>b</b></p><p>c</p>', 'a b\n\nc'],
    [
      `<div style="display:none">Soon${'&#847; &zwnj; &nbsp; &#8199; &shy; '.repeat(50)}</div><p>Hi</p>`,
      'Soon\n\nHi',
    ],
    [
      `<div>Soon<div>${'\u00a0\u200c\u200b\u200d\u200e\u200f\ufeff'.repeat(30)}</div></div><p>Hi</p>`,
      'Soon\n\nHi',
    ],
    [`<span>${'&nbsp;&zwnj;'.repeat(100)}</span><p>Hi</p>`, 'Hi'],
    [`<span>${'&nbsp;'.repeat(100)}</span><p>Hi</p>`, 'Hi'],
    // Characters in words and emoji, and unusual blanks.
    [
      '<p>👩‍👩‍👧‍👦 می‌خواهم co\u00adop a&nbsp;&nbsp;b \u200fשלום</p>',
      '👩‍👩‍👧‍👦 می‌خواهم co\u00adop a\u00a0\u00a0b \u200fשלום',
    ],
    ['', ''],
  ])('%s', (html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  it('goes on after a picture that is written into the HTML', () => {
    const picture = `<img src="data:image/png;base64,${'A'.repeat(900_000)}">`;
    expect(textFromHtml(`<p>a${picture}b</p>`)).toBe('ab');
  });

  it.each([
    ['div', '<div>'],
    ['b', '<b>'],
    ['tables', '<table><tr><td>'],
    ['lists', '<ul><li>x<br>'],
    ['quotes', '<blockquote>x<br>'],
    ['bodies', '<body>x'],
    ['links', '<a href=x>'],
    ['comments', '<!--'],
    ['brackets', '<'],
    ['entities', '&'],
    ['data', 'data:'],
    ['filler', '&zwnj;&nbsp;'],
    ['blanks', '\u00a0\n'],
    ['what is skipped', '<b data-skip-in-text>'],
  ])('stays quick and small with 2 MB of %s', (_name, piece) => {
    const began = cpuMs();
    const text = textFromHtml(piece.repeat(2_000_000 / piece.length));
    expect(text.length).toBeLessThanOrEqual(250_000);
    // The work alone takes 0.1 s.
    expect(cpuMs() - began).toBeLessThan(2_000);
  });
});
