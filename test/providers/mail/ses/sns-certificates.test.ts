import { beforeEach, describe, expect, it } from 'vitest';
import { createSns, type Sns } from '../../../../providers/mail/ses/sns.ts';
import { type CertificateOptions, createCertificate } from '../../../support/fakes/certificate.ts';
import { useFakeSns } from '../../../support/fakes/sns.ts';

let sns: Sns;
/** The current time for the certificate store. */
let clock: number;

const fake = await useFakeSns();
beforeEach(() => {
  clock = Date.now();
  sns = createSns({ ...fake.settings, now: () => clock });
});

const day = 86_400_000;
const issuerUrl = 'http://issuers.test/issuer.cer';

/** Returns a message with a valid signature and this certificate, at its own address. */
function signedWith(name: string, options: CertificateOptions, more = ''): Promise<boolean> {
  const given = { keyOf: fake.signing, issuer: fake.intermediate, issuerUrl, ...options };
  const SigningCertURL = fake.serve(createCertificate(name, given).pem + more);
  return sns.isAuthentic(fake.notification('Hello', { SigningCertURL }));
}

const ofSns = { hosts: ['sns.amazonaws.com'] };

describe('a certificate', () => {
  it.each([
    ['sns.amazonaws.com', {}],
    ['any', { hosts: ['sns.amazonaws.com'] }],
    ['any', { hosts: ['sns-signing.af-south-1.amazonaws.com', 'sns.af-south-1.amazonaws.com'] }],
    ['sns-cn-north-1.amazonaws.com.cn', {}],
    ['sns-us-gov-west-1.amazonaws.com', {}],
  ])('made out to %s %j is that of SNS', async (name, options) => {
    expect(await signedWith(name, options)).toBe(true);
  });

  it.each([
    ['shop.example', {}],
    ['sns.amazonaws.com', { hosts: ['shop.example'] }],
    ['any', { hosts: ['sns.amazonaws.com.evil.example', 'evil.example'] }],
    ['any', { hosts: ['s3.amazonaws.com'] }],
    ['any', { hosts: ['sns.a.b.amazonaws.com'] }],
  ])('made out to %s %j is not', async (name, options) => {
    expect(await signedWith(name, options)).toBe(false);
  });

  it('counts while it is valid, and so must those that vouch for it', async () => {
    const [before, after] = [new Date(Date.now() - day), new Date(Date.now() + day)];
    expect(await signedWith('any', { ...ofSns, validTo: before })).toBe(false);
    expect(await signedWith('any', { ...ofSns, validFrom: after })).toBe(false);
    const ended = { issuer: fake.authority, isAuthority: true, validTo: before };
    const issuer = createCertificate('Ended', ended);
    expect(await signedWith('any', { ...ofSns, issuer }, issuer.pem)).toBe(false);
  });

  it('needs a chain to a trusted authority', async () => {
    const stranger = createCertificate('Test Authority', { isAuthority: true });
    expect(await signedWith('any', { ...ofSns, issuer: stranger })).toBe(false);
    expect(await signedWith('any', { ...ofSns, issuer: stranger }, stranger.pem)).toBe(false);
    const alone = createCertificate('sns.amazonaws.com', { keyOf: fake.signing });
    const SigningCertURL = fake.serve(alone.pem);
    expect(await sns.isAuthentic(fake.notification('Hello', { SigningCertURL }))).toBe(false);
  });

  it('is not vouched for by one that is no authority', async () => {
    const site = createCertificate('Site', { issuer: fake.authority });
    expect(await signedWith('any', { ...ofSns, issuer: site }, site.pem)).toBe(false);
  });

  it('may come with those that vouch for it: then nothing else is fetched', async () => {
    const before = fake.requests.length;
    expect(await signedWith('any', ofSns, fake.intermediate.pem)).toBe(true);
    expect(fake.requests).toHaveLength(before + 1);
  });

  it('is refused when it does not say who vouches for it, or at no web address', async () => {
    for (const url of ['', 'ldap://issuers.test/issuer', 'http://issuers.test:25/', 'x']) {
      expect(await signedWith('any', { ...ofSns, issuerUrl: url })).toBe(false);
    }
  });

  it('that no end of others vouch for is refused', async () => {
    // All have one key, because creating keys takes long.
    const options = { isAuthority: true, keyOf: fake.intermediate };
    const others = [createCertificate('Loop', options)];
    for (let i = 0; i < 10; i += 1) {
      const issuer = others.at(-1)!;
      others.push(createCertificate(`Loop ${i}`, { ...options, issuer }));
    }
    const file = others.map(({ pem }) => pem).join('');
    expect(await signedWith('any', { ...ofSns, issuer: others.at(-1)! }, file)).toBe(false);
  });

  it('is not believed by who trusts the authorities of Node.js alone', async () => {
    const { authorities: _, ...network } = fake.settings;
    expect(await createSns(network).isAuthentic(fake.notification('Hello'))).toBe(false);
  });

  it('is fetched over a connection to the real host alone', async () => {
    const { hostAuthorities: _, ...trusting } = fake.settings;
    const before = fake.requests.length;
    await expect(createSns(trusting).isAuthentic(fake.notification('Hello'))).rejects.toThrow();
    expect(fake.requests).toHaveLength(before);
  });
});

describe('what was fetched', () => {
  const asked = (url: string) => fake.requests.filter((request) => request === url).length;

  it('is kept for a day, and not when it failed', async () => {
    const SigningCertURL = fake.serve(fake.signing.pem);
    const ask = () =>
      sns.isAuthentic(
        fake.notification('Hello', { SigningCertURL, Timestamp: new Date(clock).toISOString() }),
      );
    fake.answerWith(500);
    await expect(ask()).rejects.toThrow('500');
    fake.answerWith(200);
    for (const _ of [1, 2, 3]) expect(await ask()).toBe(true);
    expect(asked(SigningCertURL)).toBe(2);
    clock += day + 1_000;
    expect(await ask()).toBe(true);
    expect(asked(SigningCertURL)).toBe(3);
  });

  it('is not believed any longer than the certificate is valid', async () => {
    const validTo = new Date(Math.ceil(clock / 1_000) * 1_000 + 600_000);
    const options = { ...ofSns, keyOf: fake.signing, issuer: fake.intermediate, issuerUrl };
    const SigningCertURL = fake.serve(createCertificate('any', { ...options, validTo }).pem);
    const message = fake.notification('Hello', { SigningCertURL });
    expect(await sns.isAuthentic(message)).toBe(true);
    clock += 700_000;
    expect(await sns.isAuthentic(message)).toBe(false);
  });

  it('is at most 64 KB', async () => {
    const SigningCertURL = fake.serve(`${fake.signing.pem}${' '.repeat(65 * 1024)}`);
    await expect(sns.isAuthentic(fake.notification('Hello', { SigningCertURL }))).rejects.toThrow(
      'more than 65536 bytes',
    );
  });

  it('is fetched for ten addresses at a time', async () => {
    const urls = Array.from({ length: 12 }, () => fake.serve(fake.signing.pem));
    const answers = await Promise.allSettled(
      urls.map((SigningCertURL) => sns.isAuthentic(fake.notification('Hello', { SigningCertURL }))),
    );
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(2);
    expect(await sns.isAuthentic(fake.notification('x', { SigningCertURL: urls[11] }))).toBe(true);
  });

  it('is forgotten when there is much of it, the oldest first', async () => {
    const first = fake.serve(fake.signing.pem);
    const ask = (SigningCertURL: string) =>
      sns.isAuthentic(fake.notification('Hello', { SigningCertURL }));
    expect(await ask(first)).toBe(true);
    for (let i = 0; i < 100; i += 1) await ask(fake.serve(fake.signing.pem));
    expect(await ask(first)).toBe(true);
    expect(asked(first)).toBe(2);
  });
});
