import { describe, expect, it } from 'vitest';
import { createSns, type SnsEnvelope } from '../../../../providers/mail/ses/sns.ts';
import { useFakeSns } from '../../../support/fakes/sns.ts';

const fake = await useFakeSns();

const confirmation = () => ({
  Type: 'SubscriptionConfirmation',
  Message: 'You have chosen to subscribe.',
  SubscribeURL: `${fake.url}/confirm?a=b`,
  Token: 'token',
});

describe('signatures', () => {
  it.each(['1', '2'] as const)('believes what SNS has signed, version %s', async (version) => {
    const notification = fake.notification('Hello', {}, version);
    expect(await fake.sns.isAuthentic(notification)).toBe(true);
    const named = fake.notification('Hello', { Subject: 'A subject' }, version);
    expect(await fake.sns.isAuthentic(named)).toBe(true);
    expect(await fake.sns.isAuthentic(fake.envelope(confirmation(), version))).toBe(true);
    const goodbye = { ...confirmation(), Type: 'UnsubscribeConfirmation' };
    expect(await fake.sns.isAuthentic(fake.envelope(goodbye, version))).toBe(true);
  });

  it.each<[string, SnsEnvelope]>([
    ['another message', { Message: 'Hullo' }],
    ['another id', { MessageId: 'x' }],
    ['another topic', { TopicArn: 'x' }],
    ['another time', { Timestamp: new Date(Date.now() - 1_000).toISOString() }],
    ['a time that is none', { Timestamp: 'now' }],
    ['a subject', { Subject: 'x' }],
    ['another type', { Type: 'SubscriptionConfirmation' }],
    ['no signature', { Signature: undefined }],
    ['an empty signature', { Signature: '' }],
    ['another version', { SignatureVersion: '1' }],
    ['an unknown version', { SignatureVersion: '3' }],
    ['a version that is no text', { SignatureVersion: 2 }],
    ['a message that is no text', { Message: { a: 1 } }],
  ])('does not believe %s', async (_, change) => {
    expect(await fake.sns.isAuthentic({ ...fake.notification('Hello'), ...change })).toBe(false);
  });

  it('does not believe another key', async () => {
    const other = await useFakeSns();
    const { SigningCertURL } = fake.notification('');
    expect(await fake.sns.isAuthentic({ ...other.notification('Hello'), SigningCertURL })).toBe(
      false,
    );
  });

  it.each([
    [-61, false],
    [-59, true],
    [59, true],
    [61, false],
  ])(
    'of %i minutes from now: believed is %s, and then alone is anything fetched',
    async (minutes, isBelieved) => {
      const sns = createSns(fake.settings);
      const Timestamp = new Date(Date.now() + minutes * 60_000).toISOString();
      const message = fake.notification('Hello', { Timestamp });
      const before = fake.requests.length;
      expect(sns.findFlaw(message) === null).toBe(isBelieved);
      expect(await sns.isAuthentic(message)).toBe(isBelieved);
      expect(fake.requests.length > before).toBe(isBelieved);
    },
  );
});

describe('addresses', () => {
  const sns = createSns();

  it.each([
    'https://sns.eu-west-1.amazonaws.com/cert.pem',
    'https://sns.us-gov-west-1.amazonaws.com/?Action=ConfirmSubscription',
    'https://sns.cn-north-1.amazonaws.com.cn/x',
  ])('trusts %s', (url) => {
    expect(sns.isSnsUrl(url)).toBe(true);
  });

  it.each([
    'http://sns.eu-west-1.amazonaws.com/cert.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.example/cert.pem',
    'https://evil.example/sns.eu-west-1.amazonaws.com/cert.pem',
    'https://sns.eu-west-1.amazonaws.com@evil.example/cert.pem',
    'https://evil.example#sns.eu-west-1.amazonaws.com',
    'https://user@sns.eu-west-1.amazonaws.com/',
    'https://sns.eu-west-1.amazonaws.com:8443/',
    'https://sns.evil.example.amazonaws.com/',
    'https://bucket.s3.amazonaws.com/cert.pem',
    'https://snsx.eu-west-1.amazonaws.com/',
    '//sns.eu-west-1.amazonaws.com/',
    'cert.pem',
    '',
  ])('does not trust %j', async (url) => {
    expect(sns.isSnsUrl(url)).toBe(false);
    await expect(sns.confirm(url)).rejects.toThrow('Not an address');
  });

  const snsHost = 'sns.eu-west-1.amazonaws.com';
  it.each([
    `https://${snsHost}/certificate.pem`,
    `https://${snsHost}/SimpleNotificationService-0f.pem?x=1`,
    `https://${snsHost}/SimpleNotificationService-0f.pem#x`,
    `https://${snsHost}/SimpleNotificationService-0f.pem?`,
    `https://${snsHost}/SimpleNotificationService-0g.pem`,
    `https://${snsHost}/SimpleNotificationService-.pem`,
    `https://${snsHost}/SimpleNotificationService-0f.pem/`,
    `https://${snsHost}/x/SimpleNotificationService-0f.pem`,
    `https://${snsHost}/x/../SimpleNotificationService-0f.pem`,
    `https://${snsHost}:443/SimpleNotificationService-0f.pem`,
    `https://user@${snsHost}/SimpleNotificationService-0f.pem`,
    `https://user:pass@${snsHost}/SimpleNotificationService-0f.pem`,
    `http://${snsHost}/SimpleNotificationService-0f.pem`,
    `https://${snsHost}.evil.example/SimpleNotificationService-0f.pem`,
    'https://sns.a.b.amazonaws.com/SimpleNotificationService-0f.pem',
    'https://sns.amazonaws.com/SimpleNotificationService-0f.pem',
    ` https://${snsHost}/SimpleNotificationService-0f.pem`,
    `https://${snsHost}/SimpleNotificationService-0f.pem\n`,
  ])('reads no certificate from %j', async (SigningCertURL) => {
    const before = fake.requests.length;
    const message = fake.notification('Hello', { SigningCertURL });
    expect(fake.sns.findFlaw(message)).toContain('SigningCertURL');
    expect(await fake.sns.isAuthentic(message)).toBe(false);
    expect(fake.requests).toHaveLength(before);
  });

  it.each([
    `https://${snsHost}/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem`,
    'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0f.pem',
  ])('may read a certificate from %s', (SigningCertURL) => {
    expect(fake.sns.findFlaw(fake.notification('Hello', { SigningCertURL }))).toBeNull();
  });

  it('confirms by asking, and says when that failed', async () => {
    await fake.sns.confirm(`${fake.url}/confirm?token=1`);
    expect(fake.requests.at(-1)).toBe(`${fake.url}/confirm?token=1`);
    fake.answerWith(403);
    await expect(fake.sns.confirm(`${fake.url}/confirm`)).rejects.toThrow('403');
    // A redirect would lead away from the trusted host.
    fake.answerWith(302);
    await expect(fake.sns.confirm(`${fake.url}/confirm`)).rejects.toThrow('302');
    expect(fake.requests.at(-1)).toBe(`${fake.url}/confirm`);
    fake.answerWith(200);
  });
});
