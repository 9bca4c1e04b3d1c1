import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { onCommitted } from '../db/commits.ts';
import type { DatabaseWatch, OpenDatabase } from '../db/database.ts';
import { readDomainLists } from '../providers/domain-lists.ts';
import { createSns } from '../providers/mail/sns.ts';
import { createOAuth } from '../providers/oauth.ts';
import { createSharedServices } from '../services.ts';
import type { Temporal } from '../workflows/client/connection.ts';
import { ProjectKeys } from './access/project-keys.ts';
import { FeedbackQueue } from './emails/feedback-queue.ts';
import { TrackQueue } from './events/track-queue.ts';
import { createRateLimits } from './http/rate-limit.ts';
import type { Services } from './http/services.ts';

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
  const services: Services = {
    ...createSharedServices({ config, db, client: temporal.client, log }),
    config,
    domainLists: readDomainLists(config.domainLists),
    oauth: createOAuth(config.oauth),
    sns: createSns(),
    rateLimits: createRateLimits(pool, config.rateLimit),
    keys: new ProjectKeys(db),
    feedback: new FeedbackQueue({ db, shares, autoDisable: config.autoProjectDisable }),
    tracking: new TrackQueue(shares),
    shares,
    databaseAnswers: () => watch.answers(),
    temporalAnswers: () => temporal.answers(),
    stopping: new AbortController().signal,
    ...overrides,
  };
  onCommitted(db, (runs) => services.dispatcher.handOn(runs));
  return services;
}
