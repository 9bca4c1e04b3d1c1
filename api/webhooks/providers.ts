import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { findReportingProvider } from '../../db/providers/webhooks.ts';
import { notFound } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { limits } from '../../domain/limits.ts';
import { needsFeedbackSecret } from '../../domain/provider/provider.ts';
import type { InstallationProvider } from '../../providers/mail/pool/providers-file.ts';
import type { FeedbackAdapter, WebhookRequest } from '../../providers/mail/services/adapter.ts';
import { adapterOf } from '../../providers/mail/services/adapters.ts';
import { requireTrue } from '../../providers/mail/services/authentication.ts';
import { eventsIn, readReport } from '../../providers/mail/services/read.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { recordServiceEvents } from '../services/service-events.ts';

export const receiveProviderEvents = endpoint({
  id: 'receiveProviderEvents',
  method: 'POST',
  path: '/webhooks/providers/{id}/{token}',
  summary: 'Take the reports of a mail service',
  description:
    'The webhook address of a mail provider: its `feedbackUrl`. The body is JSON as the service ' +
    'sends it: one event, or a list of at most 10,000. An event counts if it is about mail that ' +
    'this provider took; `applied` counts these, `ignored` the others and repeats. It also works ' +
    'while the provider or its project is disabled. PROVIDER_NOT_FOUND: the id or the token is ' +
    'wrong. MISSING_SIGNATURE, INVALID_SIGNATURE: the request is not proven with the ' +
    '`feedbackSecret` of the provider. SERVICE_UNAVAILABLE: send it again; nothing counts twice.',
  access: 'open',
  limit: 'none',
  asSent: true,
  bodyBytesMax: limits.feedbackBytes,
  params: z.object({
    id: z.string().describe('Id of the mail provider'),
    token: z.string().describe('Token of its webhook address'),
  }),
  response: z.object({ success: z.literal(true), applied: z.int(), ignored: z.int() }),
  problems: [
    'PROVIDER_NOT_FOUND',
    'INVALID_REQUEST_BODY',
    'MISSING_SIGNATURE',
    'INVALID_SIGNATURE',
    'SERVICE_UNAVAILABLE',
  ],
  example: { response: { success: true, applied: 499, ignored: 1 } },
  async handle(call) {
    const { adapter, isSigned, secret, ...takenBy } = await requireProvider(call, call.params);
    const now = new Date();
    const request = webhookRequest(call.request);
    if (secret !== null) adapter.authenticate(request, secret, now);
    // This check is only a safeguard, because a provider whose service signs requests cannot be
    // created without a secret.
    else requireTrue(!isSigned);
    const events = request.events();
    const applied = await recordServiceEvents(call.feedback, takenBy, events, (event) =>
      readReport(adapter, event, { request, now }),
    );
    return { success: true as const, applied, ignored: events.length - applied };
  },
});

function webhookRequest({ bytes, header }: Call<'open', unknown, unknown, unknown>['request']) {
  let events: readonly unknown[] | undefined;
  const request: WebhookRequest = { bytes, header, events: () => (events ??= eventsIn(bytes)) };
  return request;
}

interface Provider {
  providerId: string;
  projectId: string | null;
  adapter: FeedbackAdapter;
  /** True if the provider's service signs requests, so that a secret is required. */
  isSigned: boolean;
  /** null: the token in the address is the only authentication. */
  secret: string | null;
}

/**
 * Finds a provider by id and token.
 * @throws Problem PROVIDER_NOT_FOUND, for a wrong id and for a wrong token
 */
async function requireProvider(
  { db, cipher, config }: Call<'open', unknown, unknown, unknown>,
  { id, token }: { id: string; token: string },
): Promise<Provider> {
  const tokenHash = hash('sha256', token, 'buffer');
  const row = isUuid(id)
    ? await findReportingProvider(db, id, tokenHash)
    : findShared(config.mail.providers, id, tokenHash);
  const adapter = row && adapterOf(row.feedback);
  if (!row || !adapter) throw notFound('PROVIDER', id);
  const { secret } = row;
  return {
    providerId: row.id,
    projectId: row.projectId,
    adapter,
    isSigned: needsFeedbackSecret(row.feedback),
    secret: typeof secret === 'string' || secret === null ? secret : cipher.decrypt(secret),
  };
}

/** Returns a provider of the installation with this id and token. */
function findShared(providers: readonly InstallationProvider[], id: string, tokenHash: Buffer) {
  const found = providers.find((one) => one.id === id);
  if (!found?.feedbackToken) return undefined;
  const isToken = timingSafeEqual(hash('sha256', found.feedbackToken, 'buffer'), tokenHash);
  return isToken
    ? { id, projectId: null, feedback: found.feedback, secret: found.feedbackSecret }
    : undefined;
}
