import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { snsReader } from '../../../providers/mail/ses/feedback.ts';
import { createSns } from '../../../providers/mail/ses/sns.ts';
import { useApi } from '../../support/api.ts';
import { sesEvent } from '../../support/fakes/ses-messages.ts';
import { useSnsFeedback } from '../../support/projects/sns-feedback.ts';

const feedback = await useSnsFeedback();
const { api, fake, post, notify, sentEmail, emailOf } = feedback;

describe('who may report', () => {
  it('answers a changed message 403 INVALID_SIGNATURE', async () => {
    const { id } = await sentEmail();
    const message = JSON.stringify(sesEvent('Complaint', { emailId: id }));
    const genuine = fake.notification(sesEvent('Delivery', { emailId: id }));
    const { status, body } = await post({ ...genuine, Message: message });
    expect([status, body.error.code]).toEqual([403, 'INVALID_SIGNATURE']);
    expect((await emailOf(id)).status).toBe('SENT');
  });

  it.each([
    'https://sns.eu-west-1.amazonaws.com.evil.example/x.pem',
    'https://127.0.0.1:1/x.pem',
    'x',
  ])('answers a certificate at %s 403 and fetches nothing', async (SigningCertURL) => {
    const before = fake.requests.length;
    const { status, body } = await post(fake.notification('{}', { SigningCertURL }));
    expect([status, body.error.code]).toEqual([403, 'INVALID_SIGNATURE']);
    expect(fake.requests).toHaveLength(before);
  });

  it('answers 503 while the certificate cannot be had', async () => {
    fake.answerWith(500);
    const SigningCertURL = fake.serve(fake.signing.pem);
    const { status } = await post(fake.notification('{}', { SigningCertURL }));
    fake.answerWith(200);
    expect(status).toBe(503);
  });

  it('answers what is no notification without looking into it', async () => {
    const code = async (body: string) => {
      const answer = await api.request('POST', '/webhooks/sns', { body });
      return [answer.status, answer.body.error.code];
    };
    expect(await code('{"a":')).toEqual([400, 'INVALID_REQUEST_BODY']);
    expect(await code('[]')).toEqual([422, 'VALIDATION_ERROR']);
    expect(await code('{}')).toEqual([403, 'INVALID_SIGNATURE']);
  });

  it('answers a message of long ago 403 INVALID_SIGNATURE, however well it is signed', async () => {
    const { id } = await sentEmail();
    const Timestamp = new Date(Date.now() - 3_700_000).toISOString();
    const old = fake.notification(sesEvent('Delivery', { emailId: id }), { Timestamp });
    const { status, body } = await post(old);
    expect([status, body.error.code]).toEqual([403, 'INVALID_SIGNATURE']);
    expect(body.error.message).toContain('older than an hour');
    expect((await emailOf(id)).status).toBe('SENT');
  });

  it('answers a topic that is not among the allowed ones 403 FORBIDDEN, and fetches nothing', async () => {
    const strict = await useApi({ SNS_TOPIC_ARN: 'arn:one, arn:two,' });
    strict.services.feedbackReaders = { ses: snsReader(createSns(fake.settings)) };
    const ask = (TopicArn: string, more: object = {}) =>
      strict.request('POST', '/webhooks/sns', {
        body: { ...fake.notification('x', { TopicArn }), ...more },
      });
    const before = fake.requests.length;
    for (const topic of ['arn:three', '', 'arn:on']) {
      expect((await ask(topic)).body.error.code).toBe('FORBIDDEN');
      expect((await ask(topic, { Signature: 'eA==' })).body.error.code).toBe('FORBIDDEN');
      expect((await ask(topic, { Signature: undefined })).status).toBe(403);
    }
    expect(fake.requests).toHaveLength(before);
    expect((await ask('arn:two', { Signature: 'eA==' })).body.error.code).toBe('INVALID_SIGNATURE');
    expect((await ask('arn:two')).body.error.code).toBe('INVALID_NOTIFICATION');
  });

  const ses = {
    AWS_SES_REGION: 'eu-west-1',
    AWS_SES_ACCESS_KEY_ID: 'id',
    AWS_SES_SECRET_ACCESS_KEY: 'secret',
  };
  const production = {
    NODE_ENV: 'production',
    DASHBOARD_URL: 'https://app.shop.dev',
    JWT_SECRET: randomBytes(32).toString('base64'),
  };

  it.each([ses, { ...ses, SNS_TOPIC_ARN: ' , ' }, production, { ...production, ...ses }])(
    'is closed without a topic: 404 RESOURCE_NOT_FOUND whatever is sent, with %o',
    async (settings) => {
      const closed = await useApi(settings);
      closed.services.feedbackReaders = fake.feedbackReaders;
      const before = fake.requests.length;
      const bodies = [fake.notification('x'), {}, '{"a":', '[]', ''];
      for (const path of ['/webhooks/sns', '/webhooks/incoming/sns', '/api/webhooks/sns']) {
        for (const body of bodies) {
          const answer = await closed.request('POST', path, { body });
          expect([answer.status, answer.body.error.code]).toEqual([404, 'RESOURCE_NOT_FOUND']);
        }
      }
      expect(fake.requests).toHaveLength(before);
    },
  );

  it.each([
    { ...ses, SNS_TOPIC_ARN: 'arn:one' },
    { ...production, SNS_TOPIC_ARN: 'arn:one' },
  ])('is open for the topics that are named, with %o', async (settings) => {
    const open = await useApi(settings);
    open.services.feedbackReaders = fake.feedbackReaders;
    const body = fake.notification('x', { TopicArn: 'arn:one' });
    const answer = await open.request('POST', '/webhooks/sns', { body });
    expect(answer.body.error.code).toBe('INVALID_NOTIFICATION');
  });
});

describe('subscriptions', () => {
  const confirmation = (SubscribeURL: string) => ({
    Type: 'SubscriptionConfirmation',
    Message: 'You have chosen to subscribe.',
    Token: 'token',
    SubscribeURL,
  });

  it('confirms one by asking its address', async () => {
    const { status, body } = await post(fake.envelope(confirmation(`${fake.url}/confirm?t=1`)));
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(fake.requests.at(-1)).toBe(`${fake.url}/confirm?t=1`);
  });

  it('answers an address of another host 400 INVALID_SUBSCRIBE_URL, fetching nothing', async () => {
    await notify('warm up');
    const before = fake.requests.length;
    const { status, body } = await post(fake.envelope(confirmation('https://evil.example/')));
    expect([status, body.error.code]).toEqual([400, 'INVALID_SUBSCRIBE_URL']);
    const forged = fake.envelope(confirmation('https://evil.example/'));
    const changed = await post({ ...forged, SubscribeURL: `${fake.url}/confirm?forged` });
    expect(changed.body.error.code).toBe('INVALID_SIGNATURE');
    expect(fake.requests).toHaveLength(before);
  });

  it('answers 503 when SNS does not take the confirmation, so that it asks again', async () => {
    await notify('warm up');
    fake.answerWith(500);
    const { status } = await post(fake.envelope(confirmation(`${fake.url}/confirm`)));
    fake.answerWith(200);
    expect(status).toBe(503);
  });

  it.each(['UnsubscribeConfirmation', 'SomethingNew'])('does nothing for %s', async (Type) => {
    const more = confirmation(`${fake.url}/back`);
    // Unknown types are signed like notifications.
    const signed =
      Type === 'SomethingNew'
        ? fake.envelopeSignedAs('Notification', { Type, Message: 'x' })
        : fake.envelope({ ...more, Type });
    const { status, body } = await post(signed);
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(fake.requests).not.toContain(`${fake.url}/back`);
  });
});
