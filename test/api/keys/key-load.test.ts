import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useApiProcess } from '../../support/processes/processes.ts';

/** Keys that change while two API processes take 50 requests a second. */

const engine = await useEngine({}, { worker: false });
const apis = [await useApiProcess(engine), await useApiProcess(engine)] as const;

interface Sent {
  at: number;
  /** Index of the process. */
  on: number;
  status: number;
  reason: string | undefined;
}

const everyMs = 20;

/** Sends 50 requests a second by turns, without waiting for their responses. */
function startLoad(firstKey: string) {
  let key = firstKey;
  const sent: Promise<Sent>[] = [];
  const send = async (on: number): Promise<Sent> => {
    const at = Date.now();
    const body = { email: `visitor-${sent.length}@shop.test`, event: 'visited' };
    const headers = { Authorization: `Bearer ${key}` };
    const { status, body: given } = await apis[on]!.call('POST', '/v1/track', body, headers);
    return { at, on, status, reason: given.error?.details?.reason };
  };
  const begin = Date.now();
  // A timer may be late. Then it sends all requests that are due.
  const timer = setInterval(() => {
    while (sent.length * everyMs < Date.now() - begin) sent.push(send(sent.length % apis.length));
  }, everyMs);
  return {
    use: (value: string) => (key = value),
    async end() {
      clearInterval(timer);
      return Promise.all(sent);
    },
  };
}

async function makeKey(): Promise<{ id: string; key: string }> {
  const given = { name: 'Shop', scopes: ['events:send'] };
  const { status, body } = await apis[0].call('POST', '/api-keys', given);
  expect(status).toBe(201);
  return body;
}

it('a rotation with an overlap loses none of 50 requests a second', async () => {
  const { id, key } = await makeKey();
  const load = startLoad(key);
  await sleep(1_500);
  const { body } = await apis[0].call('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 60 });
  await sleep(1_500);
  load.use(body.key);
  await sleep(1_500);
  const sent = await load.end();
  expect(sent.length).toBeGreaterThan(150);
  expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
}, 60_000);

it.each([
  ['revoked', 'revoked', (id: string) => apis[0].call('DELETE', `/api-keys/${id}`)],
  [
    'rotated without an overlap',
    'expired',
    (id: string) => apis[0].call('POST', `/api-keys/${id}/rotate`, {}),
  ],
])(
  'a key that is %s is refused on every process a second later, under load',
  async (_, reason, end) => {
    const { id, key } = await makeKey();
    const load = startLoad(key);
    await sleep(1_000);
    expect((await end(id)).status).toBeLessThan(300);
    const over = Date.now() + 1_000;
    await sleep(3_000);
    const sent = await load.end();
    expect(sent.some(({ status }) => status === 200)).toBe(true);
    for (const on of [0, 1]) {
      const late = sent.filter((request) => request.on === on && request.at > over);
      expect(late.length).toBeGreaterThan(30);
      const answers = new Set(late.map((request) => `${request.status} ${request.reason}`));
      expect(answers).toEqual(new Set([`401 ${reason}`]));
    }
  },
  60_000,
);
