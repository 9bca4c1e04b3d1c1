import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi } from '../support/api.ts';
import { sesEvent } from '../support/ses-messages.ts';
import { type SnsFeedback, startSnsFeedback } from '../support/sns-feedback.ts';

let feedback: SnsFeedback;
let api: SnsFeedback['api'];
let fake: SnsFeedback['fake'];
let post: SnsFeedback['post'];
let notify: SnsFeedback['notify'];
let sentEmail: SnsFeedback['sentEmail'];
let emailOf: SnsFeedback['emailOf'];
beforeAll(async () => {
  feedback = await startSnsFeedback();
  ({ api, fake, post, notify, sentEmail, emailOf } = feedback);
});
afterAll(() => feedback.close());

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
    const SigningCertURL = `${fake.url}/cert-away.pem`;
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

  it('answers a topic that is not among the allowed ones 403 FORBIDDEN', async () => {
    const strict = await startTestApi({ SNS_TOPIC_ARN: 'arn:one, arn:two' });
    strict.services.sns = fake.sns;
    const ask = (TopicArn: string) =>
      strict.request('POST', '/webhooks/sns', { body: fake.notification('x', { TopicArn }) });
    expect((await ask('arn:three')).body.error.code).toBe('FORBIDDEN');
    expect((await ask('arn:two')).body.error.code).toBe('INVALID_NOTIFICATION');
    await strict.close();
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
    expect(fake.requests.at(-1)).toBe('/confirm?t=1');
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
    // Types that SNS may invent are taken as signed like notifications.
    const signed =
      Type === 'SomethingNew'
        ? fake.envelopeSignedAs('Notification', { Type, Message: 'x' })
        : fake.envelope({ ...more, Type });
    const { status, body } = await post(signed);
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(fake.requests).not.toContain('/back');
  });
});
