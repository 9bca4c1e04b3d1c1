import { beforeEach, describe, expect, it } from 'vitest';
import { createDns, type Dns, DnsError } from '../../providers/dns.ts';
import { type DnsServer, useDnsServer } from '../support/fakes/dns-server.ts';

let server: DnsServer;
let dns: Dns;
beforeEach(async () => {
  server = await useDnsServer();
  dns = createDns({ servers: [server.address], timeoutMs: 200 });
});

describe('records', () => {
  it('finds CNAME, MX and TXT as they are published', async () => {
    server.publish('a.shop.dev', 'CNAME', 'a.dkim.example');
    server.publish('shop.dev', 'MX', { exchange: 'mx.shop.dev', preference: 10 });
    server.publish('shop.dev', 'TXT', ['v=spf1 ', '-all'], 'other');
    expect(await dns.findRecords('CNAME', 'a.shop.dev')).toEqual(['a.dkim.example']);
    expect(await dns.findRecords('MX', 'shop.dev')).toEqual([
      { exchange: 'mx.shop.dev', priority: 10 },
    ]);
    expect(await dns.findRecords('TXT', 'shop.dev')).toEqual(['v=spf1 -all', 'other']);
  });

  it('answers none for a name without such a record, for one that does not exist, and for none', async () => {
    server.publish('shop.dev', 'A', '192.0.2.1');
    expect(await dns.findRecords('CNAME', 'shop.dev')).toEqual([]);
    expect(await dns.findRecords('TXT', 'nowhere.dev')).toEqual([]);
    expect(await dns.findRecords('TXT', `${'x'.repeat(64)}.dev`)).toEqual([]);
  });

  it('asks anew each time', async () => {
    expect(await dns.findRecords('TXT', 'shop.dev')).toEqual([]);
    server.publish('shop.dev', 'TXT', 'now');
    expect(await dns.findRecords('TXT', 'shop.dev')).toEqual(['now']);
  });

  it.each(['SERVFAIL', 'REFUSED', 'silence'] as const)(
    'is no answer but a DnsError after two tries: %s',
    async (fault) => {
      server.faults.set('shop.dev', fault);
      await expect(dns.findRecords('MX', 'shop.dev')).rejects.toThrow(DnsError);
      expect(server.questions).toEqual(['MX shop.dev', 'MX shop.dev']);
    },
  );

  it('gets the answer of the second try', async () => {
    server.publish('shop.dev', 'TXT', 'late');
    server.faults.set('shop.dev', 'silence');
    const asked = dns.findRecords('TXT', 'shop.dev');
    while (server.questions.length === 0) await new Promise(setImmediate);
    server.faults.clear();
    expect(await asked).toEqual(['late']);
  });

  it('throws DnsError when no server listens', async () => {
    const { address } = server;
    const lost = createDns({ servers: [address.replace(/:.*/, ':1')], timeoutMs: 200 });
    await expect(lost.findRecords('MX', 'shop.dev')).rejects.toThrow(DnsError);
  });
});

describe('the home of mailboxes', () => {
  const none = { exists: false, hasWebsite: false, hasMx: false };

  it('exists with any of NS, A, AAAA and MX', async () => {
    server.publish('ns.dev', 'NS', 'ns.example');
    server.publish('a.dev', 'A', '192.0.2.1');
    server.publish('aaaa.dev', 'AAAA', '2001:db8::1');
    server.publish('mx.dev', 'MX', { exchange: 'mx.example', preference: 5 });
    server.publish('txt.dev', 'TXT', 'nothing of it');
    expect(await dns.findMailHost('ns.dev')).toEqual({ ...none, exists: true });
    const website = { exists: true, hasWebsite: true, hasMx: false };
    expect(await dns.findMailHost('a.dev')).toEqual(website);
    expect(await dns.findMailHost('aaaa.dev')).toEqual(website);
    expect(await dns.findMailHost('mx.dev')).toEqual({ ...none, exists: true, hasMx: true });
    expect(await dns.findMailHost('txt.dev')).toEqual(none);
    expect(await dns.findMailHost('nowhere.dev')).toEqual(none);
  });

  it('takes the null MX for no MX', async () => {
    server.publish('null.dev', 'MX', { exchange: '.', preference: 0 });
    expect(await dns.findMailHost('null.dev')).toEqual({ ...none, exists: true });
  });

  it('is asked for once in a while, but a failure is not remembered', async () => {
    server.faults.set('', 'SERVFAIL');
    await expect(dns.findMailHost('a.dev')).rejects.toThrow(DnsError);
    server.faults.clear();
    server.publish('a.dev', 'A', '192.0.2.1');
    expect((await dns.findMailHost('a.dev')).hasWebsite).toBe(true);
    const asked = server.questions.length;
    expect((await dns.findMailHost('a.dev')).hasWebsite).toBe(true);
    expect(server.questions).toHaveLength(asked);
  });
});
