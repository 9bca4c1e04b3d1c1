import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { createPayments, type Payments } from '../../providers/payments/stripe.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Our requests against Stripe's own mock, which checks them against Stripe's OpenAPI document.
 * It is built with Go; without Go these tests are skipped.
 */

let server: ChildProcess | undefined;
let releasePort: (() => Promise<void> | void) | undefined;
let payments: Payments;

/** The path of the mock, built once for all runs; null where Go is missing. */
function stripeMock(): string | null {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const dir = path.join(cache, 'everpost', 'stripe-mock');
  const program = path.join(dir, 'stripe-mock');
  if (existsSync(program)) return program;
  for (const go of ['go', '/usr/local/go/bin/go']) {
    try {
      execFileSync(go, ['install', 'github.com/stripe/stripe-mock@v0.203.0'], {
        stdio: 'ignore',
        timeout: 240_000,
        env: { ...process.env, GOBIN: dir },
      });
      return existsSync(program) ? program : null;
    } catch {}
  }
  return null;
}

const program = stripeMock();

beforeAll(async () => {
  if (!program) return;
  const { port, release } = await claimFreePort();
  releasePort = release;
  server = spawn(program, ['-http-addr', `127.0.0.1:${port}`], { stdio: 'ignore' });
  const apiBase = `http://127.0.0.1:${port}`;
  await waitFor(
    'stripe-mock',
    () =>
      fetch(apiBase).then(
        () => true,
        () => null,
      ),
    30_000,
  );
  payments = createPayments({
    secretKey: 'sk_test_123',
    webhookSecret: 'whsec_1',
    priceOnboarding: 'price_1',
    priceEmailUsage: 'price_2',
    meterEventName: 'emails',
    apiBase,
  });
}, 300_000);

afterAll(async () => {
  await releasePort?.();
  if (!server || server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.kill();
  await ended;
});

describe.runIf(program !== null)('Stripe takes our requests (left out without Go)', () => {
  it('to check out, as a new customer and as a former one', async () => {
    const order = {
      projectId: randomUUID(),
      email: 'ada@shop.example',
      currency: 'eur',
      returnUrl: 'https://app.shop.example',
      server: 'https://api.shop.example',
    } as const;
    for (const customer of [null, 'cus_1']) {
      expect(await payments.createCheckout({ ...order, customer })).toMatch(/^https:/);
    }
  });

  it('for the portal', async () => {
    expect(await payments.createPortal('cus_1', 'https://app.shop.example')).toMatch(/^https:/);
  });

  it('about subscriptions, invoices, credits and charges', async () => {
    expect(await payments.findSubscription('sub_1')).toMatchObject({
      isLive: true,
      currency: expect.any(String),
      period: { start: expect.any(Date), end: expect.any(Date) },
    });
    expect(await payments.findUpcomingInvoice('cus_1', 'sub_1')).toMatchObject({
      amountDue: expect.any(Number),
      periodEnd: expect.any(Date),
    });
    const [invoice] = await payments.listInvoices('cus_1');
    expect(invoice).toMatchObject({ id: expect.any(String), created: expect.any(Date) });
    await payments.findCredits('cus_1');
    expect(['owed', 'settled']).toContain(await payments.findInvoice(invoice!.id));
    await payments.findCustomerOfCharge('ch_1');
    await payments.endSubscription('sub_1');
  });

  it('to count a message', async () => {
    const usage = { emailId: randomUUID(), customer: 'cus_1', units: 2, sentAt: new Date() };
    await expect(payments.reportUsage(usage)).resolves.toBeUndefined();
  });
});
