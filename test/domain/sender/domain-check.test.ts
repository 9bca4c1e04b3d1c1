import { describe, expect, it } from 'vitest';
import type { DnsAnswers } from '../../../domain/sender/compare-records.ts';
import { dkimText } from '../../../domain/sender/dkim-record.ts';
import {
  inspectDomain as inspectWith,
  nextCheckMs,
  stateAfterCheck,
} from '../../../domain/sender/domain-check.ts';
import {
  type DomainClaim,
  type DomainKey,
  senderRecords,
  signingOf,
} from '../../../domain/sender/sender-records.ts';

const settings = {
  dkimTargetHost: 'dkim.test',
  mailFromSubdomain: 'mail',
  region: 'eu-west-1',
  trackingTarget: 'api.test',
  returnPath: {
    host: 'mx.everpost.test',
    subdomain: 'bounces',
    spf: 'a:out.everpost.test ip4:192.0.2.1',
  },
};
const claim: DomainClaim = {
  name: 'shop.dev',
  isVerified: false,
  dkimTokens: ['a', 'b', 'c'],
  ownershipToken: 'o1',
  signing: null,
  inbound: false,
  trackingHost: null,
  keys: [],
  formerRecords: [],
};
const keys = {
  a: 'CNAME a._domainkey.shop.dev',
  b: 'CNAME b._domainkey.shop.dev',
  c: 'CNAME c._domainkey.shop.dev',
  mx: 'MX mail.shop.dev',
  spf: 'TXT mail.shop.dev',
  dmarc: 'TXT _dmarc.shop.dev',
};
const dkim = { [keys.a]: ['a.dkim.test'], [keys.b]: ['b.dkim.test'], [keys.c]: ['c.dkim.test'] };
const ownership = 'TXT _everpost.shop.dev';
const owner = 'everpost-verification=o1';
const mx = (exchange: string, priority = 10) => ({ exchange, priority });

interface Given {
  mode?: 'ses' | 'smtp' | 'mailbox';
  claim?: Partial<DomainClaim>;
  /** DKIM status in SES; null: SES does not know the domain. */
  isSigned?: boolean | null;
}

/** `zone`: records by type and name; an Error means that the resolver does not answer. */
async function inspect(zone: Record<string, unknown>, given: Given = {}) {
  const { mode = 'mailbox', isSigned = true } = given;
  const all = { ...settings, transport: mode };
  const finding = await inspectWith(
    { ...claim, ...given.claim },
    {
      dns: {
        async findRecords<T extends keyof DnsAnswers>(type: T, name: string) {
          const found = zone[`${type} ${name}`] ?? [];
          if (found instanceof Error) throw found;
          return found as DnsAnswers[T];
        },
      },
      identities: {
        verifiesReservedNames: mode !== 'ses',
        keepsDomains: mode === 'ses',
        dnsRecords: (asked) => senderRecords(asked, all),
        signingOf: (asked) => signingOf(asked, all),
        find: async () => (isSigned === null ? null : { dkimVerified: isSigned }),
      },
    },
  );
  const states = Object.entries(finding.records);
  return {
    ...finding,
    found: Object.fromEntries(states.map(([key, state]) => [key, state?.found])),
    recordStatuses: Object.fromEntries(
      states.flatMap(([key, state]) => (state ? [[key, state.status]] : [])),
    ),
  };
}

describe('a check', () => {
  it('finds nothing', async () => {
    const { recordStatuses, isProven } = await inspect({});
    expect(recordStatuses).toEqual(
      Object.fromEntries(Object.values(keys).map((key) => [key, 'pending'])),
    );
    expect(isProven).toBe(false);
  });

  it('needs the three DKIM records only, in any case and with a dot at the end', async () => {
    expect((await inspect(dkim)).isProven).toBe(true);
    const odd = { ...dkim, [keys.a]: ['A.Dkim.Test.'] };
    expect((await inspect(odd)).isProven).toBe(true);
    expect((await inspect({ ...dkim, [keys.c]: [] })).isProven).toBe(false);
  });

  it('distinguishes a wrong record from a missing one', async () => {
    const { recordStatuses, isProven } = await inspect({ ...dkim, [keys.b]: ['x.dkim.test'] });
    expect(recordStatuses).toMatchObject({ [keys.a]: 'verified', [keys.b]: 'failed' });
    expect(isProven).toBe(false);
  });

  it.each([
    [keys.mx, [mx('Feedback-SMTP.eu-west-1.amazonses.com')], 'verified'],
    [keys.mx, [mx('feedback-smtp.us-east-1.amazonses.com')], 'failed'],
    [keys.mx, [mx('feedback-smtp.eu-west-1.amazonses.com', 20)], 'failed'],
    [keys.mx, [mx('feedback-smtp.eu-west-1.amazonses.com'), mx('mx.shop.dev')], 'failed'],
    [keys.spf, ['other', 'v=spf1  include:amazonses.com ~ALL'], 'verified'],
    [keys.spf, ['v=spf1 include:_spf.other.example include:amazonses.com -all'], 'verified'],
    [keys.spf, ['v=spf1 a mx ip4:192.0.2.1 +include:AmazonSES.com. ?all'], 'verified'],
    [keys.spf, ['v=spf1 include:amazonses.com include:_spf.other.example'], 'verified'],
    [keys.spf, ['v=spf1 include:amazonses.com redirect=_spf.other.example'], 'verified'],
    [
      keys.spf,
      ['v=spf1 include:amazonses.com ~all', 'v=spf1 include:amazonses.com ~all'],
      'failed',
    ],
    [keys.spf, ['v=spf1 include:amazonses.com ~all', 'v=spf1 mx -all'], 'failed'],
    [keys.spf, ['v=spf1 include:amazonses.com.evil.example ~all'], 'failed'],
    [keys.spf, ['v=spf1 include:xamazonses.com ~all'], 'failed'],
    [keys.spf, ['v=spf1 -include:amazonses.com ~all'], 'failed'],
    [keys.spf, ['v=spf1 -all include:amazonses.com'], 'failed'],
    [keys.spf, ['v=spf10 include:amazonses.com ~all'], 'pending'],
    [keys.spf, ['v=spf1 -all'], 'failed'],
    [keys.spf, ['other'], 'pending'],
    [keys.dmarc, ['v=DMARC1; p=reject; rua=mailto:a@b.c'], 'verified'],
    [keys.dmarc, ['v=DMARC1;p=none'], 'verified'],
    [keys.dmarc, ['v=DMARC1; p=none', 'other'], 'verified'],
    [keys.dmarc, ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'failed'],
    [keys.dmarc, ['v=DMARC1; p=none', 'v=DMARC1; p=none'], 'failed'],
    [keys.dmarc, ['other'], 'pending'],
  ])('%s %j → %s', async (key, records, status) => {
    expect((await inspect({ [key]: records })).recordStatuses[key]).toBe(status);
  });

  const chain = (...names: string[]) => {
    const hops = names.slice(1).map((to, at) => [`CNAME ${names[at]}`, [to]] as const);
    return Object.fromEntries(hops);
  };
  const start = 'a._domainkey.shop.dev';
  const many = Array.from({ length: 30 }, (_, at) => `hop${at}.example`);

  it.each([
    ['one other name', chain(start, 'a.dns.example', 'a.dkim.test'), 'verified'],
    ['six other names', chain(start, ...many.slice(0, 6), 'A.dkim.test.'), 'verified'],
    ['a name that ends there', chain(start, 'a.dns.example'), 'failed'],
    ['a name that leads elsewhere', chain(start, 'a.dns.example', 'x.dkim.test'), 'failed'],
    ['a circle', chain(start, 'a.dns.example', start), 'failed'],
    ['thirty other names', chain(start, ...many, 'a.dkim.test'), 'failed'],
    ['two names', { [`CNAME ${start}`]: ['a.dkim.test', 'x.example'] }, 'failed'],
  ])('follows a DKIM record over %s', async (_, zone, status) => {
    const { recordStatuses, isProven } = await inspect({ ...dkim, [keys.a]: [], ...zone });
    expect(recordStatuses[keys.a]).toBe(status);
    expect(isProven).toBe(status === 'verified');
  });

  it('fails where a name on the way to the DKIM target cannot be looked up', async () => {
    const away = new Error('away');
    const zone = { ...dkim, ...chain(start, 'a.dns.example'), 'CNAME a.dns.example': away };
    await expect(inspect(zone)).rejects.toBe(away);
  });

  it.each([
    [true, true],
    [false, false],
    [null, false],
  ])('wants SES to agree, which says %s', async (isSigned, isProven) => {
    const zone = { ...dkim, [ownership]: [owner] };
    expect((await inspect(zone, { mode: 'ses', isSigned })).isProven).toBe(isProven);
  });

  it.each([
    [[], 'pending'],
    [['v=spf1 -all', 'o1'], 'pending'],
    [[owner], 'verified'],
    [['everpost-verification=o2'], 'failed'],
    [['everpost-verification=o2', owner], 'verified'],
    [[`${owner}x`], 'failed'],
  ])('with SES it needs the token of this very claim: %j is %s', async (texts, status) => {
    const finding = await inspect({ ...dkim, [ownership]: texts }, { mode: 'ses' });
    expect(finding.recordStatuses[ownership]).toBe(status);
    expect(finding.isProven).toBe(status === 'verified');
  });

  it('does not ask for the record in local mode', async () => {
    expect((await inspect(dkim)).recordStatuses).not.toHaveProperty([ownership]);
  });

  it('fails where what is needed cannot be looked up, and leaves other records as they were', async () => {
    const away = new Error('away');
    await expect(inspect({ ...dkim, [keys.b]: away })).rejects.toBe(away);
    const zone = { ...dkim, [ownership]: away };
    await expect(inspect(zone, { mode: 'ses' })).rejects.toBe(away);
    const { recordStatuses, isProven } = await inspect({ ...dkim, [keys.dmarc]: away });
    expect(isProven).toBe(true);
    expect(recordStatuses).not.toHaveProperty([keys.dmarc]);
  });
});

describe('a check of a domain that Everpost signs for', () => {
  const key = (selector: string, given: Partial<DomainKey> = {}): DomainKey => ({
    selector,
    algorithm: 'rsa',
    publicKey: `${selector}+KEY==`,
    state: 'current',
    createdAt: new Date(),
    seenAt: null,
    removeAfter: null,
    ...given,
  });
  const own: Partial<DomainClaim> = { signing: 'own', dkimTokens: [], keys: [key('s1')] };
  const at = (selector: string) => `TXT ${selector}._domainkey.shop.dev`;
  const text = dkimText(key('s1'));
  const look = (zone: Record<string, unknown>, given: Partial<DomainClaim> = {}) =>
    inspect(zone, { mode: 'smtp', claim: { ...own, ...given } });

  it('needs the key only, in any of its forms', async () => {
    const turned = 'p=s1+ KEY ==; k=rsa; v=DKIM1';
    expect((await look({ [at('s1')]: [turned] })).isProven).toBe(true);
    expect((await look({ [at('s1')]: ['v=spf1 -all', text] })).isProven).toBe(true);
    expect((await look({})).isProven).toBe(false);
  });

  it.each([
    ['another key', ['v=DKIM1; k=rsa; p=AAAA']],
    ['a withdrawn key', ['v=DKIM1; p=']],
    ['two keys', [text, 'v=DKIM1; k=rsa; p=AAAA']],
  ])('shows what is found instead: %s', async (_, texts) => {
    const finding = await look({ [at('s1')]: texts });
    expect(finding.recordStatuses[at('s1')]).toBe('failed');
    expect(finding.found[at('s1')]).toEqual(texts);
    expect(finding.isProven).toBe(false);
  });

  it('shows at most ten texts of 500 characters, and nothing that is right', async () => {
    const many = Array.from({ length: 12 }, (_, n) => `p=${n}${'x'.repeat(600)}`);
    const found = (await look({ [at('s1')]: many })).found[at('s1')]!;
    expect(found.map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 500));
    expect((await look({ [at('s1')]: [text] })).found[at('s1')]).toEqual([]);
  });

  it.each([
    ['MX', [mx('MX.Everpost.Test.', 50), mx('mx.shop.dev')], 'verified', []],
    ['MX', [mx('mx.shop.dev')], 'failed', ['10 mx.shop.dev']],
    ['MX', [mx('xmx.everpost.test')], 'failed', ['10 xmx.everpost.test']],
    ['TXT', ['v=spf1 ip4:192.0.2.1 include:x.dev +A:Out.Everpost.Test. -all'], 'verified', []],
    ['TXT', ['v=spf1 a:out.everpost.test ~all'], 'failed', undefined],
    ['TXT', ['v=spf1 a:out.everpost.test ip4:192.0.2.1', 'v=spf1 mx'], 'failed', undefined],
    ['TXT', ['other'], 'pending', []],
  ])('compares the return path: %s %j is %s', async (type, records, status, found) => {
    const name = `${type} bounces.shop.dev`;
    const finding = await look({ [name]: records });
    expect(finding.recordStatuses[name]).toBe(status);
    expect(finding.found[name]).toEqual(found ?? records);
  });

  it('looks for next and former keys, which decide nothing', async () => {
    const keys = [
      key('s1'),
      key('s1', { algorithm: 'ed25519' }),
      key('s2', { state: 'next' }),
      key('s0', { state: 'previous', removeAfter: new Date() }),
    ];
    const away = new Error('away');
    const finding = await look({ [at('s1')]: [text], [at('s2')]: away }, { keys });
    expect(finding.isProven).toBe(true);
    expect(finding.records).toMatchObject({
      [at('s1-e')]: { status: 'pending' },
      [at('s2')]: null,
      [at('s0')]: { status: 'pending' },
    });
  });

  const ownership = { type: 'TXT', name: '_everpost.shop.dev', purpose: 'ownership' } as const;
  const former = [{ ...ownership, value: 'everpost-verification=o1', isNeeded: true }];
  const ownerZone = { 'TXT _everpost.shop.dev': ['everpost-verification=o1'] };

  it('keeps a domain that its former records verified, until they go', async () => {
    const given = { isVerified: true, formerRecords: former };
    const kept = await look(ownerZone, given);
    expect([kept.isProven, kept.isFormerlyProven]).toEqual([false, true]);
    expect((await look({}, given)).isFormerlyProven).toBe(false);
    expect((await look(ownerZone, { ...given, isVerified: false })).isFormerlyProven).toBe(false);
    const away = { ...ownerZone, 'TXT _everpost.shop.dev': new Error('away') };
    await expect(look(away, given)).rejects.toThrow('away');
  });

  it('keeps a domain of the local mailbox verified by its CNAMEs', async () => {
    const given = { mode: 'smtp' as const, claim: { isVerified: true } };
    const kept = await inspect(dkim, given);
    expect([kept.isProven, kept.isFormerlyProven, kept.signing]).toEqual([false, true, 'provider']);
    expect((await inspect(ownerZone, given)).isProven).toBe(true);
    expect((await inspect({}, given)).isFormerlyProven).toBe(false);
  });

  it('needs the records of SES beside the key, if SES sends', async () => {
    const given = { mode: 'ses' as const, claim: { signing: 'own' as const, keys: [key('s1')] } };
    const zone = { ...dkim, ...ownerZone, [at('s1')]: [text] };
    expect((await inspect(zone, given)).isProven).toBe(true);
    expect((await inspect({ ...zone, [at('s1')]: [] }, given)).isProven).toBe(false);
    expect((await inspect({ ...zone, [keys.a]: [] }, given)).isProven).toBe(false);
    expect((await inspect(zone, { ...given, isSigned: false })).isProven).toBe(false);
  });

  it('counts a reserved name as found', async () => {
    const { isProven, recordStatuses } = await look({}, { name: 'shop.test' });
    expect(isProven).toBe(true);
    expect(new Set(Object.values(recordStatuses))).toEqual(new Set(['verified']));
  });
});

describe('the next check', () => {
  const now = new Date('2026-11-01T00:00:00Z');
  const keyOf = (hours: number) => ({ createdAt: new Date(now.getTime() - hours * 3_600_000) });

  it.each([
    ['pending', [], 5 / 60],
    ['verified', [], 24],
    ['verified', [keyOf(71)], 5 / 60],
    ['verified', [keyOf(73)], 24],
    ['failed', [keyOf(1)], null],
  ] as const)('of a domain that is %s with the unseen keys %j is after %s hours', (...given) => {
    const [status, awaited, hours] = given;
    expect(nextCheckMs(status, awaited, now)).toBe(hours === null ? null : hours * 3_600_000);
  });
});

describe('the state after a check', () => {
  const createdAt = new Date('2026-11-01T00:00:00Z');
  const after = (
    status: 'pending' | 'verified' | 'failed',
    failedChecks: number,
    check: { isProven?: boolean; isScheduled?: boolean; hours?: number },
  ) => {
    const now = new Date(createdAt.getTime() + (check.hours ?? 1) * 3_600_000);
    const { isProven = false, isScheduled = true } = check;
    return stateAfterCheck({ status, failedChecks, createdAt }, { isProven, isScheduled, now });
  };

  it.each(['pending', 'verified', 'failed'] as const)('%s → verified', (status) => {
    const verified = { status: 'verified', failedChecks: 0 };
    expect(after(status, 2, { isProven: true, hours: 1000 })).toEqual(verified);
  });

  it('stays pending for 72 hours and fails then', () => {
    expect(after('pending', 0, { hours: 72 }).status).toBe('pending');
    expect(after('pending', 0, { hours: 72.1 }).status).toBe('failed');
  });

  it('fails a verified domain at the third regular check in a row without DKIM', () => {
    expect(after('verified', 0, { hours: 99 })).toEqual({ status: 'verified', failedChecks: 1 });
    expect(after('verified', 1, { hours: 99 })).toEqual({ status: 'verified', failedChecks: 2 });
    expect(after('verified', 2, { hours: 99 })).toEqual({ status: 'failed', failedChecks: 0 });
  });

  it('does not count a requested check', () => {
    const kept = { status: 'verified', failedChecks: 2 };
    expect(after('verified', 2, { hours: 99, isScheduled: false })).toEqual(kept);
  });

  it('leaves a failed domain failed', () => {
    expect(after('failed', 0, { hours: 1 }).status).toBe('failed');
  });
});
