import { once } from 'node:events';
import { createServer } from 'node:http';
import { listen } from '../providers/listening.ts';

export interface HealthChecks {
  /** Returns true if all workers of the process poll their task queues. */
  workers(): Promise<boolean>;
  database(): Promise<boolean>;
  temporal(): Promise<boolean>;
}

/**
 * Serves `GET /health/live` (200 while the process runs) and `GET /health/ready` (200, or 503 with
 * the failed checks), as the API does.
 * @throws Error with a sentence for the operator when the port is not available
 */
export async function serveHealth(
  { port, host }: { port: number; host: string },
  checks: HealthChecks,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(request.url ?? '', checks).then(({ status, body }) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body)),
    );
  });
  await listen(server, { name: 'WORKER_HEALTH_PORT', port, host });
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  url: string,
  checks: HealthChecks,
): Promise<{ status: number; body: unknown }> {
  if (url === '/health/live') return { status: 200, body: { status: 'ok' } };
  if (url !== '/health/ready') return { status: 404, body: { status: 'failed' } };
  const results = await Promise.all(
    (['workers', 'database', 'temporal'] as const).map(async (name) => {
      const isOk = await checks[name]().catch(() => false);
      return [name, isOk ? 'ok' : 'failed'] as const;
    }),
  );
  const isReady = results.every(([, word]) => word === 'ok');
  const body = { status: isReady ? 'ok' : 'failed', checks: Object.fromEntries(results) };
  return { status: isReady ? 200 : 503, body };
}
