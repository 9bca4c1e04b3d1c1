import { describe, expect, it } from 'vitest';
import { createLog as createApiLog, requestMessage } from '../api/http/log.ts';
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

  it('leave out addresses, wherever they are', () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const log = createLog({ logLevel: 'info', environment: 'development' }, stream);
    const addresses = [
      'ada@people.test',
      "o'hara+news@mail.people.test",
      'ADA@People.Test',
      'ada%40people.test',
      'zoë@müller.test',
    ];
    for (const address of addresses) {
      log.warn({ path: `/suppression-list/${address}` }, `550 5.1.1 <${address}>: unknown`);
      log.error({ error: new Error(`No such user: ${address}`), to: [address] }, 'failed');
    }
    expect(lines.join('')).not.toMatch(/ada|hara|zoë|people|müller/i);
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    log.info({ at: 'node_modules/@temporalio/worker/lib' }, 'said');
    expect(lines.at(-1)).toContain('node_modules/@temporalio/worker/lib');
  });

  it('leave out keys, tokens, signatures and ids of contacts, wherever they are', () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const log = createLog({ logLevel: 'info', environment: 'development' }, stream);
    const id = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
    const hex = '8f'.repeat(32);
    const secrets = [
      `/unsubscribe/${id}`,
      `https://api.test/manage/${id}?e=${id}`,
      `/confirm/${id}`,
      `/t/c/${id}?u=aHR0cHM6Ly9zaG9wLnRlc3Q&s=abcdefghijkl`,
      `/contacts/${id}/topics`,
      `https://app.test/auth/reset-password?token=${hex}`,
      `sk_${hex}`,
      `whsec_${hex}`,
      'eyJhbGciOiJIUzI1NiJ9.eyJpZCI6IjEifQ.c2lnbmF0dXJl',
    ];
    log.warn({ error: new Error(`Cannot reach ${secrets[1]}`), path: secrets[0] }, secrets[5]);
    for (const secret of secrets) log.info({ a: { b: { c: secret } } }, `was ${secret}.`);
    const text = lines.join('');
    for (const part of [id, hex, 'aHR0cHM6Ly9zaG9wLnRlc3Q', 'abcdefghijkl', 'c2lnbmF0dXJl']) {
      expect(text).not.toContain(part);
    }
    expect(lines).toHaveLength(secrets.length + 1);
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});

it('the API writes the lines of requests together, with or before any other line', async () => {
  const written: string[] = [];
  const stream = { write: (lines: string) => void written.push(lines) };
  const log = createApiLog({ logLevel: 'info', environment: 'development' }, stream, 50);
  const messages = () =>
    written.map((lines) =>
      lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).msg as string),
    );
  log.info({ n: 1 }, requestMessage);
  log.child({}).info({ n: 2 }, requestMessage);
  expect(messages()).toEqual([]);
  log.error('Oh');
  expect(messages()).toEqual([[requestMessage, requestMessage, 'Oh']]);
  log.info({ n: 3 }, requestMessage);
  await expect.poll(messages).toHaveLength(2);
});
