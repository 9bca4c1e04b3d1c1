import { LRUCache } from 'lru-cache';
import type { Database } from '../../../db/database.ts';
import { readRouting } from '../../../db/routing/routing.ts';
import type { Route, Routes } from '../../../domain/routing/routing.ts';
import type { MailPool, PoolProvider } from '../../../providers/mail-pool.ts';

/** Reads the routes of a project, and the providers that these routes may name. */

export interface RoutingServices {
  db: Database;
  /** `default` sends all mail without a route. */
  mailPool: Pick<MailPool, 'default' | 'providersOf'>;
  /** The routes of the installation, which apply to mail that no route of its project matches. */
  routes: readonly Route[];
}

export interface ProjectRouting {
  routes: Routes;
  providers: ReadonlyMap<string, PoolProvider>;
}

/** Milliseconds for which a project's routes are cached. */
const freshMs = 4_000;
const projectsMax = 2_000;

type KnownRoutes = LRUCache<string, Promise<readonly Route[]>>;
const knownByDatabase = new WeakMap<Database, KnownRoutes>();

/** Returns the routing of a project, whose parts are cached for `freshMs`. */
export async function routingOf(
  { db, mailPool, routes }: RoutingServices,
  projectId: string,
): Promise<ProjectRouting> {
  const [own, providers] = await Promise.all([
    routesOf(db, projectId),
    mailPool.providersOf(projectId),
  ]);
  return {
    routes: { own, installation: routes },
    providers: new Map(providers.map((provider) => [provider.id, provider])),
  };
}

function routesOf(db: Database, projectId: string): Promise<readonly Route[]> {
  const known: KnownRoutes =
    knownByDatabase.get(db) ?? new LRUCache({ max: projectsMax, ttl: freshMs });
  knownByDatabase.set(db, known);
  const before = known.get(projectId);
  if (before) return before;
  const reading = readRouting(db, projectId).then((routing) => routing.routes);
  known.set(projectId, reading);
  // A failed read is not cached.
  reading.catch(() => known.delete(projectId));
  return reading;
}
