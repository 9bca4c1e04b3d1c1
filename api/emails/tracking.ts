import { z } from 'zod';
import { isSigned } from '../../providers/encryption.ts';
import { Problem } from '../../domain/errors.ts';
import type { Feedback } from '../../domain/mail/feedback.ts';
import { isUuid } from '../../domain/ids.ts';
import { readTrackedLink, type TrackedLink } from '../../domain/links/tracking.ts';
import { type Call, answer, endpoint } from '../http/endpoint.ts';
import { findTrackingHost } from './tracking-host.ts';
import type { Services } from '../services/services.ts';

/** Targets of the tracking pixel and of tracked links. */

/**
 * Maximum milliseconds for which an open or click waits, so that several opens and clicks are
 * recorded together. The pixel may take longer because it is invisible, but a click must redirect
 * quickly.
 */
const maxDelayMs = { open: 100, click: 20 };

/** The smallest image: one transparent pixel. */
const dot = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const openPixel = endpoint({
  id: 'countOpen',
  method: 'GET',
  path: '/t/o/{emailId}.gif',
  summary: 'The pixel of a mail: counts an open, at most one in 10 seconds',
  description:
    'Returns a transparent GIF of one pixel in any case. Only a signed URL counts. HEAD does not ' +
    'count, but makes opens by the same client count as those of a machine. No rate limit.',
  access: 'open',
  limit: 'none',
  asSent: true,
  contentType: 'image/gif',
  params: z.object({ emailId: z.string() }),
  query: z.object({
    s: z.unknown().optional().meta({ type: 'string', description: 'Signature of the mail' }),
  }),
  response: z.instanceof(Buffer).meta({ type: 'string', format: 'binary' }),
  async handle(call) {
    const { config, params, query } = call;
    const id = params.emailId;
    // Everyone gets the image, but the open counts only with a signed URL: only the mail contains
    // this URL, while others may know the id of the mail.
    if (typeof query.s === 'string' && isSigned(config, 'tracking links', id, query.s)) {
      await count(call, id, {}, { kind: 'open', at: new Date() });
    }
    return answer(dot, { headers: { 'Cache-Control': 'no-store' } });
  },
});

const followLink = endpoint({
  id: 'countClick',
  method: 'GET',
  path: '/t/c/{emailId}',
  summary: 'A link of a mail: counts a click and redirects',
  description:
    'RESOURCE_NOT_FOUND: the signature does not match the target, so there is no redirect. ' +
    'HEAD is redirected but not counted; it makes clicks by the same client count as those of a ' +
    'machine. No rate limit.',
  access: 'open',
  limit: 'none',
  asSent: true,
  status: 302,
  params: z.object({ emailId: z.string() }),
  query: z.object({
    u: z.unknown().optional().meta({ type: 'string', description: 'The target, base64url' }),
    l: z.unknown().optional().meta({
      type: 'string',
      description: 'The id of the link, and the number of links in the mail',
    }),
    s: z
      .unknown()
      .optional()
      .meta({ type: 'string', description: 'Signature of the link and the mail' }),
  }),
  response: z.null(),
  problems: ['RESOURCE_NOT_FOUND'],
  async handle(call) {
    const { config, params, query } = call;
    const { target, ...link } = trustedLink(config, params.emailId, query);
    const click = { kind: 'click', link: target, ...link, at: new Date() } as const;
    await count(call, params.emailId, link, click);
    return answer(null, {
      headers: { Location: headerSafe(target), 'Cache-Control': 'no-store' },
    });
  },
});

export const trackingEndpoints = [openPixel, followLink, findTrackingHost];

/**
 * Returns the target of a link that this server has signed, so that others cannot use the server
 * for redirects.
 * @throws Problem RESOURCE_NOT_FOUND
 */
function trustedLink(
  secrets: Services['config'],
  id: string,
  { u, l, s }: { u?: unknown; l?: unknown; s?: unknown },
): TrackedLink {
  const read =
    typeof u === 'string' && typeof l === 'string' ? readTrackedLink(id, { u, l }) : null;
  if (!read || typeof s !== 'string' || !isSigned(secrets, 'tracking links', read.signed, s)) {
    throw new Problem('RESOURCE_NOT_FOUND');
  }
  return read.link;
}

/**
 * Percent-encodes a URL, because a header must be ASCII. The meaning of the URL does not change.
 */
function headerSafe(url: string): string {
  return url.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/**
 * Records an open or click. If recording fails, the client still gets the response.
 * @param link the link that was requested; absent for the pixel
 */
async function count(
  { feedback: queue, clients, log, request }: Call<'open', unknown, unknown, unknown>,
  emailId: string,
  link: Partial<Omit<TrackedLink, 'target'>>,
  counted: Extract<Feedback, { kind: keyof typeof maxDelayMs }>,
): Promise<void> {
  if (!isUuid(emailId)) return;
  // Link checkers use HEAD. A HEAD request does not count, but shows that the client is a machine.
  const isHead = request.method !== 'GET';
  const feedback: Feedback = isHead ? { kind: 'head', ...link, at: counted.at } : counted;
  const agent = request.header('user-agent');
  const client = clients.describe({ address: request.ip, agent }, feedback.kind);
  const about = { emailId, messageId: null, acceptedAt: null, receipt: null, client };
  try {
    const report = { ...about, feedback: [feedback], isOwnTracking: true };
    await queue.record(report, maxDelayMs[counted.kind]);
  } catch (error) {
    log.error({ error, emailId, kind: feedback.kind }, 'an open or click could not be recorded');
  }
}
