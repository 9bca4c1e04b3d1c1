import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSns, type SnsEnvelope } from '../../providers/sns.ts';
import { type FakeSns, startFakeSns } from '../support/fake-sns.ts';

let fake: FakeSns;

beforeAll(async () => {
  fake = await startFakeSns();
});
afterAll(() => fake.close());

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
    ['another time', { Timestamp: '2026-11-22T08:30:00.000Z' }],
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
    const other = await startFakeSns();
    const forged = { ...other.notification('Hello'), SigningCertURL: `${fake.url}/cert.pem` };
    expect(await fake.sns.isAuthentic(forged)).toBe(false);
    await other.close();
  });

  it('fetches a certificate once, and again when that failed', async () => {
    const sns = createSns({ isTrusted: ({ origin }) => origin === fake.url });
    const SigningCertURL = `${fake.url}/cert-once.pem`;
    const asked = () => fake.requests.filter((path) => path === '/cert-once.pem').length;
    const notification = fake.notification('Hello', { SigningCertURL });
    fake.answerWith(500);
    await expect(sns.isAuthentic(notification)).rejects.toThrow('500');
    fake.answerWith(200);
    for (const _ of [1, 2, 3]) expect(await sns.isAuthentic(notification)).toBe(true);
    expect(asked()).toBe(2);
  });
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

  it('reads certificates from addresses that end in .pem alone', async () => {
    const before = fake.requests.length;
    const SigningCertURL = `${fake.url}/certificate?x=.pem`;
    expect(await fake.sns.isAuthentic(fake.notification('Hello', { SigningCertURL }))).toBe(false);
    expect(fake.requests).toHaveLength(before);
  });

  it('confirms by asking, and says when that failed', async () => {
    await fake.sns.confirm(`${fake.url}/confirm?token=1`);
    expect(fake.requests.at(-1)).toBe('/confirm?token=1');
    fake.answerWith(403);
    await expect(fake.sns.confirm(`${fake.url}/confirm`)).rejects.toThrow('403');
    fake.answerWith(200);
  });
});
