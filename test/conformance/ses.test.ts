import { randomUUID } from 'node:crypto';
import { CreateEmailIdentityCommand, SESv2Client } from '@aws-sdk/client-sesv2';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdentityProviderError } from '../../providers/mail/identities.ts';
import { sesIdentities } from '../../providers/mail/ses/identities.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';
import { guarded } from '../../providers/mail/guarded-mailer.ts';
import { sesMailer } from '../../providers/mail/ses/mailer.ts';
import { composeMessage } from '../../providers/mail/mime.ts';
import { useMoto } from '../support/fakes/moto.ts';

/**
 * Our mailer and identities against a third-party SES. It needs Python with venv and PyPI;
 * without them, the report lists these tests as skipped.
 */
const moto = await useMoto();

describe.runIf(moto)('SES of moto', () => {
  const account = { region: 'eu-west-1', accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
  let mailer: Mailer;
  let domain: string;
  beforeAll(async () => {
    const { endpoint } = moto!;
    const sets = { configurationSet: '', configurationSetNoTracking: '' };
    mailer = guarded(sesMailer({ ...account, ...sets, endpoint }));
    domain = `${randomUUID()}.dev`;
    const client = new SESv2Client({
      region: account.region,
      credentials: account,
      endpoint,
    });
    await client.send(new CreateEmailIdentityCommand({ EmailIdentity: domain }));
    client.destroy();
  });
  afterAll(async () => {
    await mailer.close();
  });

  async function sendFrom(sender: string) {
    const emailId = randomUUID();
    const raw = await composeMessage({
      emailId,
      date: new Date(),
      from: { name: 'Der Käseladen', address: `team@${sender}` },
      to: { name: null, address: 'ada@people.test' },
      replyTo: null,
      subject: 'Grüße 🧀',
      html: '<p>Hallo <a href="https://shop.dev">Ada</a></p>',
      headers: [],
      attachments: [],
    });
    const message = { emailId, envelopeFrom: `bounce@${sender}`, to: 'ada@people.test', raw };
    return { raw, outcome: await mailer.send({ ...message, tracked: false }) };
  }

  it('takes a raw message, byte for byte, and gives it an id', async () => {
    const { raw, outcome } = await sendFrom(domain);
    expect(outcome).toMatchObject({ kind: 'accepted', delivered: false });
    const [stored] = await moto!.list('ses', 'RawMessage');
    expect(stored).toMatchObject({ source: `team@${domain}` });
    expect('messageId' in outcome && outcome.messageId).toBe(stored?.['id']);
    expect(stored?.['raw_data']).toBe(raw.toString());
    const parsed = await PostalMime.parse(String(stored?.['raw_data']));
    expect(parsed.subject).toBe('Grüße 🧀');
    expect(parsed.text).toContain('Ada (https://shop.dev');
  });

  it('refuses a sender it does not know, for good', async () => {
    const { outcome } = await sendFrom('elsewhere.dev');
    expect(outcome).toMatchObject({
      kind: 'refused',
      error: expect.stringMatching(/^MessageRejected \(400\): /),
    });
  });

  it('returns identities, and deletes them', async () => {
    const ses = { ...account, endpoint: moto!.endpoint };
    const records = {
      mailFromSubdomain: 'mail',
      dkimTargetHost: 'dkim.test',
      dkimSigning: null,
      returnPath: { host: null, subdomain: 'bounces', spf: null },
      trackingTarget: 'api.test',
    };
    const identities = sesIdentities(ses, records);
    // Its DKIM status is NOT_STARTED, which is not verified.
    expect(await identities.find(domain)).toMatchObject({ dkimVerified: false });
    expect(await identities.find('unknown.dev')).toBeNull();
    // It has no MAIL FROM domains, so this is an error without a partial result.
    const other = `${randomUUID()}.dev`;
    await expect(identities.create(other)).rejects.toThrow(IdentityProviderError);
    await identities.remove(other);
    await identities.remove(domain);
    expect((await sendFrom(domain)).outcome.kind).toBe('refused');
    await identities.remove(domain);
  });

  it('does not know the quota, and a low rate is assumed', async () => {
    await expect(mailer.quotaPerSecond()).rejects.toThrow();
  });
});
