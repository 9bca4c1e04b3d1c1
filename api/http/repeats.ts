import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { actorOf } from '../access/caller.ts';
import type { AnyEndpoint } from './endpoint.ts';
import type { Services } from '../services/services.ts';
import { asProblem, errorBody } from './envelope.ts';
import { type Prepared, runHandler } from './handling.ts';
import {
  honoursKey,
  type KeySpace,
  type KeyUse,
  type StoredAnswer,
  useIdempotencyKey,
} from './idempotency.ts';

/**
 * Milliseconds between renewals of a running request's idempotency key: a fifth of the time after
 * which an unrenewed key is stale.
 */
const keyRenewalMs = limits.idempotencyStaleMs / 5;

/** Runs the handler, or repeats the stored response for the request's key. */
export async function runOnce(
  ctx: Context,
  endpoint: AnyEndpoint,
  prepared: Prepared,
  services: Services,
): Promise<StoredAnswer> {
  const space = keySpace(endpoint, prepared);
  const key = ctx.get('idempotency-key');
  // An empty header counts as a key that is too short, not as a missing key.
  if (space === null || ctx.headers['idempotency-key'] === undefined) {
    return runHandler(ctx, endpoint, prepared, null, services);
  }
  const { caller, body } = prepared;
  const request = {
    space,
    key,
    actor: caller ? actorOf(caller) : '',
    showsSecret: endpoint.showsSecret ?? false,
    method: endpoint.method,
    path: ctx.path,
    body,
  };
  const settle = (work: () => Promise<void>, over = () => {}) =>
    settleKey(work, over, services.log);
  const use = await useIdempotencyKey(
    {
      db: prepared.db,
      settleDb: services.db,
      settle,
      cipher: services.cipher,
      ttlHours: services.config.idempotencyTtlHours,
    },
    request,
  ).catch((error: unknown) => {
    if (error instanceof Problem && error.status === 409) ctx.state['idempotency'] = 'refused';
    throw error;
  });
  ctx.state['idempotency'] = 'replay' in use ? 'replayed' : 'first';
  if ('replay' in use) {
    ctx.set('Idempotency-Replayed', 'true');
    return use.replay;
  }
  const { first } = use;
  const renewal = setInterval(() => void first.renew().catch(() => {}), keyRenewalMs);
  const over = () => clearInterval(renewal);
  const answered = await runHandler(ctx, endpoint, prepared, first, services).catch(
    async (error: unknown) => {
      await settle(() => settleRefusal(first, error, ctx.state['requestId'] as string), over);
      throw error;
    },
  );
  await settle(() => first.complete(answered), over);
  return answered;
}

/**
 * Milliseconds between two attempts to store the response of a request, or to release its
 * idempotency key.
 */
const settleEveryMs = 1_000;
/**
 * Milliseconds between the last attempt and the time when the idempotency key may be stale: longer
 * than a statement may take.
 */
const settleMarginMs = 60_000;

/**
 * Ends the use of an idempotency key: `settle` stores the response or releases the key. Then calls
 * `over`. If `settle` fails, it is repeated every second after the response, until shortly before
 * the key is stale. So once the database is available again, a repeated request finds the stored
 * response, or a free key. Never throws.
 */
async function settleKey(
  settle: () => Promise<void>,
  over: () => void,
  log: Services['log'],
): Promise<void> {
  const attempt = () =>
    settle().then(
      () => null,
      (error: unknown) => ({ error }),
    );
  const failed = await attempt();
  if (!failed) return over();
  log.warn(failed, 'An idempotency key could not be settled; it is tried again');
  void (async () => {
    // Attempts end before another request may take the key over.
    const end = Date.now() + limits.idempotencyStaleMs - settleMarginMs;
    do await sleep(settleEveryMs, null, { ref: false });
    while ((await attempt()) && Date.now() < end);
    over();
  })();
}

/**
 * Ends the use of an idempotency key by a failed request. After a client error, or if a service was
 * unavailable, the key is released, because a repeated request may succeed. After an internal
 * error, the key is released if mail was accepted, because a repeated request continues after that
 * mail. Otherwise the error is stored as the response, because part of the work may be done.
 */
async function settleRefusal(use: KeyUse, error: unknown, requestId: string): Promise<void> {
  const problem = asProblem(error);
  const isFree = problem.status < 500 || problem.status === 503;
  if (isFree || (await use.hasAccepted())) return use.release();
  const text = JSON.stringify(errorBody(problem, requestId));
  return use.complete({ status: problem.status, text });
}

/** Returns the scope of the idempotency key of a request; null: the header is ignored. */
function keySpace(endpoint: AnyEndpoint, { caller, member }: Prepared): KeySpace | null {
  if (caller === null || !honoursKey(endpoint)) return null;
  if (caller.kind === 'project') {
    const { projectId: ownerId, key, isPublic } = caller;
    return { ownerId, callerId: key?.id ?? (isPublic ? 'public' : null) };
  }
  return { ownerId: member?.projectId ?? caller.userId, callerId: null };
}
