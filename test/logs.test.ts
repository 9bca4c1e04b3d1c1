import { describe, expect, it } from 'vitest';
import { createLog as createApiLog } from '../api/log.ts';
import { createLog as createWorkerLog } from '../worker/log.ts';

describe.each([
  ['the API', createApiLog],
  ['the worker', createWorkerLog],
])('the log of %s', (_, createLog) => {
  it.each([
    ['development', true],
    ['production', false],
  ])('in %s tells where an error came from: %s', (environment, hasStack) => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    createLog({ logLevel: 'info', environment }, stream).error(
      { error: new Error('Oh') },
      'failed',
    );
    const { error } = JSON.parse(lines.join('')) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ type: 'Error', message: 'Oh' });
    expect('stack' in error).toBe(hasStack);
  });
});
