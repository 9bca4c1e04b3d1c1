import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isMemberAddress } from '../../db/accounts/members.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { findProject } from '../../db/projects/projects.ts';
import { storedProvider } from '../../db/providers/providers.ts';
import { domainOf } from '../../domain/email-address.ts';
import { found, whenRight } from '../../domain/errors.ts';
import { escapeHtml, wrapDocument } from '../../domain/template/html.ts';
import type { OutgoingMessage } from '../../providers/mail/mailer.ts';
import { composeMessage } from '../../providers/mail/mime.ts';
import { trialFailures } from '../../providers/mail/trial.ts';
import { notTestable } from '../emails/test-mail.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, fault } from '../http/schemas.ts';
import type { Services } from '../services/services.ts';
import { ByProviderId, requireOwn } from './record.ts';

export const testProvider = endpoint({
  id: 'testProvider',
  method: 'POST',
  path: '/providers/{id}/test',
  summary: 'Connect to a mail provider and log in, once',
  description:
    'With `to` it also sends a message from `from`, which is not recorded. It works in every ' +
    'state, also for a disabled provider, changes no state, and takes at most 15 seconds. ' +
    '`stage` says where it failed. TEST_RECIPIENT_NOT_ALLOWED: on a server that sends real ' +
    'mail, tests go only to members of the project. FORBIDDEN: the operator has set up this provider for all projects. ' +
    'RATE_LIMIT_EXCEEDED also for more than 20 tests a minute.',
  access: 'secret',
  role: 'ADMIN',
  params: ByProviderId,
  body: z
    .object({
      to: Email.optional(),
      from: Email.optional().describe('Address at a verified domain; required with `to`'),
    })
    .refine(({ to, from }) => to === undefined || from !== undefined, {
      path: ['from'],
      ...fault('required', 'Is required when `to` is sent.'),
      ...whenRight('to', 'from'),
    }),
  response: z.object({
    ok: z.boolean(),
    stage: z.enum(trialFailures).nullable().describe('The stage that failed; null: none'),
    ms: z.int(),
    tls: z.string().nullable().describe('Version of TLS; null: not encrypted'),
    code: z.int().nullable().describe('Last reply of the server'),
    message: z.string().nullable(),
  }),
  problems: [
    'PROVIDER_NOT_FOUND',
    'FORBIDDEN',
    'TEST_RECIPIENT_NOT_ALLOWED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
  ],
  example: {
    body: { to: 'ada@shop.example', from: 'team@shop.example' },
    response: {
      ok: false,
      stage: 'auth',
      ms: 182,
      tls: null,
      code: 535,
      message: '535 5.7.8 Authentication failed',
    },
  },
  async handle(call) {
    const { mailPool, count, caller, params, body } = call;
    const row = await requireOwn(call, caller, params.id);
    const { to, from } = body;
    if (to && from) await requireAllowed(call, caller.projectId, { to, from, kind: row.kind });
    await count('providerTest', caller.projectId);
    const about = { projectId: caller.projectId, provider: row.name };
    const message = to && from ? await composeTest(call, { ...about, to, from }) : null;
    const startedAt = Date.now();
    const trial = await mailPool.tryOut(storedProvider(row), message);
    return { ok: trial.stage === null, ms: Date.now() - startedAt, ...trial };
  },
});

/**
 * Requires an allowed recipient and a verified sender.
 * @throws Problem TEST_RECIPIENT_NOT_ALLOWED, DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED
 */
async function requireAllowed(
  { db, config }: Pick<Services, 'db' | 'config'>,
  projectId: string,
  { to, from, kind }: { to: string; from: string; kind: string },
): Promise<void> {
  const isReal =
    config.mail.sender.testsToMembersOnly || config.environment === 'production' || kind === 'ses';
  if (isReal && !(await isMemberAddress(db, projectId, to))) {
    throw notTestable(to);
  }
  await requireVerifiedSender(db, projectId, from);
}

async function composeTest(
  { db, returnPaths }: Pick<Services, 'db' | 'returnPaths'>,
  given: { projectId: string; provider: string; to: string; from: string },
): Promise<OutgoingMessage> {
  const { projectId, provider, to, from } = given;
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  // The test mail has no row, so reports about it are ignored.
  const emailId = randomUUID();
  const text = `<p>This message left by the mail provider ${escapeHtml(provider)}.</p>`;
  const raw = await composeMessage({
    emailId,
    date: new Date(),
    from: { name: project.name, address: from },
    to: { name: null, address: to },
    replyTo: null,
    subject: `[TEST] ${provider}`,
    html: wrapDocument(text, ''),
    headers: [],
    attachments: [],
    isTest: true,
  });
  const domain = domainOf(from);
  const envelopeFrom = returnPaths.pathOf(emailId, domain);
  return { emailId, envelopeFrom, to, raw, tracked: false, senderDomain: { projectId, domain } };
}
