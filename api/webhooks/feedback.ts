import { z } from 'zod';
import { insertReportReceipt } from '../../db/emails/report-receipts.ts';
import { transact } from '../../db/database.ts';
import { recordInboundMail } from '../../db/transactions/mail/record-inbound.ts';
import { notFound } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { mailProviders } from '../../providers/mail-providers.ts';
import type {
  FeedbackDefinition,
  FeedbackRequest,
  SentReport,
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
    unavailable: ({ mail }) => (mail.trustedTopics[kind] ? null : 'RESOURCE_NOT_FOUND'),
    bodyBytesMax: limits.jsonBodyBytes,
    response: z.object({ success: z.literal(true), message: z.string().optional() }),
    problems: ['RESOURCE_NOT_FOUND', 'EMAIL_NOT_FOUND', ...problems],
    example: { response: { success: true } },
    async handle(call) {
      const { config, feedbackReaders, log } = call;
      const trusted = config.mail.trustedTopics[kind] ?? [];
      const request = await feedbackReaders[kind]?.read(call.request.bytes, trusted, log);
      return { success: true as const, ...(request && (await record(call, request))) };
    },
  });
}

async function record(call: Services, request: FeedbackRequest): Promise<{ message?: string }> {
  switch (request.kind) {
    case 'feedback':
      await recordReport(call, request.report);
      return {};
    case 'inbound':
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
 * Milliseconds that a notification may wait for others. At 500 per second, 50 arrive in this time and
 * fill a transaction. SNS waits 15 seconds for the response.
 */
const maxDelayMs = 100;

/**
 * Stores the receipt and all effects in one transaction. A failure leaves nothing behind, and the
 * provider repeats the report.
 */
async function recordReport(call: Services, { feedback, ...report }: SentReport): Promise<void> {
  const answer = await call.feedback.record({ ...report, feedback: [feedback] }, maxDelayMs);
  // The acceptance of a message that is not ours does not matter.
  if (answer === 'unknown' && feedback.kind !== 'accepted') {
    throw notFound('EMAIL', report.emailId ?? report.messageId);
  }
}
