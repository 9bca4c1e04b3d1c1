import { z } from 'zod';
import { insertReportReceipt } from '../../db/emails/report-receipts.ts';
import { type Database, transact } from '../../db/database.ts';
import { findTopicProviders } from '../../db/providers/webhooks.ts';
import { recordInboundMail } from '../../db/transactions/mail/record-inbound.ts';
import type { Reporter } from '../../db/transactions/mail/reports.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { hasForbiddenText } from '../../domain/text-rules.ts';
import type { InstallationProvider } from '../../providers/mail/pool/providers-file.ts';
import { mailProviders } from '../../providers/mail-providers.ts';
import type {
  FeedbackDefinition,
  FeedbackRequest,
  SentReport,
  TrustedTopics,
} from '../../providers/mail/provider.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';

export const feedbackEndpoints = mailProviders.flatMap(({ kind, feedback }) =>
  feedback ? feedback.endpoints.map((given) => receiver(kind, feedback, given)) : [],
);

function receiver(
  kind: string,
  { summary, description, problems }: FeedbackDefinition,
  { id, path }: FeedbackDefinition['endpoints'][number],
) {
  return endpoint({
    id,
    method: 'POST',
    path,
    summary,
    description,
    access: 'open',
    limit: 'none',
    asSent: true,
    bodyBytesMax: limits.jsonBodyBytes,
    response: z.object({ success: z.literal(true), message: z.string().optional() }),
    problems: ['RESOURCE_NOT_FOUND', 'EMAIL_NOT_FOUND', ...problems],
    example: { response: { success: true } },
    async handle(call) {
      const trust = new TopicTrust(call, kind);
      const { request: sent, log, feedbackReaders } = call;
      const isTrusted = (topic: string) => trust.isTrusted(topic);
      const reading = feedbackReaders[kind]?.read(sent.bytes, isTrusted, log);
      const request = await reading?.catch((error: unknown) => {
        // If the server trusts no topics, requests from other topics than those of mail providers
        // get 404.
        throw trust.isClosed && error instanceof Problem
          ? new Problem('RESOURCE_NOT_FOUND')
          : error;
      });
      const answer = request && (await record(call, request, trust.reporters));
      return { success: true as const, ...answer };
    },
  });
}

/**
 * Decides which SNS topics are trusted: the topics of the server, and the topics of mail providers.
 */
class TopicTrust {
  readonly #db: Database;
  /** The topics of this server; null: the server itself accepts no reports. */
  readonly #own: TrustedTopics | null;
  /** The mail providers of the installation. */
  readonly #shared: readonly InstallationProvider[];
  /** The providers of the topic; null: it is a topic of this server, or no provider has it. */
  reporters: Reporter[] | null = null;

  constructor({ db, config: { mail } }: Pick<Services, 'db' | 'config'>, kind: string) {
    this.#db = db;
    this.#own = mail.trustedTopics[kind] ?? null;
    this.#shared = mail.providers;
  }

  async isTrusted(topic: string): Promise<boolean> {
    const own = this.#own;
    if (own !== null && own !== 'any' && own.includes(topic)) return true;
    if (hasForbiddenText(topic)) return false;
    const reporters = [
      ...this.#shared
        .filter(reportsBy(topic))
        .map(({ id }) => ({ providerId: id, projectId: null })),
      ...(await findTopicProviders(this.#db, topic)),
    ];
    if (reporters.length > 0) this.reporters = reporters;
    return own === 'any' || reporters.length > 0;
  }

  /** True if the server trusts no topics, and no provider of the request's topic was found. */
  get isClosed(): boolean {
    return this.#own === null && this.reporters === null;
  }
}

const reportsBy =
  (topic: string) =>
  ({ fields }: InstallationProvider) =>
    fields.kind === 'ses' && fields.snsTopicArn === topic;

/**
 * Records the content of a request.
 * @param reporters the providers whose mail a report may concern; null: any mail
 */
async function record(
  call: Services,
  request: FeedbackRequest,
  reporters: readonly Reporter[] | null,
): Promise<{ message?: string }> {
  switch (request.kind) {
    case 'feedback':
      await recordReport(call, request.report, reporters);
      return {};
    case 'inbound':
      // Topics of mail providers are refused, because anyone with a provider could report mail that
      // others have received.
      if (reporters)
        return {
          message:
            'Nothing was done: received mail is accepted only from the SNS topics of the operator.',
        };
      await transact(call.db, async (tx) => {
        if (await insertReportReceipt(tx, request.receipt))
          await recordInboundMail(tx, request.mail);
      });
      return {};
    case 'done':
      return request.message === undefined ? {} : { message: request.message };
  }
}

/**
 * Milliseconds for which a notification may wait, so that several notifications are recorded
 * together. At 500 per second, 50 arrive in this time and fill a transaction. SNS waits 15 seconds
 * for the response.
 */
const maxDelayMs = 100;

/**
 * Stores the receipt and all effects of a report in one transaction. If the transaction fails,
 * nothing is stored, and the provider repeats the report.
 */
async function recordReport(
  call: Services,
  { feedback, client, ...report }: SentReport,
  reporters: readonly Reporter[] | null,
): Promise<void> {
  const isRequest = feedback.kind === 'open' || feedback.kind === 'click';
  const given = {
    ...report,
    feedback: [feedback],
    ...(reporters && { takenBy: reporters }),
    ...(client && isRequest && { client: call.clients.describe(client, feedback.kind) }),
  };
  const answer = await call.feedback.record(given, maxDelayMs);
  // Reports that a provider accepted a message are ignored if the message is unknown.
  if (answer === 'unknown' && feedback.kind !== 'accepted') {
    throw notFound('EMAIL', report.emailId ?? report.messageId);
  }
}
