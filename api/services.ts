import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { onCommitted } from '../db/commits.ts';
import { ExportSlots } from '../db/contacts/export-slots.ts';
import type { DatabaseWatch, OpenDatabase } from '../db/database.ts';
import { readDomainLists } from '../providers/domain-lists.ts';
import { createSns } from '../providers/mail/sns.ts';
import { createDrawer } from '../providers/rendering/drawer.ts';
import { createOAuth } from '../providers/oauth.ts';
import { createSharedServices } from '../services.ts';
import type { Temporal } from '../workflows/client/connection.ts';
import { hasSweep } from '../workflows/client/schedule.ts';
import { ProjectKeys } from './services/project-keys.ts';
import { Recent } from './services/recent.ts';
import { FeedbackQueue } from './services/feedback-queue.ts';
import { TrackQueue } from './services/track-queue.ts';
import { createRateLimits } from './services/rate-limit.ts';
import type { Services } from './services/services.ts';
import { backgroundState } from './services/background.ts';

/** Creates the handlers' services from the settings. `overrides` replace some of them. */
export function createServices(
  opened: {
    config: Config;
    database: OpenDatabase;
    watch: DatabaseWatch;
    temporal: Temporal;
    log: Logger;
  },
  overrides: Partial<Services> = {},
): Services {
  const { config, database, watch, temporal, log } = opened;
  const { db, pool, shares } = database;
  const recent = new Recent();
  const startedAt = Date.now();
  const services: Services = {
    ...createSharedServices({ config, db, client: temporal.client, log }),
    config,
    domainLists: readDomainLists(config.domainLists),
    oauth: createOAuth(config.oauth),
    sns: createSns(),
    drawer: createDrawer(),
    rateLimits: createRateLimits(pool, config.rateLimit),
    keys: new ProjectKeys(db),
    feedback: new FeedbackQueue({ db, shares, autoDisable: config.autoProjectDisable }),
    tracking: new TrackQueue(shares),
    shares,
    exports: new ExportSlots(config.databasePoolMax),
    recent,
    databaseAnswers: () => watch.answers(),
    temporalAnswers: () => temporal.answers(),
    background: () =>
      recent.get('background', async () =>
        backgroundState({
          hasSchedule: await hasSweep(temporal.client, config.temporal.taskQueue),
          sweepAgeMs: await watch.sweepAgeMs(),
          uptimeMs: Date.now() - startedAt,
        }),
      ),
    stopping: new AbortController().signal,
    ...overrides,
  };
  onCommitted(db, (runs) => services.dispatcher.handOn(runs));
  return services;
}
