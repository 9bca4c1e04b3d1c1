import type { Config } from '../../config.ts';
import type { DomainLists } from '../../domain/mail/verify-email.ts';
import type { OAuth } from '../../providers/oauth.ts';
import type { Drawer } from '../../providers/rendering/drawer.ts';
import type { Sns } from '../../providers/mail/sns.ts';
import type { ExportSlots } from '../../db/contacts/export-slots.ts';
import type { Shares } from '../../db/shares.ts';
import type { SharedServices } from '../../services.ts';
import type { ProjectKeys } from './project-keys.ts';
import type { Recent } from './recent.ts';
import type { FeedbackQueue } from './feedback-queue.ts';
import type { TrackQueue } from './track-queue.ts';
import type { BackgroundState } from './background.ts';
import type { RateLimits } from './rate-limit.ts';

/** The services of every handler. */
export interface Services extends SharedServices {
  config: Config;
  domainLists: DomainLists;
  oauth: OAuth;
  sns: Sns;
  drawer: Drawer;
  rateLimits: RateLimits;
  keys: ProjectKeys;
  /** Records feedback on mail, that of many requests together. */
  feedback: FeedbackQueue;
  /** Records tracked events, those of many requests together. */
  tracking: TrackQueue;
  /** For the requests of one project: at most a share of the connections. */
  shares: Shares;
  /** For exports, which hold a connection as long as their client reads. */
  exports: ExportSlots;
  /** True when the database responds, asked over a connection of its own. */
  databaseAnswers: () => Promise<boolean>;
  /** True when the Temporal server responds. */
  temporalAnswers: () => Promise<boolean>;
  /** Whether the work in the background goes on, for a few seconds. */
  background: () => Promise<BackgroundState>;
  /** Answers that may be a few seconds old. */
  recent: Recent;
  /** Aborted when the process is about to end: long requests stop where they can be continued. */
  stopping: AbortSignal;
}
