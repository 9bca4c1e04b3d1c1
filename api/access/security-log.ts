import type { Context } from 'koa';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import {
  insertSecurityEvent,
  type SecurityEvent,
  type SecurityEventName,
} from '../../db/accounts/security-events.ts';
import { actorOf, type Caller } from './caller.ts';

/** A security event as a handler reports it. `SecurityLog` adds the actor and the client. */
export interface NotedEvent {
  event: SecurityEventName;
  /** The acting user, if it is not the caller, for example before the login. */
  userId?: string | null;
  projectId?: string | null;
  /** The changed record. */
  target?: SecurityEvent['target'];
  /** The changed fields: see `changesBetween`. With an empty list, no event is stored. */
  changes?: SecurityEvent['changes'];
  /** Ids and short texts, never a secret. */
  details?: SecurityEvent['details'];
}

/** The security log of one request. */
export class SecurityLog {
  readonly #services: { db: Database; log: Logger };
  readonly #ctx: Context;
  readonly #caller: Caller;
  /** The events by their content, so that an event of a retried transaction is kept once. */
  readonly #noted = new Map<string, SecurityEvent>();

  constructor(services: { db: Database; log: Logger }, ctx: Context, caller: Caller) {
    this.#services = services;
    this.#ctx = ctx;
    this.#caller = caller;
  }

  /**
   * Stores an event, in the given transaction if any. The event is logged when the request has
   * succeeded.
   */
  async note(given: NotedEvent, tx: Database = this.#services.db): Promise<void> {
    if (given.changes?.length === 0) return;
    const event = this.#complete(given);
    await insertSecurityEvent(tx, event);
    this.#noted.set(JSON.stringify(event), event);
  }

  /**
   * Logs a refusal at once, and stores it if its user is known. The response does not wait for the
   * database, because the waiting time would reveal that the account exists.
   */
  noteRefusal(given: NotedEvent): void {
    const { db, log } = this.#services;
    const event = this.#complete(given);
    this.#write(event);
    if (event.userId === null) return;
    insertSecurityEvent(db, event).catch((error: unknown) => {
      log.error({ error, event: event.event }, 'A refusal was not stored in the security log');
    });
  }

  /** Writes the log lines of the stored events. */
  flush(): void {
    for (const event of this.#noted.values()) this.#write(event);
    this.#noted.clear();
  }

  #write(event: SecurityEvent): void {
    // `ctx.state` has the project's public id. Clients see only this id, and a reset project has
    // another row id.
    const projectId = (this.#ctx.state['projectId'] as string | undefined) ?? event.projectId;
    // The id of a contact gives access to its public pages, so it is stored in the row but never
    // logged. Changed values may be addresses of members.
    const { target, changes: _changes, ...logged } = event;
    const { contactId: _, ...details } = event.details;
    const shown = target?.type === 'contact' ? { type: target.type } : target;
    this.#services.log.info({ ...logged, target: shown, projectId, details }, 'security');
  }

  #complete(given: NotedEvent): SecurityEvent {
    const { event, projectId = null, target = null, changes = null, details = {} } = given;
    const caller = this.#caller;
    const userId = given.userId === undefined ? (caller?.userId ?? null) : given.userId;
    const isKey = given.userId === undefined && caller?.kind === 'project';
    return {
      event,
      userId,
      actor: isKey ? actorOf(caller) : userId && `user:${userId}`,
      projectId,
      ip: this.#ctx.ip,
      requestId: this.#ctx.state['requestId'] as string,
      target,
      changes,
      details,
    };
  }
}

/** Logs a request that was refused because its caller is unknown or has no permission. */
export function logRefusedAccess(
  log: Logger,
  ctx: Context,
  { code, path }: { code: string; path: string },
): void {
  log.info(
    {
      event: 'access.refused',
      code,
      method: ctx.method,
      path,
      ip: ctx.ip,
      requestId: ctx.state['requestId'] as string,
      userId: (ctx.state['userId'] as string | undefined) ?? null,
      projectId: (ctx.state['projectId'] as string | undefined) ?? null,
    },
    'security',
  );
}
