import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readContactRows } from '../../../activities/contacts/csv.ts';
import { CsvFault, readHeader, readRow } from '../../../domain/contact/csv.ts';

const cell = (value: string) => {
  const read = readRow(readHeader(['email', 'value']), ['a@b.example', value], 2);
  return 'data' in read ? read.data['value'] : read;
};
const row = (names: string[], ...cells: string[]) => readRow(readHeader(names), cells, 2);
const ada = { row: 2, email: 'ada@x.example', subscribed: null, data: {} };

describe('a data cell', () => {
  it.each([
    ['007', '007'],
    ['42', 42],
    ['4.50', 4.5],
    ['yes', true],
    ['1e10', '1e10'],
    ['0', 0],
    ['-3', -3],
    ['4.5', 4.5],
    ['-0.25', -0.25],
    ['0.50', 0.5],
    ['TRUE', true],
    ['No', false],
    ['False', false],
    ['+42', '+42'],
    ['.5', '.5'],
    ['42.', '42.'],
    ['-007', '-007'],
    ['00.5', '00.5'],
    ['1,000', '1,000'],
    ['0x10', '0x10'],
    ['Infinity', 'Infinity'],
    ['9007199254740992', 2 ** 53],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    [`${'9'.repeat(400)}.5`, `${'9'.repeat(400)}.5`],
    ['-0', '-0'],
    ['-0.00', '-0.00'],
    ['0.00', 0],
    ['+4915112345678', '+4915112345678'],
    ['0049151', '0049151'],
    ['1E5', '1E5'],
    ['1.23456789012345', 1.23456789012345],
    ['1.234567890123456789', '1.234567890123456789'],
    ['0.000000000000001', 0.000000000000001],
    ['12345678901234.56', '12345678901234.56'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['  Ada  ', 'Ada'],
    ['', undefined],
    ['   ', undefined],
  ])('%s is stored as %s', (text, value) => expect(cell(text)).toBe(value));

  it('for a language is always text: Norwegian is no no', () => {
    expect(row(['email', 'Locale'], 'ada@x.example', 'no')).toEqual({
      ...ada,
      data: { locale: 'no' },
    });
  });

  it('is read without loss: what is stored as a number is written the same', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        expect(cell(String(value))).toBe(value === 0 ? 0 : value);
      }),
    );
  });
});

describe('a subscription cell', () => {
  it.each([
    ['true', true],
    ['1', true],
    ['YES', true],
    ['', null],
    ['no', false],
    ['0', false],
    ['whatever', false],
  ])('%s means %s', (text, subscribed) => {
    expect(row(['email', 'Subscribed'], 'ada@x.example', text)).toEqual({ ...ada, subscribed });
  });
});

describe('the header', () => {
  it('is trimmed and in any case; other columns become keys in lower case', () => {
    expect(row([' Email ', 'First Name'], ' ADA@x.example ', 'Ada')).toEqual({
      ...ada,
      data: { 'first name': 'Ada' },
    });
  });

  it('drops columns that mean the system’s own values, and those without a name', () => {
    const names = 'id createdAt UpdatedAt svc_id svc_email unsubscribeUrl subscribeUrl manageUrl';
    const header = ['email', ...names.split(' '), '', 'plan'];
    expect(row(header, 'ada@x.example', ...names.split(' '), '9', 'pro')).toEqual({
      ...ada,
      data: { plan: 'pro' },
    });
  });

  it('of two columns for the address or the subscription the first counts', () => {
    const header = ['email', 'EMAIL', 'subscribed', 'Subscribed'];
    const read = row(header, 'ada@x.example', 'b@x.example', 'no', 'yes');
    expect(read).toEqual({ ...ada, subscribed: false });
  });

  it('of two data columns with one name the last that is not empty counts', () => {
    expect(row(['email', 'a', 'A', 'a'], 'ada@x.example', '1', '2', '')).toEqual({
      ...ada,
      data: { a: 2 },
    });
  });

  it('without a column for the address is refused, and so is one with a NUL', () => {
    expect(() => readHeader(['mail', 'name'])).toThrow(CsvFault);
    expect(() => readHeader(['email', 'a\0b'])).toThrow(CsvFault);
  });

  it.each(['__proto__', ' __PROTO__ '])(
    'with a column %j is refused, as JSON with such a key is',
    (name) => {
      expect(() => readHeader(['email', name])).toThrow('names a column __proto__');
    },
  );

  it('may name a key like a part of JavaScript', () => {
    const read = row(['email', 'prototype', 'constructor'], 'ada@x.example', 'a', 'b');
    expect('data' in read && Object.entries(read.data)).toEqual([
      ['prototype', 'a'],
      ['constructor', 'b'],
    ]);
  });
});

describe('a row', () => {
  it.each([
    ['', 'The row has no email address.'],
    ['nope', 'Not an email address.'],
    ['a\0@x.example', 'Cell 1 contains a NUL character. Remove it.'],
  ])('with the address %j is refused: %s', (address, error) => {
    const email = address.replace('\0', '\uFFFD');
    expect(row(['email'], address)).toEqual({ row: 2, email, error });
  });

  it('with a NUL anywhere is refused', () => {
    const refused = {
      row: 2,
      email: 'ada@x.example',
      error: expect.stringMatching(/^Cell [12] contains a NUL/),
    };
    expect(row(['email', 'id'], 'ada@x.example', 'a\0')).toEqual(refused);
    expect(row(['email'], 'ada@x.example', 'a\0')).toEqual(refused);
  });

  it('with too much data is refused: bytes, keys, length of a key', () => {
    const tooLong = row(['email', 'text'], 'ada@x.example', 'x'.repeat(65_536));
    const keys = Array.from({ length: 501 }, (_, index) => `k${index}`);
    const tooMany = row(['email', ...keys], 'ada@x.example', ...keys);
    const tooLongKey = row(['email', 'k'.repeat(101)], 'ada@x.example', '1');
    for (const read of [tooLong, tooMany, tooLongKey]) {
      expect(read).toMatchObject({ row: 2, email: 'ada@x.example', error: expect.any(String) });
    }
  });

  it('that is short or long has missing cells or ignored ones', () => {
    expect(row(['email', 'a'], 'ada@x.example')).toEqual(ada);
    expect(row(['email'], 'ada@x.example', 'more')).toEqual(ada);
  });

  it('lists a long address cut', () => {
    const read = row(['email'], 'x'.repeat(10_000));
    expect('error' in read && read.email.length).toBe(320);
  });
});

/** Splits a file into small pieces, also within characters and line ends. */
function* pieces(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length; at += 3) yield file.subarray(at, at + 3);
}

describe('a file', () => {
  const read = async (file: string | Buffer) => {
    const rows = [];
    for await (const read of readContactRows(pieces(Buffer.from(file)))) rows.push(...read);
    return rows;
  };

  it('has rows numbered from 2, without empty lines; a cell over several lines is one row', async () => {
    const rows = await read(
      '\uFEFFEmail,Note\r\nada@x.example,"a\r\nb"\r\n\r\n  \r\nbo@x.example\n"c@x.example" , "says ""hi"""',
    );
    expect(rows).toEqual([
      { ...ada, data: { note: 'a\r\nb' } },
      { row: 3, email: 'bo@x.example', subscribed: null, data: {} },
      { row: 4, email: 'c@x.example', subscribed: null, data: { note: 'says "hi"' } },
    ]);
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['a lone CR', '\r'],
    ['CR and an empty line of CRLF', '\r\r\n'],
  ])('whose lines end with %s has all its rows, and one error of a stray quote', async (_, end) => {
    const lines = ['email,plan', 'ada@x.example,pro', 'eve@x.example,5" disk', 'bo@x.example,"f"'];
    const [first, stray, last, ...more] = await read(lines.map((line) => line + end).join(''));
    expect([first, last, more]).toEqual([
      { ...ada, data: { plan: 'pro' } },
      { row: 4, email: 'bo@x.example', subscribed: null, data: { plan: 'f' } },
      [],
    ]);
    expect(stray).toEqual({ row: 3, email: '', error: expect.stringMatching(/quotation mark is/) });
  });

  it('may mix line ends, and a quoted cell keeps its lone CR', async () => {
    const rows = await read('email,note\rada@x.example,"a\rb"\nbo@x.example,"c"\r\nc@x.example,d');
    expect(rows).toEqual([
      { ...ada, data: { note: 'a\rb' } },
      { row: 3, email: 'bo@x.example', subscribed: null, data: { note: 'c' } },
      { row: 4, email: 'c@x.example', subscribed: null, data: { note: 'd' } },
    ]);
  });

  it('may have no rows', async () => {
    expect(await read('email,name')).toEqual([]);
  });

  it.each([
    ['nothing', '', /empty/],
    ['only empty lines', '\n\r\n \n', /empty/],
    ['UTF-16', Buffer.from('\uFEFFemail\na@b.example', 'utf16le'), /UTF-16/],
    ['a torn character', Buffer.from('email,name\na@b.example,Zo\u00eb').subarray(0, -1), /UTF-8/],
    ['Latin-1', Buffer.from('email,name\na@b.example,Zoë', 'latin1'), /UTF-8/],
    ['an image', Buffer.from('89504e470d0a1a0a0000000d', 'hex'), /UTF-8/],
    [
      'a quote in the header',
      'email,5" disk\na@b.example,x\n',
      /not valid CSV\. In line 1, a quotation mark is /,
    ],
    ['an open quote in the header', 'email,"name\na@b.example,x\n', /In line 1, .* not closed/],
    [
      'no column for the address',
      'mail\na@b.example',
      /name a column "email". It names "mail"; columns are separated by commas/,
    ],
  ])('of %s is refused', async (_, file, reason) => {
    await expect(read(file)).rejects.toThrow(reason);
    await expect(read(file)).rejects.toBeInstanceOf(CsvFault);
  });

  it.each([
    ['a quote that is not closed', 'c@x.example,"Ada', /In line 4, .* not closed\./],
    ['a quote in the middle', 'c@x.example,5" disk', /In line 4, a quotation mark is /],
    ['text behind a quote', 'c@x.example,"Ada"m', /In line 4, a quotation mark is /],
  ])('with %s has one row with an error, in the line that is named', async (_, line, reason) => {
    const rows = await read(
      `email,note\nada@x.example,"two\nlines"\n${line}\nbo@x.example,1\r\n\ndi@x.example,"x"\n`,
    );
    expect(rows).toEqual([
      { ...ada, data: { note: 'two\nlines' } },
      { row: 3, email: '', error: expect.stringMatching(reason) },
      { row: 4, email: 'bo@x.example', subscribed: null, data: { note: 1 } },
      { row: 5, email: 'di@x.example', subscribed: null, data: { note: 'x' } },
    ]);
  });

  it('with many of them has as many errors, and is read in time proportional to its length', async () => {
    const started = performance.now();
    for (const line of ['a@x.example,"', 'a@x.example,5"', '","', 'a@x.example,b']) {
      const lines = `${line}\n`.repeat(200_000 / (line.length + 1));
      const file = [Buffer.from(`email,note\nb@x.example,"\n`), Buffer.from(lines)];
      let count = 0;
      for await (const rows of readContactRows(file)) count += rows.length;
      expect(count).toBeGreaterThan(1_000);
    }
    for await (const rows of readContactRows([Buffer.from(`email${',"a"'.repeat(60_000)}`)])) {
      expect(rows).toEqual([]);
    }
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('takes the first quote that is never closed for one, and reads the lines behind it', async () => {
    const lines = Array.from({ length: 40_000 }, (_, index) => `p${index}@x.example,${index}`);
    const file = ['email,note', 'open@x.example,"never', ...lines].join('\n');
    const pieces = Array.from({ length: Math.ceil(file.length / 128_000) }, (_, index) =>
      Buffer.from(file.slice(index * 128_000, (index + 1) * 128_000)),
    );
    const rows = [];
    for await (const part of readContactRows(pieces)) rows.push(...part);
    expect(rows).toHaveLength(40_001);
    expect(rows[0]).toMatchObject({ row: 2, error: expect.stringContaining('In line 2, ') });
    expect(rows.filter((row) => 'error' in row)).toHaveLength(1);
    expect(rows.at(-1)).toMatchObject({ row: 40_002, email: 'p39999@x.example' });
  });

  it('reads back whatever a writer of CSV has written', async () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 50 }), async (values) => {
        const lines = values.map((value) => `a@b.example,"x${value.replaceAll('"', '""')}x"`);
        const rows = await read(['email,value', ...lines].join('\r\n'));
        expect(rows.map((one) => 'data' in one && one.data['value'])).toEqual(
          values.map((value) => `x${value}x`),
        );
      }),
      { numRuns: 50 },
    );
  });
});
