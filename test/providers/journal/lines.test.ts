import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  answerLine,
  begunLine,
  claimLine,
  codeIn,
  contentLine,
  endLine,
  headerLine,
  readJournal,
} from '../../../providers/journal/lines.ts';

const at = Date.UTC(2026, 10, 26);
const bytes = 4_096;
const header = { boot: 'b00t', database: '7 16384 16500', bytes };

/** Fills a file up with zero bytes, as its writer does. */
function fileOf(lines: readonly string[], size = bytes): Buffer {
  const file = Buffer.alloc(size);
  file.write(lines.join(''), 'latin1');
  return file;
}

const claim = () => ({
  attemptId: randomUUID(),
  projectId: randomUUID(),
  campaignId: randomUUID(),
});

const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('accepted' as const),
      messageId: fc.string({ unit: 'binary', maxLength: 40 }),
      delivered: fc.boolean(),
      isUnreported: fc.constant(true),
    },
    { requiredKeys: ['kind', 'messageId', 'delivered'] },
  ),
  fc.record({
    kind: fc.constant('refused' as const),
    code: fc.constantFrom('', '550 5.1.1', 'MessageRejected (400)'),
    isRecipient: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('retry' as const),
    code: fc.constantFrom('', '451'),
    isAboutMessage: fc.boolean(),
    retryAfterMs: fc.nat(),
  }),
);

/** Messages that were begun in one of two attempts; null: there was no answer. */
const messages = fc.array(
  fc.record({
    attempt: fc.nat(1),
    id: fc.uuid(),
    answer: fc.option(answer, { nil: null }),
  }),
  { minLength: 1, maxLength: 12 },
);

function linesOf(given: readonly { attempt: number; id: string; answer: Answer | null }[]) {
  const claims = [claim(), claim()];
  return {
    claims,
    lines: [
      headerLine(header, at),
      ...claims.map((one, number) => claimLine(number, one, at)),
      ...given.flatMap(({ attempt, id, answer: own }) => [
        begunLine(attempt, id, at),
        ...(own ? [answerLine(attempt, id, own, at)] : []),
      ]),
    ],
  };
}

describe('a journal', () => {
  it('is read as it was written, with any id of a provider', () => {
    fc.assert(
      fc.property(messages, (given) => {
        const { claims, lines } = linesOf(given);
        const read = readJournal(fileOf(lines, 16_384));
        expect(read.header).toEqual(header);
        claims.forEach((one, number) => {
          const own = given.filter(({ attempt }) => attempt === number);
          expect(read.attempts[number]).toEqual({
            ...one,
            content: null,
            isVoid: false,
            hasEnded: false,
            begun: new Map(own.map(({ id, answer: known }) => [id, known])),
          });
        });
      }),
    );
  });

  it('has the content of a chunk, and the end of an attempt', () => {
    const content = { version: 3, throttledAt: '2026-11-26T10:00:00.000Z' };
    const [first, second] = [claim(), { ...claim(), campaignId: null }];
    const lines = [
      headerLine(header, at),
      claimLine(0, first, at),
      contentLine(0, content),
      claimLine(1, second, at),
      endLine(1),
    ];
    const read = readJournal(fileOf(lines));
    expect(read.isWhole).toBe(true);
    expect(read.attempts).toMatchObject([
      { ...first, content, hasEnded: false },
      { ...second, content: null, hasEnded: true },
    ]);
  });

  it('is not whole when it was cut anywhere, and then says nothing that was not so', () => {
    fc.assert(
      fc.property(messages, fc.nat(bytes - 1), (given, size) => {
        const { lines } = linesOf(given);
        const whole = readJournal(fileOf(lines));
        const cut = readJournal(fileOf(lines).subarray(0, size));
        expect(cut.isWhole).toBe(false);
        for (const [number, attempt] of cut.attempts.entries()) {
          for (const [id, known] of attempt.begun) {
            const said = whole.attempts[number]!.begun;
            expect(said.has(id)).toBe(true);
            if (known) expect(said.get(id)).toEqual(known);
          }
        }
      }),
    );
  });

  it('is not whole when a byte was changed anywhere', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, place, change) => {
        const { lines } = linesOf(given);
        const file = fileOf(lines);
        const position = place % file.length;
        const was = file.readUInt8(position);
        // The mark of a void claim is the only change that a writer makes.
        fc.pre(!(was === 0x63 && (was ^ change) === 0x76));
        file.writeUInt8(was ^ change, position);
        const read = readJournal(file);
        expect(read.isWhole).toBe(false);
      }),
    );
  });

  it('is not whole when it ends in the middle of a line', () => {
    const { lines } = linesOf([{ attempt: 0, id: randomUUID(), answer: null }]);
    const torn = [...lines.slice(0, -1), lines.at(-1)!.slice(0, 20)];
    expect(readJournal(fileOf(torn)).isWhole).toBe(false);
  });

  it('is nothing when its file is empty', () => {
    expect(readJournal(Buffer.alloc(0))).toEqual({ header: null, attempts: [], isWhole: false });
  });
});

describe('the code of an answer', () => {
  it.each([
    ['The server refused the recipient: 550 5.1.1 <ada@shop.example> unknown', '550 5.1.1'],
    ['The server refused the message: 451 try later', '451'],
    [
      'MessageRejected (400): Email address is not verified: ada@shop.example',
      'MessageRejected (400)',
    ],
    ['connect ECONNREFUSED', ''],
  ])('in "%s" is "%s", without an address', (error, code) => {
    expect(codeIn(error)).toBe(code);
  });
});
