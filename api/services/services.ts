import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { ExportSlots } from '../../db/contacts/export-slots.ts';
import type { Database } from '../../db/database.ts';
import type { Shares } from '../../db/shares.ts';
import type { DomainLists } from '../../domain/mail/verify-email.ts';
import type { Dispatcher } from '../../domain/runs/runs.ts';
import type { Dns } from '../../providers/dns.ts';
import type { Clients } from '../../providers/engagement/clients.ts';
import type { Cipher } from '../../providers/encryption.ts';
import type { Files } from '../../providers/files.ts';
import type { OAuth } from '../../providers/login/oauth.ts';
import type { Oidc } from '../../providers/login/oidc.ts';
import type { DkimThreads } from '../../providers/mail/dkim/threads.ts';
import type { MailPool } from '../../providers/mail-pool.ts';
import type { Identities } from '../../providers/mail/identities.ts';
import type { FeedbackReader } from '../../providers/mail/provider.ts';
import type { Metrics } from '../../providers/metrics/metrics.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import type { Payments } from '../../providers/payments/stripe.ts';
import type { Drawer } from '../../providers/rendering/drawer.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';
import type { WebhookSender } from '../../providers/web/webhook.ts';
import type { BackgroundState } from './background.ts';
import type { EngagementSettler } from './engagement-settler.ts';
import type { FeedbackQueue } from './feedback-queue.ts';
import type { KeyUses } from './key-uses.ts';
import type { KeyOwner, SentKey } from '../../db/projects/key-lookup.ts';
import type { ReportedMail } from '../../db/transactions/mail/reports.ts';
import type { SharedLookup } from './shared-lookup.ts';
import type { RateLimits } from './rate-limit.ts';
import type { Recent } from './recent.ts';
import type { RequestLog } from './request-log.ts';
import type { TrackQueue } from './track-queue.ts';

/** The services that every handler gets. `compose.ts` creates them. */
export interface Services {
  config: Config;
  db: Database;
  log: Logger;
  metrics: Metrics;
  dispatcher: Dispatcher;
  cipher: Cipher;
  /** Creates DKIM keys. */
  dkim: DkimThreads;
  dns: Dns;
  domainLists: DomainLists;
  /** null: uploads are disabled. */
  files: Files | null;
  identities: Identities;
  /** The mail providers of the installation and of projects. */
  mailPool: MailPool;
  oauth: OAuth;
  /** OpenID providers, by id. */
  oidc: ReadonlyMap<string, Oidc>;
  /** null: billing is disabled. */
  payments: Payments | null;
  /** Functions that read the reports of mail providers, by kind of provider. */
  feedbackReaders: Record<string, FeedbackReader>;
  renderer: TemplateRenderer;
  returnPaths: ReturnPaths;
  drawer: Drawer;
  webhooks: WebhookSender;
  rateLimits: RateLimits;
  /**
   * Finds the projects of API keys. The key of each request is looked up and not cached, so a
   * replaced key is invalid at once.
   */
  keys: SharedLookup<SentKey, KeyOwner>;
  /** Finds the mails that reports of mail servers concern, by mail id. */
  reportedMails: SharedLookup<string, ReportedMail>;
  keyUses: KeyUses;
  /** Stores the requests of projects; null: requests are not stored. */
  requestLog: RequestLog | null;
  /** Reduces data about clients of opens and clicks to what may be stored. */
  clients: Clients;
  /** Decides if people or machines caused opens and clicks. */
  settler: EngagementSettler;
  /** Records feedback on mail, for many requests together. */
  feedback: FeedbackQueue;
  /** Records tracked events, for many requests together. */
  tracking: TrackQueue;
  /** Divides the database connections between projects. */
  shares: Shares;
  /** Limits concurrent exports, because each holds a connection while its client reads. */
  exports: ExportSlots;
  /** Cached answers that may be a few seconds old. */
  recent: Recent;
  /** Returns true when the database responds. Uses a separate connection. */
  databaseAnswers: () => Promise<boolean>;
  /** Returns true when the Temporal server responds. */
  temporalAnswers: () => Promise<boolean>;
  /** Returns the state of the background work, at most a few seconds old. */
  background: () => Promise<BackgroundState>;
  /**
   * Aborted when the process is about to end. Long requests then stop at a point from which they
   * can be continued.
   */
  stopping: AbortSignal;
}
