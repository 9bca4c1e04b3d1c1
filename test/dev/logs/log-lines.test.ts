import { expect, it } from 'vitest';
import { createLog } from '../../../api/http/log.ts';
import { isError, lineReader } from '../../../dev/logs/log-lines.ts';

/** Returns an entry of the API's log as `lineReader` prints it. */
function read(fields: object, message: string): string {
  const lines: string[] = [];
  const reader = lineReader({ colour: false });
  const stream = { write: (line: string) => void lines.push(reader('api', line)) };
  createLog({ logLevel: 'info', environment: 'development' }, stream).info(fields, message);
  return lines.join('\n').replace(/\d\d:\d\d:\d\d/, 'hh:mm:ss');
}

it('prints a request in one line', () => {
  const request = { requestId: 'x', method: 'POST', path: '/v1/send', status: 200, ms: 12 };
  expect(read(request, 'request')).toBe('api    | [hh:mm:ss] INFO: POST /v1/send 200 in 12 ms');
});

it('prints any other entry with its details behind it', () => {
  expect(read({ port: 8080 }, 'listening')).toBe(
    'api    | [hh:mm:ss] INFO: listening {"port":8080}',
  );
});

it('prints an error with its stack, line by line', () => {
  const told = read({ error: new Error('boom') }, 'request failed');
  expect(told).toContain('"message": "boom"');
  expect(told).toMatch(/\n +at /);
});

it.each(['plain', '{"not":"an entry"}', '{broken', '7'])('leaves %s as it is', (line) => {
  expect(lineReader({ colour: true })('worker', line)).toBe(`worker | ${line}`);
});

it.each([
  ['{"level":30,"msg":"request"}', false],
  ['{"level":40,"msg":"a warning"}', false],
  ['{"level":50,"msg":"an error"}', true],
  ['Error: boom', true],
])('prints %s without --verbose: %s', (line, isPrinted) => {
  expect(isError(line)).toBe(isPrinted);
});
