import { describe, expect, it } from 'vitest';
import {
  type DnsRecord,
  type DnsSettings,
  type DomainClaim,
  type DomainKey,
  recordKey,
  senderRecords,
  stringsOf,
  zoneLine,
} from '../../../domain/sender/sender-records.ts';

const claim: DomainClaim = {
  name: 'shop.dev',
  isVerified: false,
  dkimTokens: ['k1', 'k2', 'k3'],
  ownershipToken: 'o1',
  signing: null,
  inbound: false,
  trackingHost: null,
  keys: [],
  formerRecords: [],
};
const settings: DnsSettings = {
  transport: 'mailbox',
  dkimTargetHost: 'dkim.host',
  mailFromSubdomain: 'mail',
  region: 'eu-west-1',
  returnPath: { host: null, subdomain: 'bounces', spf: 'a:out.host' },
  trackingTarget: 'api.host',
};
const key = (given: Partial<DomainKey> = {}): DomainKey => ({
  selector: 'ep202611-7f3a09c1',
  algorithm: 'rsa',
  publicKey: 'MIIB',
  state: 'current',
  createdAt: new Date(),
  seenAt: null,
  removeAfter: null,
  ...given,
});
const own: DomainClaim = { ...claim, dkimTokens: [], signing: 'own', keys: [key()] };
const tokens = ['k1', 'k2', 'k3'].map((token) => `CNAME ${token}._domainkey.shop.dev`);
const dkim = 'TXT ep202611-7f3a09c1._domainkey.shop.dev';
const ownership = 'TXT _everpost.shop.dev';
const dmarc = 'TXT _dmarc.shop.dev';
const mailFrom = ['MX mail.shop.dev', 'TXT mail.shop.dev'];

const keysOf = (records: readonly DnsRecord[]) => records.map(recordKey);
const neededIn = (records: readonly DnsRecord[]) =>
  keysOf(records.filter(({ isNeeded, wasNeeded }) => isNeeded || wasNeeded));

describe('the records of a domain', () => {
  it('are tokens, MAIL FROM and DMARC; with SES also that of the owner', () => {
    const local = senderRecords(claim, settings);
    expect(keysOf(local)).toEqual([...tokens, ...mailFrom, dmarc]);
    expect(neededIn(local)).toEqual(tokens);
    const hosted = senderRecords(claim, { ...settings, transport: 'ses' });
    expect(keysOf(hosted)).toEqual([...tokens, ownership, ...mailFrom, dmarc]);
    expect(neededIn(hosted)).toEqual([...tokens, ownership]);
    expect(hosted.map(({ value }) => value)).toEqual([
      'k1.dkim.host',
      'k2.dkim.host',
      'k3.dkim.host',
      'everpost-verification=o1',
      'feedback-smtp.eu-west-1.amazonses.com',
      'v=spf1 include:amazonses.com ~all',
      'v=DMARC1; p=none',
    ]);
  });

  it('are the key, if Everpost signs, else that of the owner', () => {
    const smtp = { ...settings, transport: 'smtp' as const };
    expect(keysOf(senderRecords(own, smtp))).toEqual([dkim, dmarc]);
    expect(neededIn(senderRecords(own, smtp))).toEqual([dkim]);
    expect(senderRecords(own, smtp)[0]?.value).toBe('v=DKIM1; k=rsa; p=MIIB');
    const provider = { ...own, signing: 'provider' as const };
    expect(neededIn(senderRecords(provider, smtp))).toEqual([ownership]);
  });

  it('are the return path with a host that receives it', () => {
    const returnPath = { ...settings.returnPath, host: 'mx.host' };
    const smtp = { ...settings, transport: 'smtp' as const, returnPath };
    expect(senderRecords(own, smtp).slice(1, 3)).toEqual([
      {
        type: 'MX',
        name: 'bounces.shop.dev',
        value: 'mx.host',
        priority: 10,
        purpose: 'return_path',
      },
      { type: 'TXT', name: 'bounces.shop.dev', value: 'v=spf1 a:out.host ~all', purpose: 'spf' },
    ]);
    expect(keysOf(senderRecords(claim, { ...smtp, transport: 'ses' }))).not.toContain(
      'MX bounces.shop.dev',
    );
  });

  it('are one for each key, and only the current RSA key is needed', () => {
    const removeAfter = new Date();
    const keys = [
      key(),
      key({ algorithm: 'ed25519' }),
      key({ selector: 's2', state: 'next' }),
      key({ selector: 's0', state: 'previous', removeAfter }),
    ];
    const records = senderRecords({ ...own, keys }, { ...settings, transport: 'smtp' });
    expect(records.slice(0, 4).map(({ name, purpose }) => [name.split('.')[0], purpose])).toEqual([
      ['ep202611-7f3a09c1', 'dkim'],
      ['ep202611-7f3a09c1-e', 'dkim_ed25519'],
      ['s2', 'dkim_next'],
      ['s0', 'dkim_old'],
    ]);
    expect(records[3]?.removeAfter).toBe(removeAfter);
    expect(neededIn(records)).toEqual([dkim]);
  });

  it('keep the former ones of a verified domain', () => {
    const formerRecords = senderRecords(
      { ...own, signing: 'provider' },
      { ...settings, transport: 'smtp' },
    ).filter(({ isNeeded }) => isNeeded);
    const smtp = { ...settings, transport: 'smtp' as const };
    const changed = { ...own, formerRecords };
    expect(neededIn(senderRecords(changed, smtp))).toEqual([dkim]);
    expect(neededIn(senderRecords({ ...changed, isVerified: true }, smtp))).toEqual([
      dkim,
      ownership,
    ]);
    const fromMailbox = { ...claim, isVerified: true };
    expect(neededIn(senderRecords(fromMailbox, smtp))).toEqual([ownership, ...tokens]);
  });
});

describe('a line of a zone file', () => {
  it('has an absolute name, quoted strings, and a dot after a host', () => {
    const value = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
    const record: DnsRecord = { type: 'TXT', name: 's.shop.dev', value, purpose: 'dkim' };
    const strings = stringsOf(value);
    expect(strings.map(({ length }) => length)).toEqual([255, 155]);
    expect(strings.join('')).toBe(value);
    expect(zoneLine(record)).toBe(`s.shop.dev. 3600 IN TXT "${strings[0]}" "${strings[1]}"`);
    expect(zoneLine({ ...record, value: 'a"b\\c' })).toBe('s.shop.dev. 3600 IN TXT "a\\"b\\\\c"');
    const mx: DnsRecord = { ...record, type: 'MX', value: 'mx.host', priority: 10 };
    expect(zoneLine(mx)).toBe('s.shop.dev. 3600 IN MX 10 mx.host.');
    const alias: DnsRecord = { ...record, type: 'CNAME', value: 'a.host' };
    expect(zoneLine(alias)).toBe('s.shop.dev. 3600 IN CNAME a.host.');
  });
});
