import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Identities,
  IdentityProviderError,
  localIdentities,
} from '../../../../providers/mail/identities.ts';
import { sesIdentities } from '../../../../providers/mail/ses/identities.ts';
import { useFakeSes, type FakeSes } from '../../../support/fakes/ses.ts';

const records = {
  mailFromSubdomain: 'mail',
  dkimTargetHost: 'dkim.test',
  dkimSigning: null,
  returnPath: { host: null, subdomain: 'bounces', spf: null },
  trackingTarget: 'api.test',
};
const claim = {
  name: 'shop.test',
  isVerified: false,
  dkimTokens: ['a'],
  ownershipToken: 'o1',
  signing: null,
  inbound: false,
  trackingHost: null,
  keys: [],
  formerRecords: [],
};

describe('identities, local mode', () => {
  const identities = localIdentities(records, { transport: 'mailbox' });

  it('makes up three tokens of 32 lower-case letters and digits', async () => {
    const { dkimTokens } = await identities.create('shop.test');
    expect(new Set(dkimTokens).size).toBe(3);
    for (const token of dkimTokens) expect(token).toMatch(/^[a-z0-9]{32}$/);
    expect((await identities.create('shop.test')).dkimTokens).not.toEqual(dkimTokens);
  });

  it('leaves the verdict to DNS', async () => {
    expect(identities).toMatchObject({ verifiesReservedNames: true, keepsDomains: false });
    expect(await identities.find('shop.test')).toBeNull();
    await identities.remove('shop.test');
  });

  it('asks for no proof of the owner', () => {
    const purposes = identities.dnsRecords(claim).map(({ purpose }) => purpose);
    expect(purposes).toEqual(['dkim', 'mail_from', 'spf', 'dmarc']);
  });
});

describe('identities, SES mode', () => {
  let ses: FakeSes;
  let identities: Identities;
  beforeEach(async () => {
    ses = await useFakeSes();
    const account = { region: 'eu-west-1', accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
    identities = sesIdentities({ ...account, endpoint: ses.endpoint }, records);
  });

  it('asks for a proof of the owner, and for bounces in the region of the account', () => {
    expect(identities).toMatchObject({ verifiesReservedNames: false, keepsDomains: true });
    expect(identities.dnsRecords(claim)).toMatchObject([
      { purpose: 'dkim', value: 'a.dkim.test' },
      { purpose: 'ownership', value: 'everpost-verification=o1' },
      { purpose: 'mail_from', value: 'feedback-smtp.eu-west-1.amazonses.com' },
      { purpose: 'spf' },
      { purpose: 'dmarc' },
    ]);
  });

  it('registers the domain with its MAIL FROM domain', async () => {
    const { dkimTokens } = await identities.create('shop.test');
    expect(ses.identities.get('shop.test')).toEqual({
      tokens: dkimTokens,
      mailFrom: 'mail.shop.test',
      dkimStatus: 'PENDING',
    });
    expect(dkimTokens).toHaveLength(3);
  });

  it('answers the same tokens for a domain that is registered already', async () => {
    const first = await identities.create('shop.test');
    expect(await identities.create('shop.test')).toEqual(first);
  });

  it('finishes what a failure left half done', async () => {
    // The identity was created; the MAIL FROM domain, which the SDK tried three times, was not.
    const unavailable = { status: 400, type: 'BadRequestException' };
    ses.next = [{ status: 500 }, unavailable];
    await expect(identities.create('shop.test')).rejects.toThrow(IdentityProviderError);
    await identities.create('shop.test');
    expect(ses.identities.get('shop.test')?.mailFrom).toBe('mail.shop.test');
  });

  it('answers what SES has of a domain, and null when it has nothing', async () => {
    const { dkimTokens } = await identities.create('shop.test');
    expect(await identities.find('shop.test')).toEqual({ dkimTokens, dkimVerified: false });
    const identity = ses.identities.get('shop.test');
    if (identity) identity.dkimStatus = 'SUCCESS';
    expect(await identities.find('shop.test')).toEqual({ dkimTokens, dkimVerified: true });
    expect(await identities.find('other.test')).toBeNull();
  });

  it('takes no selector of foreign DKIM keys for a token', async () => {
    ses.identities.set('byo.test', {
      tokens: ['selector'],
      mailFrom: null,
      dkimStatus: 'SUCCESS',
      dkimOrigin: 'EXTERNAL',
    });
    expect(await identities.find('byo.test')).toEqual({ dkimTokens: [], dkimVerified: true });
  });

  it('removes a domain, and once more', async () => {
    await identities.create('shop.test');
    await identities.remove('shop.test');
    expect(ses.identities.size).toBe(0);
    await identities.remove('shop.test');
  });

  it('throws IdentityProviderError when SES cannot be reached', async () => {
    await ses.close();
    await expect(identities.find('shop.test')).rejects.toThrow(IdentityProviderError);
  });
});
