import { Kysely, PostgresDialect } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { Problem } from '../domain/errors.ts';
import { commitLike } from './commits.ts';
import type { DB } from './tables.ts';

/** Maximum number of connections of a share for each free connection of the pool. */
const heldPerFree = 3;
/** Maximum number of statements and transactions of one share that wait for a connection. */
const waitingMax = 1_000;
/**
 * Maximum number of unused shares that are kept for the next tenants, because creating a share
 * takes longer than many requests.
 */
const sparesMax = 100;

interface Share {
  db: Kysely<DB>;
  /** Number of running calls of `within`. The share exists until this number is 0. */
  users: number;
  /** Number of connections that the share uses or has just requested. */
  held: number;
  /** Waiting callers, first come, first served. */
  waiting: Set<() => void>;
}

/**
 * Divides the connections of a pool between tenants, so that a tenant whose statements wait for a
 * lock does not stop the others. It uses dynamic thresholds (Choudhury and Hahne, "Dynamic queue
 * length thresholds for shared-memory packet switches", 1998): a share takes another connection
 * only if it then has at most three times as many as remain free.
 * A single tenant gets three quarters of the pool, two tenants get three sevenths each, and one
 * connection always stays free for other users of the pool. With a smaller factor, a server with
 * one tenant would waste connections; with a larger one, few would be left for the second tenant.
 * A caller must not wait for a connection of a share while it has another connection of the pool:
 * with a pool of two, all shares together get only one, so the caller would wait for itself.
 */
export class Shares {
  readonly #pool: Pool;
  readonly #owner: Kysely<DB>;
  readonly #waitMs: number;
  readonly #shares = new Map<string, Share>();
  readonly #spares: Share[] = [];
  /** Shares with waiting callers. The share that was served last is at the end. */
  readonly #queue = new Set<Share>();

  /**
   * Divides the connections of this pool.
   * @param owner the handle on the whole pool
   * @param waitMs maximum wait of a statement for a connection of its share; 0: without limit
   */
  constructor(pool: Pool, owner: Kysely<DB>, waitMs: number) {
    this.#pool = pool;
    this.#owner = owner;
    this.#waitMs = waitMs;
    // The pool counts the connection as free only after this event.
    pool.on('release', () => {
      if (this.#queue.size > 0) process.nextTick(() => this.#serve());
    });
  }

  /**
   * Runs `work` for a tenant, with a handle on the tenant's share.
   * @throws Problem SERVICE_UNAVAILABLE from a statement that has waited too long for a connection
   */
  async within<T>(tenant: string, work: (db: Kysely<DB>) => Promise<T>): Promise<T> {
    const share = this.#shares.get(tenant) ?? this.#spares.pop() ?? this.#open();
    this.#shares.set(tenant, share);
    share.users += 1;
    try {
      return await work(share.db);
    } finally {
      share.users -= 1;
      if (share.users === 0) this.#close(tenant, share);
    }
  }

  #open(): Share {
    const pool = { connect: () => this.#connect(share), end: async () => {} };
    const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
    commitLike(db, this.#owner);
    const share: Share = { db, users: 0, held: 0, waiting: new Set() };
    return share;
  }

  #close(tenant: string, share: Share): void {
    this.#shares.delete(tenant);
    const isIdle = share.held === 0 && share.waiting.size === 0;
    if (isIdle && this.#spares.length < sparesMax) this.#spares.push(share);
  }

  #mayTake(share: Share): boolean {
    const { options, totalCount, idleCount, waitingCount } = this.#pool;
    // Other users of the pool go first: callers that wait in the pool itself count as if they had a
    // connection.
    const free = options.max - (totalCount - idleCount) - waitingCount;
    return share.held + 1 <= heldPerFree * (free - 1);
  }

  #connect(share: Share): Promise<PoolClient> {
    if (share.waiting.size === 0 && this.#mayTake(share)) return this.#take(share);
    if (share.waiting.size >= waitingMax) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        share.waiting.delete(next);
        if (share.waiting.size === 0) this.#queue.delete(share);
      };
      const next = () => {
        leave();
        resolve(this.#take(share));
      };
      const giveUp = () => {
        leave();
        reject(tooMany());
      };
      const timer = this.#waitMs > 0 ? setTimeout(giveUp, this.#waitMs) : undefined;
      share.waiting.add(next);
      this.#queue.add(share);
    });
  }

  async #take(share: Share): Promise<PoolClient> {
    share.held += 1;
    const giveBack = () => {
      share.held -= 1;
      this.#serve();
    };
    try {
      // From this call on, the pool counts the connection as used.
      const client = await this.#pool.connect();
      const release = client.release.bind(client);
      client.release = (error) => {
        release(error);
        giveBack();
      };
      return client;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #serve(): void {
    for (const share of this.#queue) {
      const [next] = share.waiting;
      if (!next || !this.#mayTake(share)) continue;
      this.#queue.delete(share);
      next();
      // At the end of the queue, the share is served after the others.
      if (share.waiting.size > 0) this.#queue.add(share);
    }
  }
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this project are waiting for the database.',
    suggestion: 'Send fewer requests at once, and repeat this one later.',
  });
}
