import { randomUUID } from 'node:crypto';
import { createCampaignComposer } from '../../activities/mail/campaign-mail.ts';
import type { CampaignEmail } from '../../db/transactions/mail/claim-campaign-mail.ts';
import { openDatabase } from '../../db/database.ts';
import { createSigner } from '../../providers/encryption.ts';
import { guarded } from '../../providers/mail/guarded-mailer.ts';
import { smtpMailer } from '../../providers/mail/smtp/mailer.ts';
import { createRenderer } from '../../providers/rendering/renderer.ts';

/**
 * Creates and hands over the messages of a campaign without recording them, as a reference for the
 * sending of campaigns. Runs in its own process, controlled by messages.
 */

export interface BareLoad {
  campaignId: string;
  projectId: string;
  recipients: number;
}

const env = process.env;
const apiUrl = env['API_URL'] ?? '';
const database = openDatabase(env['DATABASE_URL'] ?? '', { poolMax: 2 });
const mailer = guarded(
  smtpMailer({ host: '127.0.0.1', port: Number(env['SMTP_PORT']), secure: false }),
);
const composer = createCampaignComposer({
  db: database.db,
  apiUrl,
  renderer: createRenderer(),
  billingRules: null,
});
const tracking = { apiUrl, sign: createSigner('a secret for the benchmark', 'tracking links') };

async function send(load: BareLoad): Promise<void> {
  const rows = await database.db
    .selectFrom('contact')
    .select(['id', 'email', 'subscribed', 'data'])
    .where('project_id', '=', load.projectId)
    .limit(load.recipients)
    .execute();
  const emails = rows.map((row) => emailTo(row));
  const startedAt = performance.now();
  const compose = await composer.prepare(load.campaignId, emails);
  const queue = emails.values();
  const work = async () => {
    for (const email of queue) {
      const { raw } = await compose(email, tracking);
      const message = { emailId: email.id, envelopeFrom: 'bounce@bench.test', raw, tracked: false };
      const outcome = await mailer.send({ ...message, to: email.to_email });
      if (outcome.kind !== 'accepted') throw new Error(outcome.error);
    }
  };
  await Promise.all(Array.from({ length: mailer.maxConcurrency }, work));
  process.send?.({ seconds: (performance.now() - startedAt) / 1000, sent: emails.length });
}

function emailTo(row: { id: string; email: string; data: unknown }): CampaignEmail {
  return {
    id: randomUUID(),
    project_id: randomUUID(),
    contact_id: row.id,
    to_email: row.email,
    from_email: 'team@bench.test',
    from_name: 'Bench',
    reply_to: null,
    message_class: 'MARKETING',
    source_type: 'CAMPAIGN',
    content_version: 1,
    content_arm: '',
    attempts: 1,
    created_at: new Date(),
    scheduled_for: null,
    held_until: null,
    billed_units: 1,
    allowance_month: null,
    contact_email: row.email,
    contact_subscribed: true,
    contact_data: row.data as Record<string, unknown>,
    project_disabled: false,
    sender_gone: false,
    contact_gone: false,
    suppression: null,
    topic_left: false,
    project_language: 'en',
    project_tracking: 'ENABLED',
    tracking_host: null,
    has_badge: false,
    first_attempt_at: null,
    topic_id: null,
    provider_id: null,
    is_bound: false,
  };
}

process.on('message', (load: BareLoad) => void send(load));
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
process.send?.({ ready: true });
