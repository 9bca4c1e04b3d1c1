import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { Dispatcher } from '../../domain/runs.ts';
import type { DomainLists } from '../../domain/mail/verify-email.ts';
import type { Dns } from '../../providers/dns.ts';
import type { Files } from '../../providers/files.ts';
import type { Identities } from '../../providers/mail/identities.ts';
import type { OAuth } from '../../providers/oauth.ts';
import type { Payments } from '../../providers/payments.ts';
import type { Sns } from '../../providers/mail/sns.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';
import type { Cipher } from '../../providers/encryption.ts';
import type { RateLimits } from './rate-limit.ts';

/** What every handler may use. */
export interface Services {
  db: Database;
  config: Config;
  dispatcher: Dispatcher;
  identities: Identities;
  dns: Dns;
  renderer: TemplateRenderer;
  domainLists: DomainLists;
  oauth: OAuth;
  /** null: billing is off. */
  payments: Payments | null;
  /** null: nothing can be uploaded. */
  files: Files | null;
  sns: Sns;
  cipher: Cipher;
  rateLimits: RateLimits;
  log: Logger;
  /** True when the Temporal server answers. */
  temporalAnswers: () => Promise<boolean>;
}
